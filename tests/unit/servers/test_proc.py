"""What the kernel tells of processes that this test starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bench.servers.proc import anonymous_bytes, ended_by, forget_peak, peak_resident_bytes, was_killed

MB = 1_000_000
# Takes 100 MB, gives it back, and takes 20 MB when it is told to go on.
TAKER = """
import sys
taken = bytearray(100_000_000); del taken
print("gave it back", flush=True); sys.stdin.readline()
taken = bytearray(20_000_000)
print("took a little", flush=True); sys.stdin.readline()
"""


@pytest.fixture
def taker() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", TAKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.communicate("\n\n")


def test_a_peak_stays_until_it_is_forgotten_and_then_begins_anew(taker: subprocess.Popen[str]) -> None:
    assert taker.stdin is not None
    assert taker.stdout is not None
    before = peak_resident_bytes(taker.pid)
    assert before > 100 * MB
    assert anonymous_bytes(taker.pid) < 50 * MB
    assert forget_peak(taker.pid)
    low = peak_resident_bytes(taker.pid)
    assert low < before - 80 * MB
    taker.stdin.write("\n")
    taker.stdin.flush()
    taker.stdout.readline()
    assert low + 15 * MB < peak_resident_bytes(taker.pid) < before - 60 * MB


def ended(code: str) -> tuple[int, bool]:
    """How the kernel tells of a process that nobody has asked after: its signal, and whether that was SIGKILL."""
    process = subprocess.Popen([sys.executable, "-c", f"import os; {code}"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # until it has ended, and leaves it a zombie
    told = ended_by(process.pid), was_killed(process.pid)
    process.wait()
    return told


def test_a_killed_process_is_told_from_one_that_ended_or_crashed() -> None:
    assert ended("os.kill(os.getpid(), 9)") == (signal.SIGKILL, True)
    assert ended("os.kill(os.getpid(), 15)") == (signal.SIGTERM, False)
    assert ended("os._exit(9)") == (0, False)


def test_a_process_that_lives_or_is_gone_ended_by_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    for pid in (os.getpid(), process.pid):
        assert ended_by(pid) == 0
    assert peak_resident_bytes(process.pid) == anonymous_bytes(process.pid) == 0
    assert not forget_peak(process.pid)
