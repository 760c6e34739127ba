"""What a run of two servers would have measured, had it taken place."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from bench.analysis.load import Counted, Point
from bench.analysis.run import Answers, RawRun
from bench.scenario.spec import Calibrated, Calibration, Load, Objective, Scenario, Server

COLUMNS = ["server", "layer", "batch_size", "repeat", "time_s", "block"]
TIMES = {1: 0.009, 2: 0.012, 5: 0.021, 10: 0.036}  # c = 6 ms, m = 3 ms
EXPECTED = np.ones((4, 2), dtype=np.float32)


def scenario(servers: tuple[str, ...] = ("triton", "torchserve"), objective: Objective | None = None) -> Scenario:
    return Scenario(
        "by-hand",
        Calibrated(0.006, 0.003),
        tuple(Server(name, "triton") for name in servers),
        Calibration(tuple(TIMES)),
        Load(rates_per_s=(50.0, 100.0), replications=2),
        objective,
    )


def calibration(server: str, serial_s: float = 0.009) -> pd.DataFrame:
    wanted = [("compute", size, seconds) for size, seconds in TIMES.items()]
    wanted += [("path", size, seconds + 0.001) for size, seconds in TIMES.items()]
    wanted += [("compute_serial", 1, serial_s)]
    rows = [
        (server, layer, size, 1, seconds * (1 + 0.001 * (-1) ** block), block)
        for block in range(12)
        for layer, size, seconds in wanted
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def point(server: str, rate_per_s: float, replication: int, *, status: int = 200, response_s: float = 0.02) -> Point:
    due = np.arange(round(12 * rate_per_s)) / rate_per_s
    n = len(due)
    frame = pd.DataFrame(
        {
            "scheduled_s": due,
            "sent_s": due,
            "completed_s": due + response_s,
            "status": np.full(n, status),
            "batch_size": pd.array([pd.NA] * n, dtype="Int32"),
            "queue_wait_s": pd.array([pd.NA] * n, dtype="Float64"),
            "compute_s": np.full(n, math.nan),
            "cause": np.full(n, "" if status == 200 else f"HTTP {status}"),
        }
    )
    counted = Counted(n, 0.005 * n, 0.010 * n, n // 2) if status == 200 else None
    return Point(server, rate_per_s, replication, 2.0, 10.0, frame, counted)


def whole(objective: Objective | None = None, serial_s: float = 0.009) -> RawRun:
    made = scenario(objective=objective)
    names = [server.name for server in made.servers]
    points = tuple(point(s, rate, r) for s in names for rate in made.load.rates_per_s for r in (1, 2))
    samples = pd.concat([calibration(name, serial_s) for name in names])
    return RawRun(made, samples, points, Answers(dict.fromkeys(names, EXPECTED), EXPECTED, None))


def nothing() -> RawRun:
    return RawRun(scenario(), pd.DataFrame(columns=COLUMNS), (), None)
