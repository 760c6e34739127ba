"""What is told of a curve with a knee, how far a line is off where T(B) is one, and alarms that nothing stands for."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.analysis.calibration import Observed
from bench.analysis.law import fit_visits, straightness
from bench.analysis.law_notes import above_ceiling, falling_throughput
from bench.analysis.speedups import speedups
from bench.theory.drift import drift
from benchmarks.statistics_noise import NOISES, centre
from benchmarks.statistics_studies import SIZES, VISITS, WITHIN_BLOCKS, Found, Study

Floats = NDArray[np.float64]

TOLERANCE = 0.05
ALARM, QUIET = Found(math.nan, 2.0, 3.0, 1.0), Found(math.nan, 0.0, 2.0, 1.0)


def knee_studies() -> list[Study]:
    """c, m and the ceiling beyond a knee at B = 4, and the knee itself, where a knee is told."""
    return [_knee(noise, blocks) for blocks in (10, 30) for noise in WITHIN_BLOCKS]


def alarm_studies() -> list[Study]:
    """How often something is told of data in which it is not."""
    return [_alarms(noise, blocks) for blocks in (10, 30) for noise in ("normal 2 %", "levels of blocks")]


def line_studies() -> list[Study]:
    """The distance of the batch size that is furthest from the line, where T(B) is one."""
    return [_off_line(noise, blocks) for blocks in (10, 30) for noise in WITHIN_BLOCKS]


def _knee(noise: str, blocks: int) -> Study:
    c, m, at = 5.0, 1.0, 4.0
    curve, found_at = np.maximum(c + at * m, c + m * VISITS), centre(noise)

    def simulate(rng: np.random.Generator) -> list[Found]:
        fit = fit_visits(_seen(curve * NOISES[noise](rng, (blocks, len(VISITS)))), TOLERANCE)
        if not fit.has_knee:
            return [Found(math.nan, math.nan, math.nan, 1.0)] * 4
        return [
            Found((fit.knee_lo + fit.knee_hi) / 2, fit.knee_lo, fit.knee_hi, at),
            Found(fit.c_s, fit.c_lo_s, fit.c_hi_s, c * found_at),
            Found(fit.m_s, fit.m_lo_s, fit.m_hi_s, m * found_at),
            Found(fit.ceiling, fit.ceiling_lo, fit.ceiling_hi, 1 + c / m),
        ]

    names = ("knee", "c beyond the knee", "m beyond the knee", "ceiling beyond the knee")
    # The ends of the knee's own interval are batch sizes that were measured, so it covers more than is asked.
    return Study(names, noise, f"{blocks} blocks, flat to B = 4, then c/m = 5", simulate, names[1:], 0.1)


def _off_line(noise: str, blocks: int) -> Study:
    curve = 2 + VISITS

    def simulate(rng: np.random.Generator) -> list[Found]:
        error = straightness(_seen(curve * NOISES[noise](rng, (blocks, len(VISITS)))), TOLERANCE).error
        return [Found(error.value, error.lo, error.hi, 0.0)]

    names = ("off the line by, at its worst",)
    return Study(names, noise, f"{blocks} blocks, c/m = 2", simulate, (), 0.25)


def _alarms(noise: str, blocks: int) -> Study:
    def simulate(rng: np.random.Generator) -> list[Found]:
        flat = _samples(VISITS * NOISES[noise](rng, (blocks, len(VISITS))), np.ones(blocks))
        factors = NOISES[noise](rng, (blocks, len(VISITS) + 1))
        line = (2 + VISITS) * factors[:, 1:]
        samples = _samples(line, 3 * factors[:, 0])
        fit = fit_visits(_seen(line), TOLERANCE)
        above, _ = above_ceiling(samples, fit, speedups("s", samples, fit, TOLERANCE))
        told = (falling_throughput(flat) != "", above > 0, drift(line).found)
        return [ALARM if alarm else QUIET for alarm in told]

    names = ("falling throughput", "S above the ceiling", "drift")
    return Study(names, noise, f"{blocks} blocks of none", simulate, names, 0.1, same=True)


def _seen(times: Floats) -> Observed:
    """times: shape (blocks, visits)."""
    blocks = np.repeat(np.arange(len(times)), len(VISITS))
    return Observed(np.tile(VISITS, len(times)), times.ravel(), blocks, np.zeros_like(blocks))


def _samples(times: Floats, serial: Floats) -> pd.DataFrame:
    """As calibration.csv has them, one batch in each visit; serial: shape (blocks,)."""
    seen = _seen(times)
    number = np.tile(np.concatenate([np.arange(np.count_nonzero(VISITS == B)) for B in SIZES]), len(times))
    batches = pd.DataFrame(
        {"layer": "compute", "batch_size": seen.sizes, "block": seen.blocks, "visit": number, "time_s": seen.times_s}
    )
    alone = pd.DataFrame({"batch_size": 1.0, "block": np.arange(len(serial)), "visit": 0, "time_s": serial})
    return pd.concat([batches, alone.assign(layer="compute_serial")], ignore_index=True)
