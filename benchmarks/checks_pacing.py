"""Promises about keeping the asked rate, and about what that costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest
from statistics import median

from bench.report.quantity import share
from benchmarks.figures import Figures, of
from benchmarks.names import ASYNC, LADDER, OURS, OURS_2, OURS_GRPC, PACING
from benchmarks.verdicts import Check, finite, judged, microseconds_range


def highest(runs: Sequence[Figures], tool: str) -> list[float]:
    """For each repeat of the ladder, the highest rate that the tool completed; 0 when not even the lowest."""
    reached: dict[int, float] = {}
    for run in of(runs, LADDER, tool):
        rate = run.cell.rate_per_s if run.completed else 0.0
        reached[run.cell.repeat] = max(reached.get(run.cell.repeat, 0.0), rate)
    return list(reached.values())


def times_the_peer(runs: Sequence[Figures]) -> Check:
    """The better of one and two workers in each repeat, by the medians over the repeats.

    Not judged when the peer did not complete even its lowest rate: three times an unknown rate proves nothing.
    """
    ours = [max(pair) for pair in zip_longest(highest(runs, OURS), highest(runs, OURS_2), fillvalue=0.0)]
    peer = highest(runs, ASYNC)
    measured = f"{_rates(ours)} against {_rates(peer)}"
    holds = median(ours) >= 3 * median(peer) if ours and peer and median(peer) else None
    return judged("highest rate, best of 1 and 2 workers", f"at least 3 × {ASYNC}", measured, holds, by_ratio=True)


def sent_in_full(runs: Sequence[Figures]) -> Check:
    found = of(runs, PACING, OURS, "poisson", 20_000)
    lost = sum(max(run.failed, 0) if not run.problem else 1 for run in found)
    counted = f"{sum(run.ok for run in found)} of {sum(run.planned for run in found)}"
    return judged("20,000/s Poisson answered", "every planned request", counted, lost == 0 if found else None)


def rate_error(runs: Sequence[Figures]) -> Check:
    """Real sends against their own schedule."""
    errors = [abs(run.rate_error) for run in of(runs, PACING, OURS, "poisson", 20_000)]
    worst = max(errors, default=math.nan)
    holds = worst < 0.005 if errors else None
    return judged("rate error at 20,000/s Poisson, worst", "under 0.5 %", share(worst), holds)


def delay(runs: Sequence[Figures], figure: str, bound_s: float, value_s: Callable[[Figures], float]) -> Check:
    return _below(of(runs, PACING, OURS, "poisson", 1000), f"dispatch delay {figure} at 1,000/s", value_s, bound_s)


def cpu(runs: Sequence[Figures], tool: str, rate_per_s: float, bound_s: float) -> Check:
    request = "gRPC request" if tool == OURS_GRPC else "request"
    found = of(runs, PACING, tool, "poisson", rate_per_s)
    return _below(found, f"CPU per {request} at {rate_per_s:,.0f}/s", lambda run: run.cpu_s, bound_s)


def _below(runs: Sequence[Figures], name: str, value_s: Callable[[Figures], float], bound_s: float) -> Check:
    values = finite(value_s(run) for run in runs)
    holds = median(values) < bound_s if values else None
    return judged(name, f"under {bound_s * 1e6:g} µs", microseconds_range(values), holds)


def _rates(rates: Sequence[float]) -> str:
    if not rates:
        return "–"
    return f"{median(rates):,.0f}/s" if median(rates) else "less than the lowest rate tried"
