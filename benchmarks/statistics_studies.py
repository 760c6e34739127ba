"""What is simulated: data like the product's, and the intervals that the product makes of it, each with its truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.analysis.response import PERCENTILES
from bench.measure.percentile_interval import percentile_with_interval
from bench.measure.requests import Requests
from bench.measure.trend import response_trend
from bench.report.quantity import share
from bench.theory.fit import AffineFit, fit_affine
from bench.theory.ratio import measured_ceiling, paired_ratio, speedup_interval, upper_half
from benchmarks.statistics_noise import NOISES, RESPONSES, centre, percentile_of, queue_run

Floats = NDArray[np.float64]

SIZES = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])
VISITS = np.array([1.0, 1, 1, 2, 3, 4, 6, 8, 12, 16, 16, 16])
"""What a block visits: the ends together as often as all between."""
MOST_AT_70_PERCENT = 99.9
PRECISION, MOST_BLOCKS = 0.02, 40
SHARED = ("drift of 5 %", "levels of blocks", "lasting levels")
"""Noises that the visits of a block share."""
WITHIN_BLOCKS = tuple(noise for noise in NOISES if noise != "lasting levels")
"""For what is compared within blocks: there a level cancels, whether it lasts or not."""


@dataclass(frozen=True, slots=True)
class Found:
    """One interval of one simulation and the truth it should hold; lo and hi are NaN where none was given."""

    value: float
    lo: float
    hi: float
    truth: float


@dataclass(frozen=True, slots=True)
class Study:
    """Simulations of one kind: `simulate` gives a Found for each of `intervals`, those of `promised` have to hold.

    share: of the simulations asked for, for studies that take long. same: whether it compares two arms that are alike,
    so that an interval without the truth is a false alarm.
    """

    intervals: tuple[str, ...]
    noise: str
    design: str
    simulate: Callable[[np.random.Generator], Sequence[Found]]
    promised: tuple[str, ...]
    share: float = 1.0
    same: bool = False


def studies() -> list[Study]:
    """All of them, in the order of the table."""
    found: list[Study] = []
    for blocks in (10, 30):
        found += [_fits(noise, blocks, 0.004, 0.002) for noise in NOISES]
    found += [_fits(noise, 10, 0.020, 0.001) for noise in NOISES]
    found.append(_stopped())
    for blocks in (10, 30):
        found += [_ratios(noise, blocks) for noise in WITHIN_BLOCKS]
    for replications, requests in ((5, 2000), (10, 500), (1, 30_000)):
        found += [_percentiles(name, replications, requests) for name in RESPONSES]
    found += [
        _growth(load, requests) for load, requests in ((0.3, 3000), (0.6, 3000), (0.9, 3000), (1.2, 3000), (2.0, 600))
    ]
    for blocks in (5, 10, 30):
        found += [_alike(noise, blocks) for noise in WITHIN_BLOCKS]
    return found


def _fits(noise: str, blocks: int, c_s: float, m_s: float) -> Study:
    told, not_told = ("c", "m", "ceiling"), ("c, blocks not told", "m, blocks not told", "ceiling, blocks not told")
    # Ten stretches of blocks cannot tell how uncertain levels are that last for several blocks.
    promised: tuple[str, ...] = told if noise != "lasting levels" else ("ceiling",)
    if noise not in SHARED:
        promised += not_told

    def simulate(rng: np.random.Generator) -> list[Found]:
        times = (c_s + m_s * VISITS) * NOISES[noise](rng, (blocks, len(VISITS)))
        truth = (c_s * centre(noise), m_s * centre(noise), 1 + c_s / m_s)
        return [*_of_fit(_fit(times), truth), *_of_fit(fit_affine(*_flat(times)), truth)]

    return Study((*told, *not_told), noise, f"{blocks} blocks, c/m = {c_s / m_s:g}", simulate, promised, 0.5)


def _stopped() -> Study:
    """Blocks are added until c and m are precise enough, as the calibration does; that favours narrow intervals."""
    c_s, m_s = 0.004, 0.002

    def simulate(rng: np.random.Generator) -> list[Found]:
        times = (c_s + m_s * VISITS) * (1 + 0.03 * rng.standard_normal((MOST_BLOCKS, len(VISITS))))
        for blocks in range(10, MOST_BLOCKS + 1):
            fit = _fit(times[:blocks])
            if fit.precision <= PRECISION:
                break
        return _of_fit(fit, (c_s, m_s, 1 + c_s / m_s))

    design = f"from 10 blocks on until both are within {share(PRECISION)}"
    return Study(("c", "m", "ceiling"), "normal 3 %", design, simulate, (), 0.2)


def _ratios(noise: str, blocks: int) -> Study:
    c_s, m_s = 0.004, 0.002
    upper = upper_half(SIZES)  # 8, 12 and 16
    visited = np.append(1, VISITS[upper[0] <= VISITS])

    def simulate(rng: np.random.Generator) -> list[Found]:
        times = (c_s + m_s * visited) * NOISES[noise](rng, (blocks, len(visited)))
        serial, batches = times[:, 0], times[:, 1:4].copy()
        batches[:, -1] = np.median(times[:, 3:], axis=1)  # of the three visits to 16
        found = []
        for B, column in ((8, 0), (16, 2)):
            speedup = speedup_interval(serial, batches[:, column], B)
            found.append(Found(speedup.value, speedup.lo, speedup.hi, B * (c_s + m_s) / (c_s + B * m_s)))
        ceiling = measured_ceiling(serial, upper, batches)
        return [*found, Found(ceiling.value, ceiling.lo, ceiling.hi, 1 + c_s / m_s)]

    names = ("speedup", "speedup at the largest B", "measured ceiling")
    return Study(names, noise, f"{blocks} blocks, c/m = {c_s / m_s:g}", simulate, names)


def _percentiles(name: str, replications: int, requests: int) -> Study:
    def simulate(rng: np.random.Generator) -> list[Found]:
        runs = [RESPONSES[name](rng, requests) for _ in range(replications)]
        found = []
        for q in PERCENTILES:
            estimate = percentile_with_interval(runs, q)
            ends = (math.nan, math.nan) if estimate.refused else (estimate.lo, estimate.hi)
            found.append(Found(estimate.value, *ends, percentile_of(name, q)))
        return found

    # From here on a run is too short to hold several of the bunches in which slow requests come.
    hard = name == "M/M/1 0.8" or (name == "M/M/1 0.7" and requests < 2000)
    design = f"{replications} × {requests:,} requests"
    names = tuple(f"p{q:g}" for q in PERCENTILES)
    # At 70 % of the capacity ten requests beyond p99.9 are one or two bunches.
    sure = tuple(f"p{q:g}" for q in PERCENTILES if name != "M/M/1 0.7" or q < MOST_AT_70_PERCENT)
    return Study(names, name, design, simulate, names[:1] if hard else sure, 0.3)


def _growth(load: float, requests: int) -> Study:
    def simulate(rng: np.random.Generator) -> list[Found]:
        due, response = queue_run(rng, requests, load, steady=load < 1)
        trend = response_trend(Requests(due, due, due + response, np.ones(requests, np.bool_)), 0.0, float(due[-1]) + 1)
        return [Found(trend.slope, trend.lo, trend.hi, max(load - 1, 0.0))]

    names = ("growth of response",)
    return Study(names, f"M/M/1 {load:g}", f"{requests:,} requests", simulate, () if load == 0.9 else names)


def _alike(noise: str, blocks: int) -> Study:
    def simulate(rng: np.random.Generator) -> list[Found]:
        times = NOISES[noise](rng, (blocks, 2))
        ratio = paired_ratio(times[:, 0], times[:, 1])
        return [Found(ratio.value, ratio.lo, ratio.hi, 1.0)]

    return Study(("A/A",), noise, f"{blocks} blocks", simulate, ("A/A",), same=True)


def _fit(times: Floats) -> AffineFit:
    sizes, flat = _flat(times)
    return fit_affine(sizes, flat, blocks=np.repeat(np.arange(len(times)), len(VISITS)))


def _flat(times: Floats) -> tuple[Floats, Floats]:
    return np.tile(VISITS, len(times)), times.ravel()


def _of_fit(fit: AffineFit, truth: tuple[float, float, float]) -> list[Found]:
    return [
        Found(fit.c_s, fit.c_lo_s, fit.c_hi_s, truth[0]),
        Found(fit.m_s, fit.m_lo_s, fit.m_hi_s, truth[1]),
        Found(fit.ceiling, fit.ceiling_lo, fit.ceiling_hi, truth[2]),
    ]
