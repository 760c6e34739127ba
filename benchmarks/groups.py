"""Runs of the same kind together, and one figure for all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from bench.report.quantity import significant
from benchmarks.figures import Figures
from benchmarks.verdicts import finite


def grouped(runs: Sequence[Figures], purpose: str) -> dict[tuple[str, str], list[Figures]]:
    """By load and tool, in the order of their first run."""
    groups: dict[tuple[str, str], list[Figures]] = {}
    for run in runs:
        if run.cell.purpose == purpose:
            groups.setdefault((run.cell.load, run.cell.tool), []).append(run)
    return groups


def middle(runs: Iterable[Figures], value: Callable[[Figures], float]) -> float:
    """The median of what was measured, NaN where nothing was."""
    values = finite(value(run) for run in runs)
    return median(values) if values else math.nan


def plain(value: float) -> str:
    """Three significant digits, '–' for what was not measured."""
    return significant(value) if math.isfinite(value) else "–"


def microseconds(seconds: float) -> str:
    """For a column that says µs."""
    return plain(seconds * 1e6)


def count(value: float) -> str:
    """'20,041', for counts and rates; '–' for what was not measured."""
    return f"{value:,.0f}" if math.isfinite(value) else "–"


def probability(p: float) -> str:
    """'0.0092', and '< 0.001' for all that is less."""
    return "–" if not math.isfinite(p) else f"{p:.2g}" if p >= 0.001 else "< 0.001"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; '|' in a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
