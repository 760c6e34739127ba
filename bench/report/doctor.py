"""The findings of `doctor` as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

from bench.report.table import new_table


def print_findings(console: Console, findings: Iterable[Sequence[str]]) -> None:
    """findings: what for, what, state, what was found, what to do."""
    table = new_table("What works here", "for", "what", "state", "found", "what to do")
    for column in table.columns[2:]:
        column.justify = "left"
    for finding in findings:
        table.add_row(*finding)
    console.print(table)
