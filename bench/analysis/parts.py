"""What each server tells of its requests -> the parts of their response times, one by one where that can be had.

response time = dispatch delay + queue wait w + compute + handover + network + unexplained. Network is what the round
trip has beyond the server's own total, from arrival to answer; handover is what the execution has beyond compute: the
batch's way to its worker and back. All but network are measured inside the server, each by itself, so they need not add
up to the server's total: what they miss of it, or count twice, is unexplained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.analysis.load import Counted, Point

Floats = NDArray[np.float64]
PARTS = ("dispatch_delay_s", "queue_wait_s", "compute_s", "handover_s", "network_s")
TRACES, CLIENT_ALONE = "traces", "the client alone"
"""Sources: the server's notes of each request; nothing but what the client sees."""
LEAST_TOLD = 0.95
"""Share of the requests of which a server must tell, for the rest to be left out."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The successful requests in the window of one server's points at one rate.

    requests: columns response_s, PARTS and batch_size, NaN where nothing tells; source: who told, in words; each:
    whether the server's parts are known of each request, or only in the mean.
    """

    requests: pd.DataFrame
    source: str
    each: bool


@dataclass(frozen=True, slots=True)
class Means:
    """A server's own means over a whole point, warm-up included, in seconds; NaN: not told.

    held: with the instance or worker that executes; total: from a request's arrival to its answer.
    """

    queue_wait_s: float
    compute_s: float
    held_s: float
    total_s: float


def parts_of(points: Sequence[Point], traced: Point | None) -> Parts:
    """From the best source there is. points: its replications; traced: one whose stages the server noted."""
    if traced is not None and _tells(traced.rows, "server_s"):
        return Parts(_by_traces(traced), TRACES, True)
    told = [(point, means) for point in points if (means := means_of(point.rows, point.counted))]
    if not told:
        seen = [_as_seen(_in_window(point)) for point in points] or [_as_seen(_nothing())]
        return Parts(pd.concat(seen, ignore_index=True), CLIENT_ALONE, False)
    if all(_tells(point.rows, "queue_wait_s") for point, _ in told):
        frames = [_by_headers(point, means) for point, means in told]
        logged = all(math.isfinite(means.held_s) for _, means in told)
        source = "headers, counters and log" if logged else "headers and counters: handover is what they leave over"
        return Parts(pd.concat(frames, ignore_index=True), source, True)
    return Parts(pd.concat([_by_counters(p, means) for p, means in told], ignore_index=True), "counters", False)


def means_of(rows: pd.DataFrame, counted: Counted | None) -> Means | None:
    """What the server counted, for each of the requests that it answered; None where it timed none of them."""
    n = int((rows["status"] == 200).sum())
    if counted is None or not counted.total_s or not n:
        return None
    told_s = float(rows.loc[rows["status"] == 200, "compute_s"].mean())
    compute_s = told_s if counted.compute_s is None else counted.compute_s / n
    held_s = counted.held_s / counted.held_requests if counted.held_requests and counted.held_s else math.nan
    return Means(counted.queue_s / n, compute_s, held_s, counted.total_s / n)


def queue_waits(rows: pd.DataFrame, counted: Counted | None) -> Floats:
    """Queue wait (n,) of each request of a point, in seconds, by the start of its execution; NaN where not told.

    w = started − sent − way in. The way in, from the client to the queue and from the queue to the worker, is taken to
    be the same for all: mean(started − sent) less the mean wait by the server's counters.
    """
    answered = (rows["status"] == 200).to_numpy()
    before_s = np.where(answered, rows["execution_started_s"] - rows["sent_s"], math.nan)
    means = means_of(rows, counted)
    if means is None or not _tells(rows, "execution_started_s"):
        return np.full(len(rows), math.nan)
    waits: Floats = before_s - (np.nanmean(before_s) - means.queue_wait_s)
    return waits


def _by_traces(point: Point) -> pd.DataFrame:
    """Each request by its own stamps."""
    rows = _in_window(point)
    rows = rows[rows["server_s"].notna()]
    return _as_seen(rows).assign(
        queue_wait_s=_floats(rows["queue_wait_s"]),
        compute_s=_floats(rows["compute_s"]),
        handover_s=_floats(rows["handover_s"]),
        network_s=_floats(rows["completed_s"] - rows["sent_s"] - rows["server_s"]),
    )


def _by_headers(point: Point, means: Means) -> pd.DataFrame:
    """Queue wait and compute of each request; handover and network are the point's means, for all alike."""
    rows = _in_window(point)
    rows = rows[rows["queue_wait_s"].notna()]
    held_s = means.total_s - means.queue_wait_s if math.isnan(means.held_s) else means.held_s
    return _as_seen(rows).assign(
        queue_wait_s=_floats(rows["queue_wait_s"]),
        compute_s=_floats(rows["compute_s"]),
        handover_s=held_s - means.compute_s,
        network_s=_round_trip_s(point) - means.total_s,
    )


def _by_counters(point: Point, means: Means) -> pd.DataFrame:
    """The means over the whole point, which is what is counted, for all its requests alike."""
    counted = point.counted
    frame = _as_seen(_answered(point)).assign(
        queue_wait_s=means.queue_wait_s,
        compute_s=means.compute_s,
        handover_s=means.held_s - means.compute_s,
        network_s=_round_trip_s(point) - means.total_s,
    )
    if counted is not None and counted.executions:
        frame["batch_size"] = counted.requests / counted.executions
    return frame


def _as_seen(rows: pd.DataFrame) -> pd.DataFrame:
    """What the client itself knows of each request; the rest NaN."""
    seen = {
        "response_s": _floats(rows["completed_s"] - rows["scheduled_s"]),
        "dispatch_delay_s": _floats(rows["sent_s"] - rows["scheduled_s"]),
        **dict.fromkeys(PARTS[1:], math.nan),
        "batch_size": _floats(rows["batch_size"]),
    }
    return pd.DataFrame(seen)


def _answered(point: Point) -> pd.DataFrame:
    return point.rows[point.rows["status"] == 200]


def _in_window(point: Point) -> pd.DataFrame:
    rows = _answered(point)
    due = rows["scheduled_s"]
    return rows[(due >= point.warmup_s) & (due < point.warmup_s + point.measured_s)]


def _nothing() -> pd.DataFrame:
    return pd.DataFrame({name: np.empty(0) for name in ("scheduled_s", "sent_s", "completed_s", "batch_size")})


def _round_trip_s(point: Point) -> float:
    """Mean over the whole point."""
    rows = _answered(point)
    return float((rows["completed_s"] - rows["sent_s"]).mean())


def _floats(column: pd.Series[float]) -> Floats:
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=math.nan), dtype=np.float64)


def _tells(rows: pd.DataFrame, column: str) -> bool:
    """Whether the column has a value for as good as each answered request."""
    answered = rows["status"] == 200
    if column not in rows or not answered.any():
        return False
    return bool(rows.loc[answered, column].notna().mean() >= LEAST_TOLD)
