"""What a schedule offers, in numbers: how many, how fast, how unevenly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_ARRIVALS_PER_WINDOW = (10, 100, 1000)
# The variance of 20 counts has a relative standard error of √(2/19), a third: the least that tells bursts.
_FEWEST_WINDOWS = 20


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Variance over mean of the counts in consecutive windows of one length. Poisson: 1 at every length."""

    window_s: float
    windows: int
    index: float


@dataclass(frozen=True, slots=True)
class ArrivalStatistics:
    """`cv_of_gaps`: the gaps' standard deviation over their mean (Poisson: 1).

    `dispersion`: at windows that hold 10, 100 and 1000 arrivals in the mean, as far as 20 of them fit. Gaps of
    CV c that know nothing of each other come to c²; bursts of rate go on rising with the window, save that a
    fixed cycle does not show in a window that holds whole ones.
    `silent_end_s`: planned time after the last arrival, long when a trace ended before its window did.
    """

    count: int
    mean_rate_per_s: float
    cv_of_gaps: float
    dispersion: tuple[Dispersion, ...] = ()
    silent_end_s: float = math.nan

    @property
    def index_of_dispersion(self) -> float:
        """At the longest of the windows, NaN with too few arrivals for any."""
        return self.dispersion[-1].index if self.dispersion else math.nan


def statistics(offsets_ns: np.ndarray, duration_s: float | None = None) -> ArrivalStatistics:
    """Of sorted offsets: the rate is gaps per second from first to last; NaN with under two gaps."""
    count = len(offsets_ns)
    silent_s = math.nan if duration_s is None else duration_s - (float(offsets_ns[-1]) / 1e9 if count else 0.0)
    gaps = np.diff(offsets_ns)
    if len(gaps) < 2 or not gaps.any():
        return ArrivalStatistics(count, math.nan, math.nan, silent_end_s=silent_s)
    mean_ns = float(gaps.mean())
    return ArrivalStatistics(
        count=count,
        mean_rate_per_s=1e9 / mean_ns,
        cv_of_gaps=float(gaps.std(ddof=1)) / mean_ns,
        dispersion=tuple(
            _dispersion(offsets_ns - offsets_ns[0], arrivals * mean_ns)
            for arrivals in _ARRIVALS_PER_WINDOW
            if len(gaps) >= arrivals * _FEWEST_WINDOWS
        ),
        silent_end_s=silent_s,
    )


def _dispersion(from_first_ns: np.ndarray, window_ns: float) -> Dispersion:
    # The last arrival ends the last window rather than open a new one; the tail that fills none is left out.
    windows = math.floor(float(from_first_ns[-1]) / window_ns + 1e-9)
    counts = np.bincount((from_first_ns / window_ns).astype(np.int64), minlength=windows)[:windows]
    return Dispersion(window_ns / 1e9, windows, float(counts.var(ddof=1) / counts.mean()))
