"""One run: a receiver, a generator, and the figures of both."""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.errors import MeasurementInvalid
from benchmarks.cpu import others_cores, per_request_s
from benchmarks.ks import NOT_MEASURED, RESOLUTION_S, Distance, distance, within
from benchmarks.plan import FREEZE, FREEZE_AFTER_S, FREEZE_S, Cell
from benchmarks.processes import Receiver, started, watch
from benchmarks.tools import Told, Tool, limit_s

COMPLETED_WITHIN = 0.05


@dataclass(frozen=True, slots=True)
class Figures:
    """One run's figures, in seconds and requests per second; NaN where not measured, counts -1.

    `planned` requests were asked for, `arrived` reached the receiver and `ok` were answered. `rate_error` compares
    real sends with the schedule (peers: arrivals with the asked rate, so a Poisson count's chance is in it).
    `send_gaps` (all; beyond: from 100 µs on) and `planned_gaps` are ours, `arrival_gaps` are the receiver's.
    `load_average` is that of the minute before the run, `others_cores` what all else kept busy during it.
    """

    cell: Cell
    load_average: float
    others_cores: float = math.nan
    planned: int = -1
    arrived: int = 0
    ok: int = -1
    achieved_per_s: float = math.nan
    rate_error: float = math.nan
    delay_p50_s: float = math.nan
    delay_p99_s: float = math.nan
    delay_max_s: float = math.nan
    cpu_s: float = math.nan
    receiver_cpu_s: float = math.nan
    send_gaps: Distance = NOT_MEASURED
    send_gaps_beyond: Distance = NOT_MEASURED
    planned_gaps: Distance = NOT_MEASURED
    arrival_gaps: Distance = NOT_MEASURED
    sends_within: float = math.nan
    arrivals_within: float = math.nan
    p50_s: float = math.nan
    p99_s: float = math.nan
    max_s: float = math.nan
    send_p99_s: float = math.nan
    problem: str = ""

    @property
    def failed(self) -> int:
        """Planned and not answered well: lost, refused or never sent; -1 where the tool does not say."""
        return self.planned - self.ok if min(self.planned, self.ok) >= 0 else -1

    @property
    def completed(self) -> bool:
        """All that was planned was answered, at the asked rate within 5 % (a short Poisson run varies by chance)."""
        asked = self.cell.rate_per_s
        return not self.problem and self.failed == 0 and abs(self.achieved_per_s / asked - 1) <= COMPLETED_WITHIN


def measure(cell: Cell, tool: Tool) -> Figures:
    """Run one cell. A generator that fails is a `problem` of its figures; only the receiver's failure raises."""
    figures = Figures(cell, os.getloadavg()[0])
    with tempfile.TemporaryDirectory(prefix="load_engine-") as name:
        folder = Path(name)
        frozen = cell.purpose == FREEZE
        with (
            Receiver(folder / "arrivals", FREEZE_AFTER_S, FREEZE_S if frozen else 0.0) as receiver,
            started(tool.command(cell, receiver.port, folder), folder / "output") as process,
        ):
            watched = watch(process, receiver.pid, limit_s(cell))
        arrivals_ns = receiver.arrivals_ns
        cpu_s, receiver_cpu_s = per_request_s(watched.samples, arrivals_ns)
        figures = replace(
            figures,
            others_cores=others_cores(watched.samples),
            arrived=len(arrivals_ns),
            cpu_s=cpu_s,
            receiver_cpu_s=receiver_cpu_s,
        )
        try:
            told = tool.told(cell, (folder / "output").read_text(errors="replace"), folder)
        except MeasurementInvalid as exc:
            told, figures = Told(), replace(figures, problem=exc.message)
    if watched.status is None:
        figures = replace(figures, problem=f"{tool.name}: killed, it had not ended after {limit_s(cell):.0f} s")
    elif watched.status and not figures.problem:
        figures = replace(figures, problem=f"{tool.name}: ended with exit status {watched.status}")
    return with_times(figures, told, arrivals_ns)


def with_times(figures: Figures, told: Told, arrivals_ns: np.ndarray) -> Figures:
    """The figures that follow from what a tool told and from the receiver's log."""
    cell = figures.cell
    process = cell.arrivals, cell.rate_per_s, cell.cv
    achieved = rate(arrivals_ns)
    figures = replace(
        figures,
        planned=told.planned,
        ok=told.ok,
        achieved_per_s=achieved,
        rate_error=achieved / cell.rate_per_s - 1 if cell.rate_per_s else math.nan,
        arrival_gaps=distance(arrivals_ns, *process),
        arrivals_within=within(arrivals_ns, cell.rate_per_s) if cell.arrivals == "constant" else math.nan,
        p50_s=told.p50_s,
        p99_s=told.p99_s,
        max_s=told.max_s,
        send_p99_s=told.send_p99_s,
    )
    was_sent = told.sent_ns >= 0
    if not was_sent.any():
        return figures
    sent = told.sent_ns[was_sent]
    p50, p99, longest = np.percentile((sent - told.scheduled_ns[was_sent]) / 1e9, (50, 99, 100))
    return replace(
        figures,
        rate_error=rate(np.sort(sent)) / rate(told.scheduled_ns) - 1,
        delay_p50_s=float(p50),
        delay_p99_s=float(p99),
        delay_max_s=float(longest),
        send_gaps=distance(sent, *process),
        send_gaps_beyond=distance(sent, *process, RESOLUTION_S),
        planned_gaps=distance(told.scheduled_ns, *process),
        sends_within=within(sent, cell.rate_per_s) if cell.arrivals == "constant" else math.nan,
    )


def rate(times_ns: np.ndarray) -> float:
    """Gaps per second from the first to the last of sorted times; NaN with under two, or all at once."""
    span_ns = int(times_ns[-1] - times_ns[0]) if len(times_ns) > 1 else 0
    return (len(times_ns) - 1) * 1e9 / span_ns if span_ns else math.nan
