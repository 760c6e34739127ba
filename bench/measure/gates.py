"""Whether the figures of one load point can be believed.

The rate at which requests fell due is no gate: a Poisson schedule misses its rate by chance, and that is the
randomness asked for. What the generator owes is that everything scheduled is sent, and on time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bench.measure.gaps import planned_against_sent, planned_and_sent, resolution_s
from bench.measure.latency import Summary, percentile, summarise
from bench.measure.requests import Requests

_SLOWER_OR_ELSEWHERE = "lower the rate, or run the generator on cores the server does not use"

_CLOCK_S = 0.001  # what a timer of an event loop may be late
_P99_DELAY_SHARE = 0.25
_MEAN_DELAY_SHARE = 0.05
_LAST_SEND_SHARE = 0.005  # of the window: the rate as sent is then within 0.5 % of the schedule's
_LITTLE_SHARE = 0.05
_LITTLE_CHANCE = 3.0
_REGULAR = 0.05
_REGULAR_GAP_S = 200e-6
_REGULAR_GAP_SHARE = 0.1
_GAPS_P = 0.01
_GAPS_DISTANCE = 0.08
_BEYOND_TO_SHOW = 1
_BEYOND_FOR_VERDICT = 5


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition of validity: expected and measured in words, and what to do if it fails."""

    name: str
    holds: bool
    expected: str
    measured: str
    remedy: str


def load_point_gates(requests: Requests, warmup_s: float, duration_s: float) -> tuple[Gate, ...]:
    """Every gate but that of sample counts, for the window warmup_s <= t < warmup_s + duration_s.

    `requests` holds all of the load point, its warm-up and its tail too. Raises ValueError unless
    duration_s > 0.
    """
    summary = summarise(requests, warmup_s, duration_s)
    return (
        all_sent(requests),
        last_send_on_time(requests, warmup_s, duration_s),
        dispatch_delay_p99(summary),
        dispatch_delay_mean(summary),
        send_gaps(requests),
        littles_law(requests, warmup_s, duration_s),
    )


def all_sent(requests: Requests) -> Gate:
    """Every scheduled request was sent, in the warm-up too: a dropped one lightens what follows."""
    sent = int(np.count_nonzero(requests.sent))
    return Gate(
        "all sent",
        len(requests) > 0 and sent == len(requests),
        f"{len(requests)} scheduled requests sent" if len(requests) else "at least 1 scheduled request",
        f"{sent} sent",
        "lower the rate or allow more requests in flight" if len(requests) else "raise the rate or the duration",
    )


def last_send_on_time(requests: Requests, warmup_s: float, duration_s: float) -> Gate:
    """The window's last send is at most max(1 ms, 0.5 % of the window) after its last scheduled time."""
    window = requests.scheduled_within(warmup_s, duration_s)
    limit = max(_CLOCK_S, _LAST_SEND_SHARE * duration_s)
    late = math.nan
    if np.any(window.sent):
        late = float(np.max(window.sent_s[window.sent]) - np.max(window.scheduled_s))
    return Gate(
        "last send on time",
        late <= limit,
        f"last send at most {_ms(limit)} after the last scheduled time",
        _ms(late),
        _SLOWER_OR_ELSEWHERE,
    )


def dispatch_delay_p99(summary: Summary) -> Gate:
    """p99 dispatch delay <= max(1 ms, 25 % of the p99 response time); 1 ms when nothing completed."""
    share = _P99_DELAY_SHARE * summary.response_p99_s if summary.completed else 0.0
    limit = max(_CLOCK_S, share)
    return Gate(
        "p99 dispatch delay",
        summary.dispatch_delay_p99_s <= limit,
        f"at most {_ms(limit)}, the larger of 1 ms and 25 % of the p99 response time",
        _ms(summary.dispatch_delay_p99_s),
        _SLOWER_OR_ELSEWHERE,
    )


def dispatch_delay_mean(summary: Summary) -> Gate:
    """Mean dispatch delay <= max(1 ms, 5 % of the mean response time); 1 ms when nothing completed."""
    share = _MEAN_DELAY_SHARE * summary.response_mean_s if summary.completed else 0.0
    limit = max(_CLOCK_S, share)
    return Gate(
        "mean dispatch delay",
        summary.dispatch_delay_mean_s <= limit,
        f"at most {_ms(limit)}, the larger of 1 ms and 5 % of the mean response time",
        _ms(summary.dispatch_delay_mean_s),
        _SLOWER_OR_ELSEWHERE,
    )


def send_gaps(requests: Requests) -> Gate:
    """The gaps between sends are the planned ones, as `gaps` compares them.

    Irregular arrivals: the Kolmogorov-Smirnov distance of the first 5,000 planned gaps and the real ones is at most
    0.08, or not rejected at 1 %. Regular ones, whose gaps are all but equal: 99 % are within max(200 µs, 10 % of the
    mean gap, 5 % of the mean response time up to 5 ms) of the plan. Too few gaps to compare hold.
    """
    sent = requests.where(requests.sent)
    answered = requests.where(requests.ok)
    finest_s = resolution_s(float(np.mean(answered.response_s)) if len(answered) else math.nan)
    planned, real = planned_and_sent(sent.scheduled_s, sent.sent_s, finest_s)
    if len(planned) and np.std(planned) < _REGULAR * np.mean(planned):
        limit = max(_REGULAR_GAP_S, finest_s, _REGULAR_GAP_SHARE * float(np.mean(planned)))
        off = percentile(np.abs(real - planned), 99)
        return Gate(
            "send gaps",
            off <= limit,
            f"99 % of the gaps within {_ms(limit)} of the plan",
            _ms(off),
            _SLOWER_OR_ELSEWHERE,
        )
    found = planned_against_sent(planned, real, finest_s)
    if found is None:
        return Gate(
            "send gaps", bool(len(sent)), "gaps to compare", f"{len(planned)} gaps, too few", "raise the duration"
        )
    return Gate(
        "send gaps",
        found.p_value >= _GAPS_P or found.distance <= _GAPS_DISTANCE,
        f"the planned distribution of gaps: distance at most {_GAPS_DISTANCE:g}, or p at least {_GAPS_P:g}",
        f"distance {found.distance:.3f} over {found.gaps} gaps, p = {found.p_value:.2g}",
        _SLOWER_OR_ELSEWHERE,
    )


def littles_law(requests: Requests, warmup_s: float, duration_s: float) -> Gate:
    """L = λ·W over the window: the mean number in flight against arrivals per second × mean response time.

    L = (1/d) · ∫ of the number of requests that are due and not completed, over the window of d seconds. It
    counts all requests that overlap the window, those due before it too; one that never completes stays to
    the end. λ·W = (1/d) · Σ of the response times of the completed requests due in the window, failed ones
    too. The two differ by what is carried into the window and out of it. Under a steady load that
    balances but for chance: with Poisson arrivals its standard deviation is √(2/3)·W·√(λW)/d. So the gate
    is |L − λW| <= 5 %·λW + 3·W·√(λW)/d; a backlog that grows or requests that are lost break it.
    """
    end_s = warmup_s + duration_s
    completed = np.where(np.isfinite(requests.completed_s), requests.completed_s, end_s)
    overlap = np.minimum(completed, end_s) - np.maximum(requests.scheduled_s, warmup_s)
    in_flight = float(np.sum(np.maximum(overlap, 0.0))) / duration_s

    window = requests.scheduled_within(warmup_s, duration_s)
    response = window.response_s[np.isfinite(window.completed_s)]
    by_law = float(np.sum(response)) / duration_s
    mean_response_s = float(np.mean(response)) if response.size else math.nan
    by_chance = _LITTLE_CHANCE * mean_response_s * math.sqrt(max(by_law, 0.0)) / duration_s
    allowed = _LITTLE_SHARE * by_law + by_chance
    return Gate(
        "Little's law",
        abs(in_flight - by_law) <= allowed,
        f"{by_law:.3g} in flight (throughput × mean response), within {allowed:.2g}",
        f"{in_flight:.3g} in flight",
        "the load is not steady or requests were lost: lower the rate, or lengthen warm-up and duration",
    )


def samples_needed(q: float, for_verdict: bool = False) -> int:
    """The smallest n with n·(1 − q/100) >= 1, or >= 5 for a verdict: 100 and 500 for p99.

    n·(1 − q/100) is the mean number of requests beyond the percentile. With less than one the percentile is
    the maximum under another name; with fewer than five, pooled over replications, chance decides a
    verdict. The rule takes requests for independent. Those of one busy period are not, so replicate: it is
    necessary only. Raises ValueError unless 0 <= q < 100.
    """
    if not 0 <= q < 100:
        raise ValueError(f"a percentile with a sample size lies in 0 <= q < 100, got {q}")
    beyond = _BEYOND_FOR_VERDICT if for_verdict else _BEYOND_TO_SHOW
    # Rounded: 1 − 99.9/100 is not quite 1/1000.
    return math.ceil(round(100 * beyond / (100 - q), 6))


def enough_for_percentile(n: int, q: float, for_verdict: bool = False) -> bool:
    """Whether n successful requests are enough to show the q-th percentile, or for a verdict on it."""
    return n >= samples_needed(q, for_verdict)


def enough_samples(n: int, q: float) -> Gate:
    """n successes, pooled over replications, are enough for a verdict on the q-th percentile."""
    needed = samples_needed(q, for_verdict=True)
    return Gate(
        f"samples for p{q:g}",
        n >= needed,
        f"at least {needed} successful requests, pooled over replications",
        f"{n}",
        "raise duration or replications",
    )


def _ms(seconds: float) -> str:
    return "nothing to measure" if math.isnan(seconds) else f"{seconds * 1000:.3g} ms"
