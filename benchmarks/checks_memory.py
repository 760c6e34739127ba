"""Promises about the generator's resident memory."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report.quantity import share
from benchmarks.figures import Figures, of
from benchmarks.names import OURS, OURS_TABLES, SOAK
from benchmarks.verdicts import Check, judged, megabytes

GROWTH, PEAK_BYTES = 0.05, 400e6


def flat(runs: Sequence[Figures]) -> Check:
    """The most after a tenth of the run, less what there was then, as a share of that."""
    found = [run for run in of(runs, SOAK, OURS) if run.resident.early_bytes and not run.problem]
    worst = max((run.resident.growth for run in found), default=float("nan"))
    measured = ", ".join(
        f"{share(run.resident.growth)} over {run.cell.seconds:g} s and {run.arrived:,} requests, "
        f"to {megabytes(run.resident.most_bytes)} at most"
        for run in found
    )
    return judged(
        "resident memory flat over 5 minutes at 10,000/s", f"grows by under {share(GROWTH)} after a tenth",
        measured or "–", worst < GROWTH if found else None, by_ratio=True,
    )  # fmt: skip


def tables(runs: Sequence[Figures]) -> Check:
    """The most that the process ever had, with the product's tables of the whole run made."""
    found = [run for run in of(runs, SOAK, OURS_TABLES) if run.peak_bytes and not run.problem]
    most = max((run.peak_bytes for run in found), default=0)
    measured = ", ".join(
        f"{megabytes(run.peak_bytes)} for {run.planned:,} requests ({run.ok:,} of them answered) and their tables"
        for run in found
    )
    return judged(
        "2 million requests in one run: resident memory", f"under {megabytes(PEAK_BYTES)}",
        measured or "–", most < PEAK_BYTES if found else None,
    )  # fmt: skip
