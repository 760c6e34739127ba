"""A percentile of response times with an interval that holds although requests of one run wait in the same queue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bench.measure.autocorrelation import autocorrelation_time
from bench.measure.latency import percentile

Floats = NDArray[np.float64]

FEWEST_REPLICATIONS = 3
FEWEST_SECTIONS = 10
MOST_SECTIONS = 20
# A section of so many autocorrelation times is all but independent of the next.
SECTION_TIMES = 20
# With fewer requests beyond the percentile chance decides where it lies.
FEWEST_BEYOND = 5
# Slow requests come in bunches. Replications differ by theirs, and the interval widens to the infinite where these are
# few; the sections of one run hardly do: with 30 beyond p99.9 at half of a server's capacity it covers in 91 of 100.
FEWEST_BEYOND_OF_SECTIONS = 50


@dataclass(frozen=True, slots=True)
class PercentileEstimate:
    """The percentile of the pooled values with its 95 % interval, in the unit of the values.

    `method`: what the interval was taken over. `effective_samples`: as many independent values would tell the
    percentile as well. `refused`: why there is no interval, empty where there is one; lo and hi are then 0 and
    infinite. hi is infinite too where the upper end lies beyond all values.
    """

    value: float
    lo: float
    hi: float
    method: str
    effective_samples: float
    refused: str


def percentile_with_interval(replications: Sequence[ArrayLike], q: float) -> PercentileEstimate:
    """The q-th percentile, 0 < q < 100, of the values of all replications together, with its 95 % interval.

    replications: for each the values, not negative, in the order of time. Woodruff's interval (J. Am. Stat. Assoc.
    47, 1952) over groups that are independent. With s the standard error of the share of values beyond the percentile,
    from its spread over the groups, the ends are the percentiles q ± 100·t·s of all values, t with one degree of
    freedom fewer than groups. Groups are the replications from 3 on, else 10 to 20 sections of them, each at least 20
    autocorrelation times long.

    The share beyond is a mean, so it has no bias in short groups. The percentiles of the groups have: of 10
    replications of 500 exponential times the mean p99 is 2 % low and its t interval covers the truth in 88 of 100
    cases, this one in 94. A server near its capacity needs longer replications: slow requests come in bunches, and in
    500 requests at 80 % of the capacity there is hardly one, so that the interval covers in 88.

    No interval is given where fewer than 5 values lie beyond the percentile, and where one or two runs have fewer than
    50 or are too short to be cut. Raises ValueError for another q and for values that are not finite.
    """
    if not 0 < q < 100:
        raise ValueError(f"a percentile with an interval lies in 0 < q < 100, got {q}")
    runs = [np.asarray(values, dtype=np.float64) for values in replications if len(np.asarray(values))]
    pooled = np.concatenate([np.empty(0), *runs])
    if not np.all(np.isfinite(pooled)):
        raise ValueError("expected finite values")
    value = percentile(pooled, q)
    tail = min(q, 100 - q) / 100
    if len(pooled) * tail < FEWEST_BEYOND:
        needed = math.ceil(round(FEWEST_BEYOND / tail, 6))
        return _refused(value, len(pooled), f"{len(pooled)} requests, p{q:g} needs {needed}")
    # Values that tie with the percentile lie beyond it by half.
    beyond = [0.5 * (np.sign(values - value) + 1) for values in runs]
    effective = len(pooled) / autocorrelation_time(beyond)
    if len(runs) >= FEWEST_REPLICATIONS:
        groups, method = beyond, f"t over {len(runs)} replications"
    else:
        if len(pooled) * tail < FEWEST_BEYOND_OF_SECTIONS:
            needed = math.ceil(round(FEWEST_BEYOND_OF_SECTIONS / tail, 6))
            few = "one run" if len(runs) == 1 else "two runs"
            return _refused(
                value, effective, f"{len(pooled)} requests of {few}, p{q:g} needs {needed} of them, or 3 replications"
            )
        groups, reason = _sections(runs, beyond)
        method = f"t over {len(groups)} sections"
        if reason:
            return _refused(value, effective, reason)
    reach = 100 * _reach(groups)
    lo = percentile(pooled, q - reach) if q > reach else 0.0
    hi = percentile(pooled, q + reach) if q + reach < 100 else math.inf
    return PercentileEstimate(value, min(lo, value), max(hi, value), method, effective, "")


def _reach(beyond: Sequence[Floats]) -> float:
    """t · standard error of the share beyond, which is Σ beyond / Σ requests over the groups."""
    counts = np.array([len(group) for group in beyond])
    sums = np.array([group.sum() for group in beyond])
    share = sums.sum() / counts.sum()
    k = len(counts)
    error = math.sqrt(k / (k - 1) * float(np.sum((sums - share * counts) ** 2))) / float(counts.sum())
    return float(stats.t.ppf(0.975, k - 1)) * error


def _sections(runs: Sequence[Floats], beyond: Sequence[Floats]) -> tuple[list[Floats], str]:
    """The runs in sections that are long enough, and the reason why not when there are too few."""
    length = math.ceil(SECTION_TIMES * max(autocorrelation_time(runs), autocorrelation_time(beyond)))
    most = MOST_SECTIONS // len(runs)
    cut = [min(most, len(group) // length) for group in beyond]
    if sum(cut) < FEWEST_SECTIONS:
        return [], (
            f"neighbouring requests wait together, so a run is cut in sections of {length} requests, and "
            f"{FEWEST_SECTIONS} are needed: run 3 replications, or {FEWEST_SECTIONS * length} requests"
        )
    return [part for group, k in zip(beyond, cut, strict=True) if k for part in np.array_split(group, k)], ""


def _refused(value: float, effective: float, reason: str) -> PercentileEstimate:
    return PercentileEstimate(value, 0.0, math.inf, "none", effective, reason)
