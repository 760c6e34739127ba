"""Percentiles of the response time with their intervals on the terminal."""

from __future__ import annotations

import math

import pandas as pd
from rich.table import Table

from bench.analysis.run import Analysis
from bench.report import quantity
from bench.report.table import new_table

SHOWN = (50.0, 99.0)


def responses_table(analysis: Analysis) -> Table:
    """A row for each server and rate that has percentiles, all valid replications together."""
    table = new_table(
        "Response time of all replications together, ms, 95 % intervals",
        "server", "rate/s", "requests", *(f"p{q:g}" for q in SHOWN), "no interval because",
    )  # fmt: skip
    table.columns[-1].justify = "left"
    responses = analysis.tables.get("response", pd.DataFrame())
    if responses.empty:
        return table
    for _, rows in responses.groupby(["server", "rate_per_s"], sort=False):
        shown = [rows[rows["percentile"] == q].iloc[0].to_dict() for q in SHOWN]
        server, rate = shown[0]["server"], shown[0]["rate_per_s"]
        if any(math.isfinite(row["value_s"]) for row in shown):
            reasons = dict.fromkeys(row["reason"] for row in shown if row["reason"])
            cells = (quantity.ms_known(row["value_s"], row["lo_s"], row["hi_s"]) for row in shown)
            table.add_row(server, quantity.number(rate), str(shown[0]["requests"]), *cells, "; ".join(reasons))
    return table
