"""The promise about latencies while the receiver stands still."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report.quantity import milliseconds, share
from benchmarks.figures import Figures, of
from benchmarks.latency import worst_difference
from benchmarks.names import FREEZE, OURS
from benchmarks.verdicts import Check, finite, judged

WITHIN = 0.05


def closed_form(runs: Sequence[Figures]) -> Check:
    """By the worst of all repeats and the three figures, against a receiver that answers all that waited at once.

    The difference has the receiver's own backlog in it; what is left without that is shown beside it.
    """
    found = of(runs, FREEZE, OURS)
    in_turn = finite(worst_difference(run.latency, run.expected.in_turn) for run in found)
    at_once = finite(worst_difference(run.latency, run.expected.at_once) for run in found)
    measured = "–"
    if in_turn and at_once:
        backlog_s = max(run.expected.backlog_s for run in found)
        measured = (
            f"{share(max(at_once))} off at worst ({share(max(in_turn))} where the receiver's backlog of up to "
            f"{milliseconds(backlog_s)} is counted)"
        )
    holds = max(at_once) <= WITHIN and len(at_once) == len(found) if at_once else None
    return judged(
        "receiver frozen for 1 s: p50, p99, max from the schedule", f"within {share(WITHIN)} of the closed form",
        measured, holds, by_ratio=True,
    )  # fmt: skip
