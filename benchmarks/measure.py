"""One run: a receiver, a generator, and the figures of both."""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.errors import MeasurementInvalid
from benchmarks import ks
from benchmarks.cell import Cell
from benchmarks.closed_form import NOT_FROZEN, expected
from benchmarks.cpu import others_cores, per_request_s
from benchmarks.figures import Figures
from benchmarks.memory import resident
from benchmarks.names import ARRIVALS, FREEZE
from benchmarks.plan import FREEZE_AFTER_S, FREEZE_S
from benchmarks.processes import Receiver, started, watch
from benchmarks.tools import Told, Tool, limit_s


def measure(cell: Cell, tool: Tool) -> Figures:
    """Run one cell. A generator that fails is a `problem` of its figures; only the receiver's failure raises."""
    figures = Figures(cell, os.getloadavg()[0])
    with tempfile.TemporaryDirectory(prefix="load_engine-") as name:
        folder = Path(name)
        freeze_s = FREEZE_S if cell.purpose == FREEZE else 0.0
        with (
            Receiver(
                tool.receiver, folder / "arrivals", FREEZE_AFTER_S, freeze_s, poll=cell.purpose == ARRIVALS
            ) as receiver,
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
            resident=resident(watched.samples, arrivals_ns),
        )
        try:
            told = tool.told(cell, (folder / "output").read_text(errors="replace"), folder)
        except MeasurementInvalid as exc:
            told, figures = Told(), replace(figures, problem=exc.message)
    if watched.status is None:
        figures = replace(figures, problem=f"{tool.name}: killed, it had not ended after {limit_s(cell):.0f} s")
    elif watched.status and not figures.problem:
        figures = replace(figures, problem=f"{tool.name}: ended with exit status {watched.status}")
    return with_times(figures, told, arrivals_ns, receiver.frozen_ns)


def with_times(
    figures: Figures, told: Told, arrivals_ns: np.ndarray, frozen_ns: tuple[int, int] | None = None
) -> Figures:
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
        arrival_gaps=ks.distance(arrivals_ns, *process),
        arrivals_within=ks.within(arrivals_ns, cell.rate_per_s) if cell.arrivals == "constant" else math.nan,
        latency=told.latency,
        from_send=told.from_send,
        peak_bytes=told.peak_bytes,
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
        send_gaps=ks.distance(sent, *process),
        send_gaps_beyond=ks.distance(sent, *process, ks.RESOLUTION_S),
        planned_gaps=ks.distance(told.scheduled_ns, *process),
        shortest_gap_s=float(np.min(ks.gaps(sent), initial=math.inf)),
        sends_within=ks.within(sent, cell.rate_per_s) if cell.arrivals == "constant" else math.nan,
        expected=expected(told.scheduled_ns + told.start_ns, frozen_ns, arrivals_ns) if frozen_ns else NOT_FROZEN,
    )


def rate(times_ns: np.ndarray) -> float:
    """Gaps per second from the first to the last of sorted times; NaN with under two, or all at once."""
    span_ns = int(times_ns[-1] - times_ns[0]) if len(times_ns) > 1 else 0
    return (len(times_ns) - 1) * 1e9 / span_ns if span_ns else math.nan
