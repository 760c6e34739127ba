"""Replay one schedule in several processes: each sends every so-many-th request, from a common start.

Worker k of n sends the requests k, k + n, k + 2n, … and writes their rows where they belong in the recorder's shared
memory, so the rows are in the order of the schedule, and are there when a worker or the run ends before its time.
`perf_counter_ns` is one clock for all processes of a machine.
"""

from __future__ import annotations

import numpy as np

from bench.load.dispatch import TICK_S, StopRule, TickFn
from bench.load.recorder import Recorder
from bench.load.records import Records
from bench.load.workers_crew import Crew, WorkerDied
from bench.load.workers_share import MakeSender

__all__ = ["MakeSender", "WorkerDied", "replay_in_workers"]


async def replay_in_workers(
    offsets_ns: np.ndarray,
    make_sender: MakeSender,
    workers: int,
    *,
    drain_timeout_s: float,
    in_flight_cap: int = 10_000,
    on_tick: TickFn | None = None,
    stop: StopRule | None = None,
    recorder: Recorder | None = None,
) -> Records:
    """As `replay`, in `workers` processes that share out the requests by their index, and the cap.

    The load starts when all workers have their sender open. An exception in one ends the others and is raised;
    WorkerDied tells of one that ended without a word. Cancelled, or after an exception, the rows so far are in
    `recorder`.
    """
    recorder = Recorder(offsets_ns) if recorder is None else recorder
    recorder.expect_unused(offsets_ns)
    if not 1 <= workers <= in_flight_cap:
        raise ValueError(f"workers: expected 1 to in_flight_cap ({in_flight_cap}), got {workers}")
    crew = Crew(recorder)
    try:
        crew.hire(make_sender, workers, in_flight_cap, drain_timeout_s)
        await crew.until_ready()
        crew.start_load()
        while not crew.done():
            await crew.news(TICK_S)
            progress = crew.progress()
            if on_tick is not None:
                on_tick(progress)
            if stop is not None and stop(progress):
                crew.end_early()
    finally:
        crew.end()
    return recorder.records()
