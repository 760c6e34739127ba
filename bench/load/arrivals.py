"""When each request is due: the whole schedule, planned before the run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

KINDS = ("constant", "poisson")


def schedule(arrivals: str, rate_per_s: float, duration_s: float, seed: int) -> np.ndarray:
    """Offsets from the run's start in whole nanoseconds (int64), sorted, in [0, duration).

    'constant': arrival k at k / rate. 'poisson': a Poisson process of that rate, so the number of arrivals is
    random too (its mean is rate × duration); the same seed gives the same arrivals, and a longer duration
    only adds to them. Raises ValueError for another kind, or a rate or duration that is not a number above 0.
    """
    if arrivals not in KINDS:
        raise ValueError(f"arrivals: expected one of {', '.join(KINDS)}, got {arrivals!r}")
    for name, value in (("rate_per_s", rate_per_s), ("duration_s", duration_s)):
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name}: expected a number > 0, got {value}")
    seconds = _constant(rate_per_s, duration_s) if arrivals == "constant" else _poisson(rate_per_s, duration_s, seed)
    offsets = np.floor(seconds * 1e9).astype(np.int64)
    return offsets[offsets < int(duration_s * 1e9)]


def _constant(rate_per_s: float, duration_s: float) -> np.ndarray:
    return np.arange(math.ceil(rate_per_s * duration_s)) / rate_per_s


def _poisson(rate_per_s: float, duration_s: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    # Drawn in blocks of one size: the stream of gaps, and so every arrival, does not depend on the duration.
    gaps: list[np.ndarray] = []
    reached = 0.0
    while reached < duration_s:
        gaps.append(rng.exponential(1 / rate_per_s, 4096))
        reached += float(gaps[-1].sum())
    return np.cumsum(np.concatenate(gaps))


@dataclass(frozen=True, slots=True)
class ArrivalStatistics:
    """What a schedule offers; `cv_of_gaps` is the gaps' standard deviation over their mean (Poisson: 1)."""

    count: int
    mean_rate_per_s: float
    cv_of_gaps: float


def statistics(offsets_ns: np.ndarray) -> ArrivalStatistics:
    """Count, rate (gaps per second from first to last) and variation, NaN with under two gaps."""
    gaps = np.diff(offsets_ns)
    if len(gaps) < 2 or not gaps.any():
        return ArrivalStatistics(len(offsets_ns), math.nan, math.nan)
    mean_ns = float(gaps.mean())
    return ArrivalStatistics(len(offsets_ns), 1e9 / mean_ns, float(gaps.std(ddof=1)) / mean_ns)
