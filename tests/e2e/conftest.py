"""Real servers: every test here runs `serve-bench` as a user does, in a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

MARKS = ("tritonserver", "triton_python_backend_stub", "org.pytorch.serve.ModelServer", "ts.model_server")

CALIBRATED = """
name: calibrated
model: {zoo: calibrated, c: 4ms, m: 2ms}
servers:
  triton:     {kind: triton}
  torchserve: {kind: torchserve}
calibration: {precision: 1%, max_duration: 20s}
load: {rates: [60], duration: 4s, warmup: 500ms, replications: 1}
checks: {speedup_tolerance: 3%}
"""

DIGITS = """
name: digits
model: {zoo: digits-cnn}
servers:
  triton:     {kind: triton}
  torchserve: {kind: torchserve}
calibration: {batch_sizes: [1, 4, 16], precision: 20%, max_duration: 5s}
load: {rates: []}
checks: {speedup_tolerance: 50%, affine_tolerance: 50%, ceiling_tolerance: 100%}
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if sys.platform != "linux":
        skip = pytest.mark.skip(reason="the servers' wheels are for Linux only")
        for item in items:
            if "e2e" in item.path.parts:
                item.add_marker(skip)


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, what it printed, and how long it took."""

    code: int
    out: str
    err: str
    seconds: float


@dataclass(frozen=True)
class Desk:
    """A folder to run `serve-bench` in."""

    folder: Path

    def write(self, name: str, text: str) -> Path:
        (self.folder / name).write_text(text)
        return self.folder / name

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "bench", *arguments],
            cwd=self.folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **environment: str) -> Ended:
        began = time.monotonic()
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=280)
        return Ended(process.returncode, out, err, time.monotonic() - began)

    def only_run(self, name: str) -> Path:
        (folder,) = (self.folder / "results" / name).iterdir()
        return folder


def server_processes() -> list[psutil.Process]:
    """Every server process of this machine."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(mark in part for part in process.info["cmdline"] or () for mark in MARKS)
    ]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """No server process, temporary folder or shared memory that was not there before."""
    before = {process.pid for process in server_processes()}
    files = _left_files()
    yield
    left = [process for process in server_processes() if process.pid not in before]
    assert not left, [process.cmdline()[:3] for process in left]
    assert _left_files() <= files


def _left_files() -> set[Path]:
    return {*Path("/tmp").glob("serve-bench-t*"), *Path("/dev/shm").glob("serve_bench_*")}


@pytest.fixture
def interrupt_after() -> Callable[[subprocess.Popen[str], str, signal.Signals], Ended]:
    """Sends a signal once the program's standard error mentions a step, and waits for its end."""

    def act(process: subprocess.Popen[str], step: str, which: signal.Signals) -> Ended:
        assert process.stderr is not None
        seen = ""
        for line in process.stderr:
            seen += line
            if step in line:
                break
        time.sleep(1.5)  # into the step, past its first sample
        began = time.monotonic()
        process.send_signal(which)
        out, err = process.communicate(timeout=60)
        return Ended(process.returncode, out, seen + err, time.monotonic() - began)

    return act
