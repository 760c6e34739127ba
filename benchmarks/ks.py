"""How far the gaps between requests are from those of the process that was asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.stats._distn_infrastructure import rv_continuous_frozen

MOST_GAPS = 5000
"""With more, the test rejects what a timer of microseconds does to the shortest gaps."""
CONSTANT_TOLERANCE_S = 200e-6
RESOLUTION_S = CONSTANT_TOLERANCE_S
"""Below it lie gaps that one sender cannot keep: of gamma gaps of CV 2 at 500/s every fifth is under 10 µs."""


@dataclass(frozen=True, slots=True)
class Distance:
    """Kolmogorov-Smirnov: the largest difference of the distribution functions, and its p-value on `gaps` gaps."""

    d: float
    p_value: float
    gaps: int


NOT_MEASURED = Distance(math.nan, math.nan, 0)


def distance(
    times_ns: np.ndarray, arrivals: str, rate_per_s: float, cv: float = 1.0, beyond_s: float = 0.0
) -> Distance:
    """Of the first 5,000 gaps of `times_ns` (sorted here) against Poisson, or gamma gaps of that CV.

    Poisson: F(x) = 1 - exp(-λx). Gamma: shape 1/CV², scale CV²/λ, so that the mean is 1/λ. D = sup |F_n(x) - F(x)|
    over x >= `beyond_s`. With `beyond_s` > 0 the p-value is that of a full test with this D, so it errs towards
    not rejecting. A constant rate has no continuous distribution to test: `within` measures it.
    """
    gaps_s = np.sort(gaps(times_ns))
    n = len(gaps_s)
    if arrivals not in ("poisson", "gamma") or not n:
        return NOT_MEASURED
    asked = asked_gaps(arrivals, rate_per_s, cv)
    k = int(np.searchsorted(gaps_s, beyond_s))
    at = asked.cdf(gaps_s[k:])
    steps = np.arange(k, n + 1) / n
    d = float(abs(steps[0] - asked.cdf(beyond_s)))
    if len(at):
        d = max(d, float(np.max(steps[1:] - at)), float(np.max(at - steps[:-1])))
    return Distance(d, float(stats.kstwo.sf(d, n)), n)


def asked_gaps(arrivals: str, rate_per_s: float, cv: float) -> rv_continuous_frozen:
    """The distribution of the gaps, in seconds, of Poisson or gamma arrivals."""
    shape = 1.0 if arrivals == "poisson" else 1 / cv**2
    return stats.gamma(shape, scale=1 / (shape * rate_per_s))


def least_d(shortest_s: float, arrivals: str, rate_per_s: float, cv: float = 1.0) -> float:
    """The smallest D of any sender whose gaps are all at least `shortest_s`: F(shortest), where it has none below."""
    return float(asked_gaps(arrivals, rate_per_s, cv).cdf(shortest_s))


def rejected_from_d(p: float, n: int = MOST_GAPS) -> float:
    """The D from which the test on n gaps rejects at level p."""
    return float(stats.kstwo.isf(p, n))


def shortest_needed_s(d: float, arrivals: str, rate_per_s: float, cv: float = 1.0) -> float:
    """How short a sender's gaps have to be able to be for its least D to be no more than `d`."""
    return float(asked_gaps(arrivals, rate_per_s, cv).ppf(d))


def gaps(times_ns: np.ndarray) -> np.ndarray:
    """The first 5,000 gaps, in seconds."""
    seconds: np.ndarray = np.diff(np.sort(times_ns)[: MOST_GAPS + 1]) / 1e9
    return seconds


def within(times_ns: np.ndarray, rate_per_s: float, tolerance_s: float = CONSTANT_TOLERANCE_S) -> float:
    """Share of the gaps that are within the tolerance of 1 / rate; NaN without gaps."""
    gaps_s = gaps(times_ns)
    return float(np.mean(np.abs(gaps_s - 1 / rate_per_s) <= tolerance_s)) if len(gaps_s) else math.nan
