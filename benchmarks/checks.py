"""What the load engine promises, each with its measured value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import median

from bench.report.quantity import share, significant
from benchmarks.ks import Distance
from benchmarks.measure import Figures
from benchmarks.plan import ASYNC, DEFAULT, GAPS, LADDER, OURS, OURS_2, PACING

HOLDS, FAILS, NOT_RUN = "holds", "fails", "not run"
REJECTED_BELOW = 0.01


@dataclass(frozen=True, slots=True)
class Check:
    """One promise: the bound, what was measured, and whether that is within it."""

    name: str
    expected: str
    measured: str
    verdict: str


def check_all(runs: Sequence[Figures]) -> list[Check]:
    """Every promise, by the median over repeats where nothing else is said."""
    return [
        _sent_in_full(runs),
        _rate_error(runs),
        _times_the_peer(runs),
        _below(runs, "dispatch delay p50 at 1,000/s", 1000, lambda run: run.delay_p50_s, 60e-6),
        _below(runs, "dispatch delay p99 at 1,000/s", 1000, lambda run: run.delay_p99_s, 600e-6),
        _below(runs, "CPU per request at 20,000/s", 20_000, lambda run: run.cpu_s, 25e-6),
        _below(runs, "CPU per request at 5,000/s", 5000, lambda run: run.cpu_s, 60e-6),
        _below(runs, "CPU per request at 500/s", 500, lambda run: run.cpu_s, 250e-6),
        _gaps(runs, "poisson", "send gaps, Poisson 500/s", lambda run: run.send_gaps),
        _gaps(runs, "gamma", "send gaps, gamma CV 2 500/s", lambda run: run.send_gaps),
        _gaps(runs, "gamma", "send gaps from 100 µs on, gamma CV 2 500/s", lambda run: run.send_gaps_beyond),
        _constant(runs),
        *(_arrival_gaps(runs, rate) for rate in (500, 1000, 5000)),
    ]


def of(runs: Sequence[Figures], purpose: str, tool: str, arrivals: str = "", rate_per_s: float = 0.0) -> list[Figures]:
    """Those of a purpose and a tool; of any arrivals and rate where none is given."""
    return [
        run
        for run in runs
        if (run.cell.purpose, run.cell.tool) == (purpose, tool)
        and arrivals in ("", run.cell.arrivals)
        and rate_per_s in (0.0, run.cell.rate_per_s)
    ]


def highest(runs: Sequence[Figures], tool: str) -> list[float]:
    """For each repeat of the ladder, the highest rate that the tool completed; 0 when not even the lowest."""
    reached: dict[int, float] = {}
    for run in of(runs, LADDER, tool):
        rate = run.cell.rate_per_s if run.completed else 0.0
        reached[run.cell.repeat] = max(reached.get(run.cell.repeat, 0.0), rate)
    return list(reached.values())


def _sent_in_full(runs: Sequence[Figures]) -> Check:
    found = of(runs, PACING, OURS, "poisson", 20_000)
    lost = sum(max(run.failed, 0) if not run.problem else 1 for run in found)
    counted = f"{sum(run.ok for run in found)} of {sum(run.planned for run in found)}"
    return _check("20,000/s Poisson answered", "every planned request", counted, found and lost == 0)


def _rate_error(runs: Sequence[Figures]) -> Check:
    errors = [abs(run.rate_error) for run in of(runs, PACING, OURS, "poisson", 20_000)]
    worst = max(errors, default=math.nan)
    return _check("rate error at 20,000/s Poisson, worst", "under 0.5 %", share(worst), errors and worst < 0.005)


def _times_the_peer(runs: Sequence[Figures]) -> Check:
    ours = [max(pair) for pair in zip_longest(highest(runs, OURS), highest(runs, OURS_2), fillvalue=0.0)]
    peer = highest(runs, ASYNC)
    measured = f"{_rates(ours)} against {_rates(peer)}"
    holds: object = median(ours) >= 3 * median(peer) if ours and peer else []
    return _check("highest rate, best of 1 and 2 workers", f"at least 3 × {ASYNC}", measured, holds)


def _below(
    runs: Sequence[Figures], name: str, rate_per_s: float, value_s: Callable[[Figures], float], bound_s: float
) -> Check:
    values = _finite(value_s(run) for run in of(runs, PACING, OURS, "poisson", rate_per_s))
    holds = values and median(values) < bound_s
    return _check(name, f"under {bound_s * 1e6:g} µs", microseconds_range(values), holds)


def _gaps(runs: Sequence[Figures], arrivals: str, name: str, gaps: Callable[[Figures], Distance]) -> Check:
    found = of(runs, GAPS, OURS, arrivals)
    kept = sum(gaps(run).p_value >= REJECTED_BELOW for run in found)
    planned = sum(run.planned_gaps.p_value >= REJECTED_BELOW for run in found)
    d = max((gaps(run).d for run in found), default=math.nan)
    measured = f"{kept} of {len(found)} (the schedules themselves: {planned}), largest D {significant(d)}"
    return _check(name, "KS at 1 % rejects no seed", measured, found and kept == len(found))


def _constant(runs: Sequence[Figures]) -> Check:
    kept = [run.sends_within for run in of(runs, GAPS, OURS, "constant")]
    worst = min(kept, default=math.nan)
    return _check("send gaps, constant 500/s", "99 % within 200 µs", share(worst), kept and worst >= 0.99)


def _arrival_gaps(runs: Sequence[Figures], rate_per_s: float) -> Check:
    def distances(tool: str) -> list[float]:
        return _finite(run.arrival_gaps.d for run in of(runs, PACING, tool, "poisson", rate_per_s))

    ours, peers = distances(OURS), {tool: distances(tool) for tool in (ASYNC, DEFAULT)}
    shown = ", ".join(f"{tool} {significant(median(d))}" for tool, d in peers.items() if d)
    measured = f"{significant(median(ours)) if ours else '–'} against {shown or '–'}"
    holds = ours and peers[ASYNC] and median(ours) <= median(peers[ASYNC])
    name = f"KS distance of arrivals at the receiver, Poisson {rate_per_s:g}/s"
    return _check(name, f"no larger than {ASYNC}'s", measured, holds if ours and peers[ASYNC] else [])


def microseconds_range(values_s: Sequence[float]) -> str:
    """'38.2 µs (36.0 to 41.5)': the median, and the extremes of more than one."""
    if not values_s:
        return "–"
    middle = f"{significant(median(values_s) * 1e6)} µs"
    ends = f" ({significant(min(values_s) * 1e6)} to {significant(max(values_s) * 1e6)})"
    return middle + (ends if len(values_s) > 1 else "")


def _check(name: str, expected: str, measured: str, holds: object) -> Check:
    """`holds` is an empty list where there was nothing to judge."""
    verdict = NOT_RUN if holds == [] else HOLDS if holds else FAILS
    return Check(name, expected, measured, verdict)


def _finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _rates(rates: Sequence[float]) -> str:
    return f"{median(rates):g}/s" if rates else "–"
