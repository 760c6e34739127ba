"""Does the response time grow through the window? Then there is no steady state, and no percentile of one.

A server offered λ beyond its capacity C lets a backlog grow by λ − C requests per second; a request that is due t
seconds into the overload waits for (λ/C − 1)·t more, so the response time grows by λ/C − 1 seconds per second.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy import stats

from bench.measure.growth import growth
from bench.measure.requests import Requests

# Growth that matters: 1 % over capacity, and by half over the window.
LEAST_SLOPE = 0.01
LEAST_GROWTH = 0.5


@dataclass(frozen=True, slots=True)
class Trend:
    """Growth of the response time, seconds per second, with a 95 % interval; saturated: it is no chance and matters."""

    slope: float
    lo: float
    hi: float
    saturated: bool


STEADY = Trend(0.0, 0.0, 0.0, saturated=False)


def response_trend(requests: Requests, warmup_s: float, duration_s: float) -> Trend:
    """The growth of the response times of the successes due in the window, and whether they tell of a saturation.

    Requests without an answer are left out, which can only flatten the slope. STEADY with too few answers to tell.
    """
    window = requests.scheduled_within(warmup_s, duration_s)
    window = window.where(window.ok)
    due_s, response_s = window.scheduled_s, window.response_s
    found = growth(due_s, response_s)
    if found is None:
        return STEADY
    span_s = float(due_s.max() - due_s.min())  # an early end leaves part of the window unsent
    first = due_s <= due_s.min() + span_s / 4
    at_start_s = float(response_s[first].mean())
    saturated = found.lo > LEAST_SLOPE and found.slope * span_s > LEAST_GROWTH * at_start_s
    if not saturated:
        return Trend(found.slope, found.lo, found.hi, saturated=False)
    # The response time falls within a batch and jumps to the next: the parts of `growth`, of a few batches each, miss
    # the jumps between them. In an overload the slope of the whole window varies no more than the mean of theirs.
    slope, reach = float(stats.linregress(due_s, response_s).slope), (found.hi - found.lo) / 2
    return Trend(slope, slope - reach, slope + reach, saturated=True)
