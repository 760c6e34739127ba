"""Workers of a program that is interrupted or killed, from outside it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

PROGRAM = """
import asyncio, sys
from contextlib import asynccontextmanager
from time import perf_counter_ns
import numpy as np
from bench.load.recorder import Recorder
from bench.load.workers import replay_in_workers

@asynccontextmanager
async def answering(share):
    yield lambda index, done: done(200, perf_counter_ns(), perf_counter_ns(), 1, -1, "")

def tick(progress):
    print(progress.sent, flush=True)

if __name__ == "__main__":
    recorder = Recorder(np.arange(0, 60_000_000_000, 1_000_000))
    try:
        asyncio.run(replay_in_workers(
            recorder.offsets_ns, answering, 2, drain_timeout_s=1, on_tick=tick, recorder=recorder,
        ))
    except KeyboardInterrupt:
        found = recorder.records().accounting()
        print("kept", found.ok, found.scheduled == found.sent + found.never_sent, flush=True)
"""


@pytest.fixture
def running(tmp_path: Path) -> subprocess.Popen[str]:
    """A program in a group of its own, with its load under way."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")
    program = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert program.stdout is not None
    with program:
        assert any(int(line) > 20 for line in program.stdout)
        yield program
        program.kill()


def workers_of(program: subprocess.Popen[str]) -> list[psutil.Process]:
    return [child for child in psutil.Process(program.pid).children() if "spawn_main" in " ".join(child.cmdline())]


def test_ctrl_c_reaches_the_whole_group_and_only_the_parent_acts_on_it(running: subprocess.Popen[str]) -> None:
    workers = workers_of(running)
    assert len(workers) == 2
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert out.splitlines()[-1].startswith("kept ")
    _, ok, closes = out.splitlines()[-1].split()
    assert int(ok) > 20
    assert closes == "True"
    assert err == ""
    assert not psutil.wait_procs(workers, timeout=10)[1]


def test_workers_do_not_outlive_a_parent_that_is_killed(running: subprocess.Popen[str]) -> None:
    workers = workers_of(running)
    assert len(workers) == 2
    running.kill()
    assert not psutil.wait_procs(workers, timeout=10)[1]
