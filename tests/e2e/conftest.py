"""Real servers: every test here runs `serve-bench` as a user does, in a folder of its own."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from desk import Desk, Ended, server_processes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if sys.platform != "linux":
        skip = pytest.mark.skip(reason="the servers' wheels are for Linux only")
        for item in items:
            if "e2e" in item.path.parts:
                item.add_marker(skip)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A folder of its own; afterwards no server process, temporary file or shared memory of it is left."""
    regions = _regions()
    desk = Desk(tmp_path)
    yield desk
    left = server_processes(desk)
    assert not left, [process.cmdline()[:3] for process in left]
    assert list(desk.temporary.glob("serve-bench-*")) == []
    deadline = time.monotonic() + 5  # another test's Triton may be ending right now
    while (left_behind := {region for region in _regions() - regions if not _in_use(region)}) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.1)
    assert not left_behind
    shutil.rmtree(desk.temporary, ignore_errors=True)


def _regions() -> set[str]:
    return {path.name for path in Path("/dev/shm").glob("serve_bench_*")}


def _in_use(region: str) -> bool:
    """Whether another run's Triton, alive on this machine, has it."""
    prefix = "_".join(region.split("_")[:3])
    lines = (process.info["cmdline"] or () for process in psutil.process_iter(["cmdline"]))
    return any(prefix in part for line in lines for part in line)


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
