"""The findings of `doctor` as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rich.console import Console

from bench.report.table import new_table


class Found(Protocol):
    """What a row is made of."""

    of: str
    what: str
    state: str
    found: str
    remedy: str


def print_findings(console: Console, findings: Sequence[Found]) -> None:
    table = new_table("What works here", "for", "what", "state", "found", "what to do")
    for column in table.columns[2:]:
        column.justify = "left"
    for finding in findings:
        table.add_row(finding.of, finding.what, finding.state, finding.found, finding.remedy)
    console.print(table)
