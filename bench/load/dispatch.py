"""Replay a schedule against the clock: each request at its own absolute deadline, whatever the others do."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter_ns, process_time_ns
from typing import Protocol

import numpy as np

from bench.load.recorder import Recorder
from bench.load.records import GeneratorUse, Records
from bench.load.timer import Timer, open_timer

START_AHEAD_NS = 50_000_000
TICK_S = 0.2
DRAIN_LOOK_S = 0.005
# Re-arming the timer was 17 % of the CPU at 20,000/s. With gaps under DENSE_GAP_NS it wakes at most every REST_NS
# and sends what is due together: 30 µs of CPU a request became 21, for a median lateness of 170 µs in place of 28. With
# wider gaps it does not re-arm for a send that is nearer than NEAR_NS or a quarter of the gap, and looks again at once.
DENSE_GAP_NS = 100_000
REST_NS = 250_000
NEAR_NS = 100_000
NEAR_SHARE = 0.25


class DoneFn(Protocol):
    """Is told of an outcome: as in Records, on `perf_counter_ns`."""

    def __call__(
        self,
        status: int,
        sent_ns: int,
        completed_ns: int,
        batch_size: int,
        compute_ns: int,
        cause: str,
        started_ns: int = -1,
        /,
    ) -> None: ...


SendFn = Callable[[int, DoneFn], None]
"""Sends request `index` without blocking; its DoneFn is called once, when the outcome is known."""

TimerFactory = Callable[[asyncio.AbstractEventLoop, Callable[[], None], float], Timer]


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts so far; `finished` are outcomes of any kind, `failed` those among them that are not ok, and
    `refused` those among these for which the server's queue was full."""

    scheduled: int
    sent: int
    shed: int
    finished: int
    failed: int
    refused: int
    elapsed_s: float

    @property
    def in_flight(self) -> int:
        return self.sent - self.finished


TickFn = Callable[[Progress], None]
StopRule = Callable[[Progress], bool]


async def replay(
    offsets_ns: np.ndarray,
    send: SendFn,
    *,
    drain_timeout_s: float,
    in_flight_cap: int = 10_000,
    on_tick: TickFn | None = None,
    stop: StopRule | None = None,
    recorder: Recorder | None = None,
    timer: TimerFactory = open_timer,
) -> Records:
    """Call `send(i, done)` at start + `offsets_ns[i]` (int64, sorted) for every i; record what `done` tells.

    A request is never sent before its deadline; all that are due at a wake-up are sent in it. With
    `in_flight_cap` requests in flight a due one is shed. After the last, outcomes are awaited for
    `drain_timeout_s`. `on_tick` is called five times a second, and `stop` after it: once it returns True, what
    is not sent by then has ended early. Cancelled, it leaves the rows so far in `recorder`, which holds one run.
    Python's cycle collector stands still meanwhile. An exception of `send`, `on_tick` or `stop` ends the run and
    is raised.
    """
    recorder = Recorder(offsets_ns) if recorder is None else recorder
    recorder.expect_unused(offsets_ns)
    everything = range(len(offsets_ns))
    with collector_paused():
        start_ns = perf_counter_ns() + START_AHEAD_NS
        dispatch = Dispatch(recorder, everything, send, in_flight_cap, start_ns, on_tick, stop, timer)
        await dispatch.run(drain_timeout_s)
    return recorder.records()


class Dispatch:
    """Sends the requests of one share of a recorder's schedule, and has it note what becomes of them."""

    def __init__(
        self,
        recorder: Recorder,
        share: range,
        send: SendFn,
        cap: int,
        start_ns: int,
        on_tick: TickFn | None,
        stop: StopRule | None,
        timer: TimerFactory = open_timer,
    ) -> None:
        loop = asyncio.get_running_loop()
        recorder.start_ns = start_ns
        self._loop = loop
        self._recorder = recorder
        self._share = share
        self._send = send
        self._cap = cap
        self._start_ns = start_ns
        self._on_tick = on_tick
        self._stop = stop
        self._all_sent: asyncio.Future[None] = loop.create_future()
        self._error: Exception | None = None
        self._ticker: asyncio.TimerHandle | None = None
        self._offsets = recorder.offsets_ns.data  # a list of the deadlines would take 40 bytes a request
        self._next = share.start
        self._cpu_ns = process_time_ns()
        self._timer = timer(loop, self._wake, self._mean_gap_ns())
        gap_ns = self._mean_gap_ns()
        dense = gap_ns < DENSE_GAP_NS
        self._near_ns = 0 if dense else int(min(NEAR_NS, NEAR_SHARE * gap_ns))
        self._rest_ns = REST_NS if dense else 0
        if not share:
            self._all_sent.set_result(None)
            return
        self._timer.arm(start_ns + self._offsets[share.start])
        if on_tick is not None or stop is not None:
            self._ticker = loop.call_later(TICK_S, self._tick)

    async def run(self, drain_timeout_s: float) -> None:
        """Until all is sent and its outcomes are known, or have been awaited for that long."""
        recorder = self._recorder
        try:
            await self._all_sent
            give_up_ns = perf_counter_ns() + int(drain_timeout_s * 1e9)
            while recorder.finished < recorder.sent and self._error is None:
                left_s = (give_up_ns - perf_counter_ns()) / 1e9
                if left_s <= 0:
                    break
                await asyncio.sleep(min(DRAIN_LOOK_S, left_s))
            if self._error is not None:
                raise self._error
        finally:
            self._timer.close()
            if self._ticker is not None:
                self._ticker.cancel()
            recorder.seal()
            recorder.use = self.use()

    def use(self) -> GeneratorUse:
        wall_ns = max(0, perf_counter_ns() - self._start_ns)
        return GeneratorUse((process_time_ns() - self._cpu_ns) / 1e9, wall_ns / 1e9, 1)

    def _mean_gap_ns(self) -> float:
        share, offsets = self._share, self._offsets
        return (offsets[share[-1]] - offsets[share[0]]) / (len(share) - 1) if len(share) > 1 else 1e9

    def _wake(self) -> None:
        try:
            self._send_due(perf_counter_ns())
        except Exception as exc:  # noqa: BLE001 - on its way to the one who awaits
            self._fail(exc)

    def _send_due(self, now: int) -> None:
        offsets, reached = self._offsets, now - self._start_ns
        index, end, step = self._next, self._share.stop, self._share.step
        if offsets[index] > reached:
            self._timer.again()
            return
        recorder, send, cap = self._recorder, self._send, self._cap
        # `now` is read once: what falls due meanwhile is left to the next wake-up, so that a generator that
        # is behind still reads its answers in between.
        while index < end and offsets[index] <= reached:
            if recorder.sent - recorder.finished >= cap:
                recorder.on_shed(index)
            else:
                recorder.on_send(index, now)
                send(index, partial(recorder.on_done, index))
            index += step
        self._next = index
        if index < end:
            due = self._start_ns + offsets[index]
            if due - perf_counter_ns() < self._near_ns:
                self._timer.again()
            else:
                self._timer.arm(max(due, now + self._rest_ns))
        else:
            self._sent_all()

    def _sent_all(self) -> None:
        self._timer.close()
        if not self._all_sent.done():  # cancelled, with its waiter not there yet to close this
            self._all_sent.set_result(None)

    def _tick(self) -> None:
        done = self._recorder
        elapsed_s = (perf_counter_ns() - self._start_ns) / 1e9
        progress = Progress(len(self._share), done.sent, done.shed, done.finished, done.failed, done.refused, elapsed_s)
        self._ticker = self._loop.call_later(TICK_S, self._tick)
        try:
            if self._on_tick is not None:
                self._on_tick(progress)
            if self._stop is not None and not self._all_sent.done() and self._stop(progress):
                done.on_ended_early(range(self._next, self._share.stop, self._share.step))
                self._sent_all()
        except Exception as exc:  # noqa: BLE001 - on its way to the one who awaits
            self._fail(exc)

    def _fail(self, exc: Exception) -> None:
        self._timer.close()
        if self._all_sent.done():
            self._error = exc
        else:
            self._all_sent.set_exception(exc)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Without Python's cycle collector: a full collection stops the process for tens of milliseconds."""
    enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()
