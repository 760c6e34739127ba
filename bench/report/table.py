"""A table as every report on the terminal has it."""

from __future__ import annotations

from rich import box
from rich.table import Table


def new_table(title: str, *columns: str) -> Table:
    """Units stand in the headers, so that a table fits a terminal of 100 columns."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < 2 else "right", overflow="fold")
    return table
