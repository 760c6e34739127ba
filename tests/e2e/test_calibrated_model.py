"""The calibrated model keeps its own time, in the servers' own Python."""

from __future__ import annotations

import json
import subprocess

import pytest
from desk import Desk

from bench.models.prepare import ZOO
from bench.servers.runtime import cache_folder, ensure_runtime

TIMES = """
import sys, time, json
import numpy as np
sys.path.insert(0, sys.argv[1])
import calibrated
predict = calibrated.load(sys.argv[2])
times = {}
for B in (1, 4, 16):
    taken = []
    for _ in range(30):
        began = time.perf_counter()
        predict(np.ones((B, 64), dtype=np.float32))
        taken.append(time.perf_counter() - began)
    times[B] = min(taken)  # noise of the host can only add to it
print(json.dumps(times))
"""


def test_a_batch_takes_c_plus_bm_within_one_percent(desk: Desk) -> None:
    runtime = ensure_runtime(cache_folder(), lambda _text, _fraction: None)
    desk.write("settings.json", '{"threads": 1, "c_s": 0.004, "m_s": 0.002}')
    command = [str(runtime.python), "-c", TIMES, str(ZOO), str(desk.folder)]
    times = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert times == {
        "1": pytest.approx(0.006, rel=0.01),
        "4": pytest.approx(0.012, rel=0.01),
        "16": pytest.approx(0.036, rel=0.01),
    }
