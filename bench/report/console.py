"""What a run says on the terminal: its tables, and one plain sentence per server."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.analysis.run import Analysis
from bench.analysis.verdict import Verdict
from bench.report import budget, quantity
from bench.report.fits import fits_table
from bench.report.responses import responses_table
from bench.report.table import new_table

STYLES = {"holds": "green", "fails": "bold red", "invalid": "bold magenta", "not applicable": "yellow"}
# How a check's expected and measured values read; anything else is a plain number or already text.
UNITS = {
    "precision": quantity.share,
    "affine": quantity.share,
    "accuracy": quantity.share,
    "objective": quantity.milliseconds,
    "budget": quantity.share,
}
TOLD_ONE_BY_ONE = ("precision", "affine", "accuracy", "objective")


def print_run(console: Console, analysis: Analysis) -> None:
    """Fits and what disturbed them, speedups, load and verdicts, then the sentences."""
    _print(console, fits_table(analysis))
    for server, note in ((server, note) for server, notes in analysis.notes.items() for note in notes):
        console.print(f"[bold]{server}[/bold]: {escape(note)}.", highlight=False)
    if any(analysis.notes.values()):
        console.print()
    tables = (_speedups, _capacity, _load, responses_table, _budget, _searches)
    for table in (*(made(analysis) for made in tables), _verdicts(analysis.verdicts)):
        _print(console, table)
    batches = budget.sentences(analysis.tables["budget"]) if "budget" in analysis.tables else ()
    for server, sentence in (*analysis.sentences.items(), *batches):
        console.print(f"[bold]{server}[/bold]: {sentence}.", highlight=False)
    if "memory_fit" in analysis.tables:
        for row in analysis.tables["memory_fit"].to_dict("records"):
            console.print(f"[bold]{row['server']}[/bold], memory: {escape(str(row['words']))}.", highlight=False)


def _print(console: Console, table: Table) -> None:
    if table.row_count:
        console.print(table)


def _speedups(analysis: Analysis) -> Table:
    shown = {(row.server, row.layer) for row in analysis.speedups}
    fits = ((fit, (server, layer)) for server, layers in analysis.fits.items() for layer, fit in layers.items())
    law = "B·T(1)/(c+Bm)" if any(fit.has_knee and where in shown for fit, where in fits) else "B(c+m)/(c+Bm)"
    table = new_table("Speedup S(B)", "server", "layer", "B", "measured", law, "off by", "")
    for row in analysis.speedups:
        table.add_row(
            row.server,
            row.layer,
            str(row.batch_size),
            quantity.with_interval(row.measured, row.measured_lo, row.measured_hi),
            quantity.number(row.predicted),
            quantity.share(row.relative_error),
            row.outcome,
            style=None if row.outcome == "holds" else STYLES[row.outcome],
        )
    return table


def _capacity(analysis: Analysis) -> Table:
    """What each server serves as it is configured, and what several instances serve together."""
    table = new_table(
        "Throughput at saturation", "server", "of", "N", "B", "per s", "N·B/(c+Bm)", "off by", "of N × one"
    )
    rows = analysis.tables["capacity"] if "capacity" in analysis.tables else pd.DataFrame()
    for row in rows.to_dict("records"):
        if row["purpose"] == "occupancy" and row["instances"] == 1:
            continue  # the fit's own points
        together = math.isfinite(row["of_n_times_one"])
        table.add_row(
            str(row["server"]),
            "the model as configured" if row["purpose"] == "capacity" else "exact batches",
            str(row["instances"]),
            str(row["batch_size"]),
            quantity.with_interval(row["throughput_per_s"], row["throughput_lo_per_s"], row["throughput_hi_per_s"]),
            quantity.number(row["predicted_per_s"]),
            quantity.share(row["relative_error"]),
            quantity.with_interval(row["of_n_times_one"], row["of_n_times_one_lo"], row["of_n_times_one_hi"])
            if together
            else "",
        )
    return table


def _load(analysis: Analysis) -> Table:
    table = new_table(
        "Open-loop load, ms from the schedule",
        "server", "rate/s", "rep", "errors", "p50", "p99", "batch", "wait w", "compute", "network", "late p99", "",
    )  # fmt: skip
    for row in analysis.load.to_dict("records"):
        parts = ("queue_wait_mean_s", "compute_mean_s", "network_mean_s", "dispatch_delay_p99_s")
        table.add_row(
            str(row["server"]),
            quantity.number(row["rate_per_s"]),
            str(row["replication"]),
            str(row["errors"]),
            quantity.ms(row["response_p50_s"]),
            quantity.ms(row["response_p99_s"]),
            quantity.number(row["mean_batch_size"]),
            *(quantity.ms(row[name]) for name in parts),
            _state(row),
            style=None if row["valid"] else STYLES["invalid"],
        )
    return table


def _searches(analysis: Analysis) -> Table:
    table = new_table("Highest rate within the objective", "server", "objective", "per s", "rates", "replications")
    rows = analysis.tables["search"] if "search" in analysis.tables else pd.DataFrame()
    for row in rows.to_dict("records"):
        table.add_row(
            str(row["server"]),
            f"p{row['percentile']:g} within {quantity.milliseconds(row['objective_s'])}",
            quantity.with_interval(row["rate_per_s"], row["lo_per_s"], row["hi_per_s"]) if row["found"] else row["why"],
            str(row["rates"]),
            str(row["replications"]),
        )
    return table


def _budget(analysis: Analysis) -> Table:
    table = new_table("Latency budget, ms", *budget.HEADERS)
    if "budget" in analysis.tables:
        for row in budget.rows(analysis.tables["budget"]):
            table.add_row(*row)
    return table


def _state(row: dict[Hashable, Any]) -> str:
    if not row["valid"]:
        return "invalid"
    return f"saturated, {1 + row['overload']:.2f} × capacity" if row["saturated"] else ""


def _merged(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Rows of one check and server that all hold, or all do not apply for one reason, become one line.

    The file has each of them.
    """
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.check, verdict.server), []).append(verdict)
    merged: list[Verdict] = []
    for rows in groups.values():
        alike = all(row.outcome == "holds" for row in rows) or (
            rows[0].outcome == "not applicable" and len({(row.outcome, row.why) for row in rows}) == 1
        )
        if len(rows) > 1 and alike and rows[0].check not in TOLD_ONE_BY_ONE:
            subject = f"{len(rows)} of {len(rows)}"
            merged.append(replace(rows[0], subject=subject, expected="", measured=""))
        else:
            merged += rows
    return merged


def _verdicts(verdicts: Iterable[Verdict]) -> Table:
    table = new_table("Verdicts", "check", "server", "subject", "expected", "measured", "tolerance", "outcome", "why")
    table.columns[-1].justify = "left"
    for verdict in _merged(verdicts):
        unit = UNITS.get(verdict.check, quantity.number)
        values = [v if isinstance(v, str) else unit(v) for v in (verdict.expected, verdict.measured)]
        tolerance = verdict.tolerance
        if not isinstance(tolerance, str):
            tolerance = (
                quantity.share(tolerance)
                if verdict.check in ("speedup", "ceiling", "affine", "budget")
                else quantity.number(tolerance)
            )
        table.add_row(
            verdict.check, verdict.server, verdict.subject, *values, tolerance,
            f"[{STYLES[verdict.outcome]}]{verdict.outcome}[/]",
            "" if verdict.outcome == "holds" else escape(verdict.why),
        )  # fmt: skip
    return table
