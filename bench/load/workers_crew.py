"""The worker processes of one run, as the process that started them sees them."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.sharedctypes import RawArray
from time import perf_counter_ns

import numpy as np

from bench.errors import MeasurementInvalid
from bench.load.dispatch import TICK_S, Progress
from bench.load.recorder import Recorder
from bench.load.records import GeneratorUse, Records
from bench.load.workers_share import (
    BOARD_OF_ALL,
    BOARD_OF_EACH,
    CPU_NS,
    DONE,
    FAILED,
    NEW_CAUSE,
    READY,
    WALL_NS,
    MakeSender,
    Task,
    work,
)

START_AHEAD_NS = 100_000_000
END_S = 5.0


class WorkerDied(MeasurementInvalid):
    """A load worker ended before its share was sent. exit_status: minus the signal's number when one ended it."""

    def __init__(self, number: int, workers: int, exit_status: int | None, recorder: Recorder) -> None:
        how = f"exit status {exit_status}"
        if exit_status is not None and exit_status < 0:
            how = f"signal {-exit_status} ({signal.strsignal(-exit_status)})"
        super().__init__(
            f"load worker {number + 1} of {workers}: expected to send its share of the schedule, found it ended by "
            f"{how} before that. The rows so far are kept; run it again, or with another number of workers"
        )
        self.exit_status = exit_status
        self._recorder = recorder

    def records(self) -> Records:
        """The rows so far."""
        return self._recorder.records()


class Worker:
    """One process as its parent sees it."""

    def __init__(self, task: Task, change: Callable[[], None]) -> None:
        context = multiprocessing.get_context("spawn")
        self.task = task
        self.causes: list[str] = []
        self.ready = self.done = self.gone = False
        self.error: Exception | None = None
        self._change = change
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(task, theirs), name="serve-bench load", daemon=True)
        with theirs, _interrupts_kept_from_children():
            self.process.start()
        asyncio.get_running_loop().add_reader(self.pipe.fileno(), self.hear)

    def hear(self) -> None:
        """Take one thing that it tells; the end of its pipe is its end."""
        try:
            kind, what = self.pipe.recv()
        except (EOFError, OSError):
            asyncio.get_running_loop().remove_reader(self.pipe.fileno())
            self.gone = True
        else:
            if kind == NEW_CAUSE:
                self.causes.append(what)
                return
            self.ready |= kind == READY
            self.done |= kind == DONE
            if kind == FAILED:
                self.error = what
        self._change()

    def close(self) -> None:
        """Wait for its end, for a while, and take what it told until then."""
        self.process.join(END_S)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        while not self.gone and self.pipe.poll():
            self.hear()
        asyncio.get_running_loop().remove_reader(self.pipe.fileno())
        self.pipe.close()
        self.process.close()


class Crew:
    """All workers of one run."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._changed = asyncio.Event()
        self._workers: list[Worker] = []

    def hire(self, make_sender: MakeSender, workers: int, cap: int, drain_timeout_s: float) -> None:
        recorder, n = self._recorder, len(self._recorder.offsets_ns)
        self._board = RawArray("q", BOARD_OF_ALL + workers * BOARD_OF_EACH)
        resource_tracker.ensure_running()  # started later, it would let interrupts through to the workers
        for k in range(workers):
            share_of_cap = cap // workers + (k < cap % workers)
            share = range(k, n, workers)
            task = Task(k, share, n, make_sender, share_of_cap, drain_timeout_s, recorder.memory, self._board)
            self._workers.append(Worker(task, self._changed.set))

    async def until_ready(self) -> None:
        while not all(worker.ready for worker in self._workers):
            await self.news(TICK_S)

    def start_load(self) -> None:
        self._recorder.start_ns = perf_counter_ns() + START_AHEAD_NS
        for worker in self._workers:
            with suppress(OSError):  # one that died meanwhile is heard of next
                worker.pipe.send(self._recorder.start_ns)

    async def news(self, timeout_s: float) -> None:
        """Wait for a change, or that long; raises what a worker raised, or WorkerDied."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        self._changed.clear()
        for worker in self._workers:
            if worker.error is not None:
                raise worker.error
            if worker.gone and not worker.done:
                worker.process.join(END_S)
                status = worker.process.exitcode
                raise WorkerDied(worker.task.number, len(self._workers), status, self._recorder)

    def done(self) -> bool:
        return all(worker.done for worker in self._workers)

    def end_early(self) -> None:
        self._board[0] = 1

    def progress(self) -> Progress:
        start_ns = self._recorder.start_ns
        sent, shed, finished, failed, refused, _cpu_ns, _wall_ns = self._counts().sum(axis=0).tolist()
        elapsed_s = (perf_counter_ns() - start_ns) / 1e9
        return Progress(len(self._recorder.offsets_ns), sent, shed, finished, failed, refused, elapsed_s)

    def end(self) -> None:
        """End those that have not ended, and make the rows that all wrote the recorder's own."""
        for worker in self._workers:
            if not worker.done:
                worker.process.terminate()
        for worker in self._workers:
            worker.close()
        recorder = self._recorder
        for worker in self._workers:
            recorder.adopt(worker.task.share, worker.causes)
        recorder.recount()
        if recorder.start_ns:
            counts = self._counts()
            cpu_s, wall_s = counts[:, CPU_NS].sum() / 1e9, counts[:, WALL_NS].max() / 1e9
            recorder.use = GeneratorUse(float(cpu_s), float(wall_s), len(self._workers))

    def _counts(self) -> np.ndarray:
        counts: np.ndarray = np.frombuffer(self._board, dtype=np.int64)[BOARD_OF_ALL:].reshape(-1, BOARD_OF_EACH)
        return counts


@contextmanager
def _interrupts_kept_from_children() -> Iterator[None]:
    """Ctrl-C goes to the whole group of processes, but only the parent is to act on it: it ends the workers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
