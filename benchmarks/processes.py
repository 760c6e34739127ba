"""Other processes: started, watched, and never left behind."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import numpy as np

from bench.errors import MeasurementInvalid
from benchmarks.arrival_log import read_arrivals, read_freeze
from benchmarks.cpu import Sample, tree_seconds
from benchmarks.machine import busy_seconds
from benchmarks.memory import resident_bytes

SAMPLE_S = 0.1
START_S = 20.0
END_S = 10.0


@contextmanager
def started(command: Sequence[str], output: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own, which is killed whole when the block is left, by Ctrl-C too."""
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file, stderr=file, start_new_session=True)
    try:
        yield process
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


class Receiver:
    """A receiver's process; `arrivals_ns` and `frozen_ns` (began, ended) are there when the block is left.

    module: the receiver's. Times are of `perf_counter_ns`.
    """

    def __init__(
        self, module: str, log: Path, freeze_after_s: float = 0.0, freeze_s: float = 0.0, *, poll: bool = False
    ) -> None:
        self._module, self._log = module, log
        self._options = [f"--freeze-after-s={freeze_after_s}", f"--freeze-s={freeze_s}", *(["--poll"] if poll else [])]
        self.arrivals_ns = np.zeros(0, dtype=np.int64)
        self.frozen_ns: tuple[int, int] | None = None

    def __enter__(self) -> Receiver:
        command = [sys.executable, "-m", self._module, str(self._log), *self._options]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        try:
            self.port = self._announced_port()
        except BaseException:
            _kill(self._process)
            raise
        self.pid = self._process.pid
        return self

    def _announced_port(self) -> int:
        assert self._process.stdout is not None  # noqa: S101 - asked for above
        ready, _, _ = select.select([self._process.stdout], [], [], START_S)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            raise MeasurementInvalid(f"receiver: expected its port within {START_S:g} s, got nothing; see above")
        return int(json.loads(line)["port"])

    def __exit__(self, kind: type[BaseException] | None, *_exc: object) -> None:
        try:
            if kind is None:
                self._process.terminate()
                self._process.wait(END_S)
                self.arrivals_ns, self.frozen_ns = read_arrivals(self._log), read_freeze(self._log)
        finally:
            _kill(self._process)


@dataclass(frozen=True, slots=True)
class Watched:
    """How a generator ended: its exit status (None: killed at the limit), and samples meanwhile."""

    status: int | None
    samples: list[Sample]


def watch(process: subprocess.Popen[bytes], receiver_pid: int, limit_s: float) -> Watched:
    """Wait for the process, at most `limit_s`; ten times a second note the CPU of both sides, and its memory."""
    samples: list[Sample] = []
    until = perf_counter_ns() + int(limit_s * 1e9)
    while perf_counter_ns() < until:
        try:
            return Watched(process.wait(SAMPLE_S), samples)
        except subprocess.TimeoutExpired:
            used = tree_seconds(process.pid), tree_seconds(receiver_pid), busy_seconds()
            samples.append(Sample(perf_counter_ns(), *used, resident_bytes(process.pid)))
    return Watched(None, samples)
