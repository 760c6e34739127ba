"""Promises about the gaps between requests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

from bench.report.quantity import share, significant
from benchmarks import ks
from benchmarks.figures import Figures, of
from benchmarks.ks import Distance
from benchmarks.names import ARRIVALS, ASYNC, DEFAULT, GAPS, OURS
from benchmarks.verdicts import OUT_OF_REACH, Check, finite, judged

REJECTED_BELOW = 0.01
NOT_REJECTED = "KS at 1 % rejects no seed"


def of_sends(runs: Sequence[Figures], arrivals: str, name: str, gaps: Callable[[Figures], Distance]) -> Check:
    """None of the seeds' sends is rejected as the asked process."""
    found = of(runs, GAPS, OURS, arrivals)
    kept = sum(gaps(run).p_value >= REJECTED_BELOW for run in found)
    return judged(name, NOT_REJECTED, _seeds(found, gaps), kept == len(found) if found else None)


def gamma_whole(runs: Sequence[Figures]) -> Check:
    """All gamma gaps of CV 2, shown beside the shortest gap that two sends had: with it no test of them can pass.

    A sender that writes one request after another has no gap below the time of a write, g. The asked distribution
    has a share F(g) of its gaps there, about (g / 8 ms)^0.25 / Γ(1.25) at 500/s, so its D is at least F(g).
    """
    name = "send gaps, gamma CV 2 500/s, all of them"
    found = of(runs, GAPS, OURS, "gamma")
    shortest_s = min(finite(run.shortest_gap_s for run in found), default=math.nan)
    if not math.isfinite(shortest_s):
        return judged(name, NOT_REJECTED, "–", None)
    cell = found[0].cell
    least = ks.least_d(shortest_s, cell.arrivals, cell.rate_per_s, cell.cv)
    rejected = ks.rejected_from_d(REJECTED_BELOW)
    needed_s = ks.shortest_needed_s(rejected, cell.arrivals, cell.rate_per_s, cell.cv)
    expected = (
        f"not below D = {significant(least)}, as the shortest gap between two sends was "
        f"{significant(shortest_s * 1e6)} µs; the test rejects from {significant(rejected)}, "
        f"which takes gaps down to {significant(needed_s * 1e9)} ns"
    )
    return Check(name, expected, _seeds(found, lambda run: run.send_gaps), OUT_OF_REACH)


def constant(runs: Sequence[Figures]) -> Check:
    kept = finite(run.sends_within for run in of(runs, GAPS, OURS, "constant"))
    worst = min(kept, default=math.nan)
    return judged("send gaps, constant 500/s", "99 % within 200 µs", share(worst), worst >= 0.99 if kept else None)


def of_arrivals(runs: Sequence[Figures], rate_per_s: float) -> Check:
    """At a receiver that polls: all tools are seen alike, and its own waking is in nobody's gaps."""

    def distances(tool: str) -> list[float]:
        return finite(run.arrival_gaps.d for run in of(runs, ARRIVALS, tool, "poisson", rate_per_s))

    ours, peers = distances(OURS), {tool: distances(tool) for tool in (ASYNC, DEFAULT)}
    shown = ", ".join(f"{tool} {significant(median(d))}" for tool, d in peers.items() if d)
    measured = f"{significant(median(ours)) if ours else '–'} against {shown or '–'}"
    holds = median(ours) <= median(peers[ASYNC]) if ours and peers[ASYNC] else None
    name = f"KS distance of arrivals at the receiver, Poisson {rate_per_s:g}/s"
    return judged(name, f"no larger than {ASYNC}'s", measured, holds, by_ratio=True)


def _seeds(found: Sequence[Figures], gaps: Callable[[Figures], Distance]) -> str:
    kept = sum(gaps(run).p_value >= REJECTED_BELOW for run in found)
    planned = sum(run.planned_gaps.p_value >= REJECTED_BELOW for run in found)
    d = max((gaps(run).d for run in found), default=math.nan)
    return f"{kept} of {len(found)} (the schedules themselves: {planned}), largest D {significant(d)}"
