"""Real servers: every test here runs `serve-bench` as a user does, in a folder of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from desk import Desk, Ended, server_processes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if sys.platform != "linux":
        skip = pytest.mark.skip(reason="the servers' wheels are for Linux only")
        for item in items:
            if "e2e" in item.path.parts:
                item.add_marker(skip)


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
