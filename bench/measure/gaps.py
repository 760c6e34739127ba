"""Were the gaps between sends the planned ones? Pacing is proven on the generator's own send times.

No sender keeps gaps shorter than its writes take: of Poisson arrivals at 5,000/s every twelfth gap is under 17 µs, of
gamma ones with CV 2 at 500/s every fifth is under 10 µs. What can distort a response time is whether requests come
bunched or thinned out by a part of it, so the gaps are compared from a resolution on, 5 % of the mean response time,
and where sends are dense, between every so-many-th of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
# With more gaps the test rejects over microseconds of jitter that distort nothing.
MOST_GAPS = 5_000
FEWEST_GAPS = 20
FINEST_S, COARSEST_S = 100e-6, 5e-3
RESPONSE_SHARE = 0.05
DENSE_GAP_S = 0.001
DENSE_SPAN_S = 0.004


@dataclass(frozen=True, slots=True)
class GapTest:
    """Kolmogorov-Smirnov distance of two sets of gaps and its p-value; gaps: how many of each were compared."""

    distance: float
    p_value: float
    gaps: int


def resolution_s(mean_response_s: float) -> float:
    """5 % of the mean response time, within 100 µs and 5 ms; 100 µs for NaN."""
    return min(max(FINEST_S, RESPONSE_SHARE * mean_response_s), COARSEST_S) if mean_response_s > 0 else FINEST_S


def stride(scheduled_s: Floats, finest_s: float = FINEST_S) -> int:
    """1, or for a mean gap under 1 ms the number of sends that take 4 ms, or 4 × the resolution if that is more.

    scheduled_s: (n,), sorted, seconds.
    """
    span_s = float(scheduled_s[-1] - scheduled_s[0]) if len(scheduled_s) > 1 else 0.0
    mean_s = span_s / max(1, len(scheduled_s) - 1)
    return math.ceil(max(DENSE_SPAN_S, 4 * finest_s) / mean_s) if 0 < mean_s < DENSE_GAP_S else 1


def planned_and_sent(scheduled_s: Floats, sent_s: Floats, finest_s: float = FINEST_S) -> tuple[Floats, Floats]:
    """The first 5,000 gaps of either, in seconds, between sends that are `stride` apart.

    scheduled_s, sent_s: (n,), seconds, in the order of the schedule, sent ones only.
    """
    step = stride(scheduled_s, finest_s)
    planned, real = (np.diff(times[::step])[:MOST_GAPS] for times in (scheduled_s, np.sort(sent_s)))
    return planned, real


def planned_against_sent(planned_s: Floats, real_s: Floats, finest_s: float = FINEST_S) -> GapTest | None:
    """Two-sample test of the planned gaps against the real ones, from the resolution on; None under 20 gaps."""
    if len(planned_s) < FEWEST_GAPS:
        return None
    # Lifted to the resolution, all shorter gaps are equal: the distribution functions are compared from there on.
    found = stats.ks_2samp(np.maximum(planned_s, finest_s), np.maximum(real_s, finest_s), method="asymp")
    return GapTest(float(found.statistic), float(found.pvalue), len(planned_s))
