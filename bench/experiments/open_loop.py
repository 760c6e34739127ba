"""One open-loop point: a planned schedule replayed against the model as it is configured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.analysis.load import Counted, Generator, Offered
from bench.analysis.parts import queue_waits
from bench.experiments.sending import Sending
from bench.experiments.subject import Subject
from bench.load.arrivals import schedule, statistics
from bench.load.dispatch import Progress, StopRule, replay
from bench.load.recorder import Recorder
from bench.load.records import Records
from bench.load.workers import replay_in_workers
from bench.measure.overload import OverloadWatch
from bench.measure.rows import point_rows
from bench.scenario.arms import Arm
from bench.scenario.spec import Load
from bench.servers.server import Statistics

DRAIN_BEYOND_TIMEOUT_S = 1.0  # so that each request sent is given up by its own timeout first
LOOK_S = 1.0  # how often a point looks whether its server and workers live
IN_FLIGHT_CAP = 10_000


@dataclass(frozen=True, slots=True)
class Pace:
    """How a point is driven: planned rate, the warm-up before it is looked at, the generator's processes, and how long
    an answer is waited for.
    """

    rate_per_s: float
    warmup_s: float
    workers: int = 1
    timeout_s: float = 30.0


def planned(load: Load, rate_per_s: float, seeds: Sequence[int]) -> tuple[NDArray[np.int64], np.random.Generator]:
    """A point's schedule, and the randomness for its payloads: the same for every server.

    seeds: the scenario's, and what tells the point from the others of a run. Raises ScenarioError for a trace file that
    cannot be used.
    """
    schedule_seed, payload_seed = np.random.SeedSequence(list(seeds)).generate_state(2)
    offsets_ns = schedule(
        load.arrivals.kind, rate_per_s, load.warmup_s + load.duration_s, int(schedule_seed),
        load.arrivals.parameters, warmup_s=load.warmup_s,
    )  # fmt: skip
    return offsets_ns, np.random.default_rng(payload_seed)


async def run_point(
    subject: Subject,
    arm: Arm,
    recorder: Recorder,
    payload_order: np.ndarray,
    protocol: str,
    pace: Pace,
    label: str,
    *,
    named: bool = False,
) -> Statistics:
    """Replays `recorder.offsets_ns`; what the server counted over the whole point, warm-up included.

    payload_order (n,): which payload each request carries. named: each request has its `request_id`. The rows are in
    the recorder, also when this is cancelled. A point whose backlog only grows is ended early. Raises ServerError when
    the server died.
    """
    server = subject.server
    requests, order = _prebuilt(subject, arm, payload_order, named=named)
    port = server.ports[server.data_ports[protocol]]
    sending = Sending(server.spec.kind, protocol, server.host, port, requests, order, pace.timeout_s)

    looked_s = 0.0

    def on_tick(progress: Progress) -> None:
        nonlocal looked_s
        text = f"{server.spec.name}: {label}, {progress.in_flight} in flight, {progress.failed} failed"
        subject.tell(text, progress.sent / max(1, progress.scheduled))
        if progress.elapsed_s - looked_s > LOOK_S:
            looked_s = progress.elapsed_s
            server.check_alive()

    before = server.statistics(arm)
    await drive(sending, recorder, pace, on_tick)
    server.check_alive()
    return server.statistics(arm).since(before)


def request_id(index: int) -> str:
    """All of one length, and so all requests that carry one."""
    return f"{index:08d}"


def _prebuilt(
    subject: Subject, arm: Arm, payload_order: np.ndarray, *, named: bool
) -> tuple[tuple[bytes, ...], NDArray[np.uint32]]:
    """The requests that differ, and which of them is sent as the i-th."""
    client, payloads = subject.client, subject.model.payloads
    if not named:
        return tuple(client.request(arm.name, row[np.newaxis]) for row in payloads), payload_order.astype(np.uint32)
    requests = (
        client.request(arm.name, payloads[row : row + 1], request_id(i)) for i, row in enumerate(payload_order.tolist())
    )
    return tuple(requests), np.arange(len(payload_order), dtype=np.uint32)


def counted(statistics: Statistics) -> Counted:
    """A point's statistics as they are kept."""
    executions = sum(count for count, _ in statistics.batches.values()) or None
    held_requests, held_s = statistics.held or (None, None)
    return Counted(
        statistics.requests, statistics.queue_s, statistics.compute_s, executions, statistics.total_s,
        held_requests, held_s,
    )  # fmt: skip


def measured(recorder: Recorder, counts: Counted | None = None) -> tuple[pd.DataFrame, Generator | None, Offered]:
    """The recorder's rows as samples/*.parquet has them, what sending took, and what the schedule offered.

    Of a run that was cancelled too. counts: what the server counted, by which a request's queue wait is known where
    the start of its execution is.
    """
    plan = statistics(recorder.offsets_ns)
    offered = Offered(plan.mean_rate_per_s, plan.cv_of_gaps, plan.index_of_dispersion)
    records = recorder.records()
    times = {"scheduled": records.scheduled_ns, "sent": records.sent_ns, "completed": records.completed_ns}
    # As text it would be 80 bytes a row.
    cause = pd.Categorical.from_codes(records.cause, dtype=pd.CategoricalDtype(list(records.causes)))
    rows = point_rows(times, records.status, records.batch_size, records.compute_ns, cause, _started_ns(records))
    if counts is not None:
        rows["queue_wait_s"] = queue_waits(rows, counts)
    use = records.use
    return rows, Generator(use.cpu_s, use.wall_s, use.workers) if use is not None else None, offered


def _started_ns(records: Records) -> NDArray[np.int64] | None:
    """When executions began, on the clock of the other times; None where nothing tells, -1 for what cannot be.

    The server's monotonic clock is this process's on the same machine alone; on another, an execution would begin
    before its request was sent, or end after its answer came.
    """
    started_ns = records.started_ns
    if started_ns.max(initial=-1) < 0:
        return None
    ended_ns = started_ns + np.maximum(records.compute_ns, 0)
    ours = (started_ns >= records.sent_ns) & (ended_ns <= records.completed_ns)
    return np.where(ours, started_ns, -1)


async def drive(
    sending: Sending, recorder: Recorder, pace: Pace, on_tick: Callable[[Progress], None], *, end_early: bool = True
) -> None:
    """Sends the recorder's schedule, in this process or in several."""
    watch = OverloadWatch(pace.rate_per_s, pace.warmup_s)

    def stop(progress: Progress) -> bool:
        return watch.hopeless(progress.elapsed_s, progress.in_flight, progress.sent, progress.refused)

    rule: StopRule | None = stop if end_early else None
    drain_s = pace.timeout_s + DRAIN_BEYOND_TIMEOUT_S
    if pace.workers > 1:
        await replay_in_workers(
            recorder.offsets_ns, sending.open, pace.workers,
            drain_timeout_s=drain_s, in_flight_cap=IN_FLIGHT_CAP, on_tick=on_tick, stop=rule, recorder=recorder,
        )  # fmt: skip
        return
    async with sending.open(range(len(recorder.offsets_ns))) as send:
        await replay(
            recorder.offsets_ns, send,
            drain_timeout_s=drain_s, in_flight_cap=IN_FLIGHT_CAP, on_tick=on_tick, stop=rule, recorder=recorder,
        )  # fmt: skip
