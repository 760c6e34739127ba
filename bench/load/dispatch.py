"""Replay a schedule against the clock: each request at its own absolute deadline, whatever the others do."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter_ns

import numpy as np

from bench.load.recorder import Recorder
from bench.load.records import Records
from bench.load.timer import Timer, open_timer

START_AHEAD_NS = 50_000_000
TICK_S = 0.2

DoneFn = Callable[[int, int, int, int, int, str], None]
"""(status, sent_ns, completed_ns, batch_size, compute_ns, cause): as in Records, on `perf_counter_ns`."""

SendFn = Callable[[int, DoneFn], None]
"""Sends request `index` without blocking; its DoneFn is called once, when the outcome is known."""

TimerFactory = Callable[[asyncio.AbstractEventLoop, Callable[[], None], float], Timer]


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts so far; `finished` are outcomes of any kind, `failed` those among them that are not ok."""

    scheduled: int
    sent: int
    shed: int
    finished: int
    failed: int
    elapsed_s: float


async def replay(
    offsets_ns: np.ndarray,
    send: SendFn,
    *,
    drain_timeout_s: float,
    in_flight_cap: int = 10_000,
    on_tick: Callable[[Progress], None] | None = None,
    recorder: Recorder | None = None,
    timer: TimerFactory = open_timer,
) -> Records:
    """Call `send(i, done)` at start + `offsets_ns[i]` (int64, sorted) for every i; record what `done` tells.

    A request is never sent before its deadline; all that are due at a wake-up are sent in it. With
    `in_flight_cap` requests in flight a due one is shed. After the last, outcomes are awaited for
    `drain_timeout_s`. `on_tick` is called five times a second. Cancelled, it leaves the rows so far in
    `recorder`, which holds one run. Python's cycle collector stands still meanwhile. An exception of `send`
    or `on_tick` ends the run and is raised.
    """
    recorder = Recorder(offsets_ns) if recorder is None else recorder
    if recorder.start_ns or len(recorder.offsets_ns) != len(offsets_ns):
        raise ValueError("recorder: expected one made for these offsets and not used yet")
    with _collector_paused():
        dispatch = _Dispatch(recorder, send, in_flight_cap, on_tick, timer)
        try:
            await dispatch.all_sent
            if recorder.finished < recorder.sent:
                await asyncio.wait([dispatch.drained], timeout=drain_timeout_s)
            if dispatch.drained.done():
                dispatch.drained.result()
        finally:
            dispatch.close()
    return recorder.records()


class _Dispatch:
    def __init__(
        self,
        recorder: Recorder,
        send: SendFn,
        cap: int,
        on_tick: Callable[[Progress], None] | None,
        timer: TimerFactory,
    ) -> None:
        loop = asyncio.get_running_loop()
        offsets = recorder.offsets_ns
        self.all_sent: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._recorder = recorder
        self._send = send
        self._cap = cap
        self._on_tick = on_tick
        self._ticker: asyncio.TimerHandle | None = None
        self._next = 0
        self._timer = timer(loop, self._wake, float(np.diff(offsets).mean()) if len(offsets) > 1 else 1e9)
        recorder.start_ns = perf_counter_ns() + START_AHEAD_NS
        self._due: list[int] = (offsets + recorder.start_ns).tolist()
        if not self._due:
            self.all_sent.set_result(None)
            return
        self._timer.arm(self._due[0])
        if on_tick is not None:
            self._ticker = loop.call_later(TICK_S, self._tick)

    def _wake(self) -> None:
        try:
            self._send_due(perf_counter_ns())
        except Exception as exc:  # noqa: BLE001 - on its way to the one who awaits
            self._fail(exc)

    def _send_due(self, now: int) -> None:
        due, recorder = self._due, self._recorder
        index, n = self._next, len(due)
        if due[index] > now:
            self._timer.again()
            return
        # `now` is read once: what falls due meanwhile is left to the next wake-up, so that a generator that
        # is behind still reads its answers in between.
        while index < n and due[index] <= now:
            if recorder.sent - recorder.finished >= self._cap:
                recorder.on_shed(index)
            else:
                recorder.on_send(index, now)
                self._send(index, partial(self._done, index))
            index += 1
        self._next = index
        if index < n:
            self._timer.arm(due[index])
        else:
            self._timer.close()
            if not self.all_sent.done():  # cancelled, with its waiter not there yet to close this
                self.all_sent.set_result(None)

    def _done(
        self,
        index: int,
        status: int,
        sent_ns: int,
        completed_ns: int,
        batch_size: int,
        compute_ns: int,
        cause: str,
    ) -> None:
        recorder = self._recorder
        recorder.on_done(index, status, sent_ns, completed_ns, batch_size, compute_ns, cause)
        if recorder.finished == recorder.sent and self.all_sent.done() and not self.drained.done():
            self.drained.set_result(None)

    def _tick(self) -> None:
        done = self._recorder
        elapsed_s = (perf_counter_ns() - done.start_ns) / 1e9
        self._ticker = self._loop.call_later(TICK_S, self._tick)
        try:
            if self._on_tick is not None:
                self._on_tick(Progress(len(self._due), done.sent, done.shed, done.finished, done.failed, elapsed_s))
        except Exception as exc:  # noqa: BLE001 - on its way to the one who awaits
            self._fail(exc)

    def _fail(self, exc: Exception) -> None:
        self._timer.close()
        for waiting in (self.all_sent, self.drained):
            if not waiting.done():
                waiting.set_exception(exc)
                return

    def close(self) -> None:
        self._timer.close()
        if self._ticker is not None:
            self._ticker.cancel()
        self._recorder.seal()


@contextmanager
def _collector_paused() -> Iterator[None]:
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
