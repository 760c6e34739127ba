"""Response times, round trips, dispatch delays and throughput of one load point."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bench.measure.requests import Requests


def percentile(values: ArrayLike, q: float) -> float:
    """The q-th percentile, 0 <= q <= 100, by numpy's 'linear' method; NaN when there are no values.

    With the n values in ascending order, numbered from 0, it is the one at position (n − 1)·q/100, or
    between the two neighbours of that position in proportion. Percentiles of several runs are those of
    their pooled values.
    """
    data = np.asarray(values, dtype=np.float64)
    return float(np.percentile(data, q, method="linear")) if data.size else math.nan


@dataclass(frozen=True, slots=True)
class Summary:
    """One load point in its window: counts, rates per second, times in seconds; NaN for times of nothing.

    `scheduled` = `sent` + `shed`; `sent` = `completed` (answered with success) + `errors` (failed or
    unanswered). Response = completed − scheduled and round trip = completed − sent, both over successes
    only; dispatch delay = sent − scheduled, over all that were sent.
    """

    scheduled: int
    sent: int
    completed: int
    errors: int
    shed: int
    throughput_per_s: float
    goodput_per_s: float
    response_mean_s: float
    response_p50_s: float
    response_p90_s: float
    response_p95_s: float
    response_p99_s: float
    response_p999_s: float
    response_max_s: float
    round_trip_mean_s: float
    round_trip_p50_s: float
    round_trip_p99_s: float
    dispatch_delay_mean_s: float
    dispatch_delay_p50_s: float
    dispatch_delay_p99_s: float
    dispatch_delay_max_s: float


def summarise(requests: Requests, warmup_s: float, duration_s: float, objective_s: float | None = None) -> Summary:
    """What the requests due in the window warmup_s <= t < warmup_s + duration_s met, whenever they completed.

    throughput = successes / duration; goodput = successes with response <= objective / duration, equal to the
    throughput without an objective. Raises ValueError unless duration_s > 0.
    """
    if not duration_s > 0:
        raise ValueError(f"duration_s must be above 0, got {duration_s}")
    window = requests.scheduled_within(warmup_s, duration_s)
    good = window.where(window.ok)
    response, round_trip = good.response_s, good.round_trip_s
    delay = window.dispatch_delay_s[window.sent]
    met = len(good) if objective_s is None else int(np.count_nonzero(response <= objective_s))
    return Summary(
        scheduled=len(window),
        sent=len(delay),
        completed=len(good),
        errors=len(delay) - len(good),
        shed=len(window) - len(delay),
        throughput_per_s=len(good) / duration_s,
        goodput_per_s=met / duration_s,
        response_mean_s=_mean(response),
        response_p50_s=percentile(response, 50),
        response_p90_s=percentile(response, 90),
        response_p95_s=percentile(response, 95),
        response_p99_s=percentile(response, 99),
        response_p999_s=percentile(response, 99.9),
        response_max_s=percentile(response, 100),
        round_trip_mean_s=_mean(round_trip),
        round_trip_p50_s=percentile(round_trip, 50),
        round_trip_p99_s=percentile(round_trip, 99),
        dispatch_delay_mean_s=_mean(delay),
        dispatch_delay_p50_s=percentile(delay, 50),
        dispatch_delay_p99_s=percentile(delay, 99),
        dispatch_delay_max_s=percentile(delay, 100),
    )


def _mean(values: ArrayLike) -> float:
    data = np.asarray(values, dtype=np.float64)
    return float(np.mean(data)) if data.size else math.nan
