"""How much memory a run takes for each request, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, re, sys
from pathlib import Path
from time import perf_counter_ns
import numpy as np
from bench.load.dispatch import replay

def send(index, done):
    done(200, perf_counter_ns(), perf_counter_ns(), 1, -1, "")

def kb(what):
    return int(re.search(what + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1))

def run(requests):
    return asyncio.run(replay(np.arange(requests), send, drain_timeout_s=1))

run(1000)
before = kb("VmRSS")
requests = int(sys.argv[1])
records = run(requests)
assert records.accounting().ok == requests
print((kb("VmHWM") - before) * 1024 / requests)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_schedule_rows_and_records_together_take_at_most_64_bytes_a_request() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, "600000"], capture_output=True, text=True, check=True)
    assert 48 <= float(done.stdout) <= 64  # 48 of the store, 8 of the schedule that the caller made
