"""What a reader has to know beside c and m: disturbances, and what was measured that no line explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bench.analysis.calibration import LAW_LAYER, Observed, observed, serial_visits, typical_times, visits
from bench.analysis.law import LayerFit
from bench.analysis.speedups import Speedup
from bench.theory.clusters import FEWEST_STARTS
from bench.theory.drift import drift
from bench.theory.fit import fit_affine
from bench.theory.ratio import paired_ratio
from bench.theory.spikes import spikes

# One of the sizes is taken for the best because it came out best: 95 % would call a flat throughput falling too often.
FALL_CONFIDENCE = 0.99
LEAST_FALL = 0.01
MS = 1000.0


def notes(samples: pd.DataFrame, fit: LayerFit, rows: Sequence[Speedup]) -> tuple[str, ...]:
    """Sentences without full stops on one server's calibration, for a line each."""
    _, beyond = above_ceiling(samples, fit, rows)
    return tuple(words for words in (*disturbances(samples), falling_throughput(samples), beyond) if words)


def disturbances(samples: pd.DataFrame) -> tuple[str, ...]:
    """Drift and spikes of the compute layer's visits; nothing where there were none."""
    seen = observed(samples, LAW_LAYER)
    table = visits(samples, LAW_LAYER).to_numpy(dtype=np.float64)
    return tuple(words for words in (drift(table).words, spikes(seen.sizes, seen.times_s).words) if words)


def between_starts(seen: Observed) -> str:
    """How far c and m differ between the starts of the server, in words that follow 'visits'; empty for one start."""
    each = [seen.where(seen.starts == start) for start in np.unique(seen.starts)]
    if len(each) < 2:
        return ""
    over = "them" if len(each) >= FEWEST_STARTS else f"blocks, as fewer than {FEWEST_STARTS} starts tell little"
    words = f" of {len(each)} starts, errors over {over}"
    own = [(fit.c_s, fit.m_s) for fit in (fit_affine(one.sizes, one.times_s) for one in each if one.enough)]
    if len(own) < 2:
        return words
    c_ms, m_ms = (float(np.ptp(values)) * MS for values in zip(*own, strict=True))
    return f"{words}; between starts c differs by up to {c_ms:.3g} ms, m by up to {m_ms:.3g} ms"


def falling_throughput(samples: pd.DataFrame) -> str:
    """Tells when B/T(B) is lower at the largest batch than at a smaller one; empty when chance explains it too.

    The times of both are compared within blocks.
    """
    rates = {B: B / seconds for B, seconds in typical_times(samples, LAW_LAYER).items()}
    best, largest = max(rates, key=lambda B: rates[B]), max(rates)
    both = visits(samples, LAW_LAYER)[[best, largest]].dropna().to_numpy(dtype=np.float64)
    if best == largest or not len(both):
        return ""
    longer = paired_ratio(both[:, 1] / largest, both[:, 0] / best, FALL_CONFIDENCE)
    if longer.lo <= 1 + LEAST_FALL:
        return ""
    return (
        f"the throughput B/T(B) is highest at B = {best}, {rates[best]:.3g}/s, and falls to {rates[largest]:.3g}/s at "
        f"B = {largest}: each request of such a batch costs {longer.value - 1:.1%} "
        f"[{longer.lo - 1:.1%}, {longer.hi - 1:.1%}] more; batches beyond {best} cost more than they bring"
    )


def above_ceiling(samples: pd.DataFrame, fit: LayerFit, rows: Sequence[Speedup]) -> tuple[int, str]:
    """The largest batch size with all of the interval of S(B) above that of 1 + c/m, and by which times it came so.

    0 and empty when there is none. rows: of the compute layer.
    """
    above = [row for row in rows if fit.holds_from is not None and row.measured_lo > fit.ceiling_hi]
    if not above:
        return 0, ""
    row = above[-1]
    alone, batch = serial_visits(samples).median(), typical_times(samples, LAW_LAYER)[row.batch_size]
    law = [float(fit.model.batch_time_s(float(B))) * MS for B in (1, row.batch_size)]
    words = (
        f"S({row.batch_size}) = {row.measured:.3g} is above the ceiling 1 + c/m = {fit.ceiling:.3g}: "
        f"one request alone takes {alone * MS:.3g} ms where c + m is {law[0]:.3g} ms, and a batch of {row.batch_size} "
        f"{batch * MS:.3g} ms where c + Bm is {law[1]:.3g} ms"
    )
    if fit.has_knee:
        words += f"; below B = {fit.holds_from:g} c and m do not hold, and S tends to T(1)/m = {fit.speedup_limit:.3g}"
    return row.batch_size, words
