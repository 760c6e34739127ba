"""One worker process: its share of the common schedule, replayed from the common start."""

from __future__ import annotations

import asyncio
import os
import pickle
import traceback
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import uvloop

from bench.load.dispatch import Dispatch, Progress, SendFn, collector_paused
from bench.load.recorder import Recorder

MakeSender = Callable[[range], AbstractAsyncContextManager[SendFn]]
"""(indices of the requests that this worker sends) -> what sends them, open while the load runs. Picklable, and
called in the worker; the SendFn is given the request's index in the whole schedule."""

# What a worker tells over its pipe: (kind, what). It is told one thing, the start.
READY, NEW_CAUSE, DONE, FAILED = range(4)

# The board: one number for all (end early), then these of each worker.
BOARD_OF_ALL = 1
SENT, SHED, FINISHED, FAILED_SO_FAR, REFUSED, CPU_NS, WALL_NS = range(7)
BOARD_OF_EACH = 7


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is to do. memory: the recorder's; board: see BOARD_OF_ALL."""

    number: int
    share: range
    scheduled: int
    make_sender: MakeSender
    in_flight_cap: int
    drain_timeout_s: float
    memory: Any
    board: Any


def work(task: Task, pipe: Connection) -> None:
    """The whole life of a worker process. It does not outlive the one that started it."""
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_replay_share(task, pipe))
        pipe.send((DONE, None))
    except Exception as exc:  # noqa: BLE001 - raised again where the load was asked for
        pipe.send((FAILED, _portable(exc)))


async def _replay_share(task: Task, pipe: Connection) -> None:
    loop = asyncio.get_running_loop()
    start: asyncio.Future[int] = loop.create_future()

    def hear() -> None:
        try:
            start.set_result(pipe.recv())
        except (EOFError, OSError):  # its other end is gone: nobody is left who would end the load
            os._exit(1)

    def publish(_progress: Progress | None = None) -> None:
        use = dispatch.use()
        at = BOARD_OF_ALL + task.number * BOARD_OF_EACH
        task.board[at : at + BOARD_OF_EACH] = [
            recorder.sent, recorder.shed, recorder.finished, recorder.failed, recorder.refused,
            int(use.cpu_s * 1e9), int(use.wall_s * 1e9),
        ]  # fmt: skip

    recorder = Recorder.attached(task.memory, task.scheduled, lambda cause: pipe.send((NEW_CAUSE, cause)))
    loop.add_reader(pipe.fileno(), hear)
    async with task.make_sender(task.share) as send:
        with collector_paused():
            pipe.send((READY, None))
            dispatch = Dispatch(
                recorder, task.share, send, task.in_flight_cap, await start, publish, lambda _: bool(task.board[0])
            )
            try:
                await dispatch.run(task.drain_timeout_s)
            finally:
                publish()


def _portable(exc: Exception) -> Exception:
    """The exception itself where it can be sent, with the worker's traceback as a note."""
    exc.add_note("In the load worker:\n" + "".join(traceback.format_exception(exc)))
    try:
        pickle.loads(pickle.dumps(exc))  # noqa: S301 - its own bytes
    except Exception:  # noqa: BLE001 - whatever a foreign class raises
        return RuntimeError(f"{type(exc).__name__}: {exc}")
    return exc
