"""A run's raw records as a runner would hand them over, made up."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bench.analysis.load import Counted, Point
from bench.measure.rows import point_rows
from bench.scenario.spec import Calibrated, Calibration, Load, Objective, Scenario, Server
from bench.scenario.stored import to_json
from bench.store.run_folder import RunFolder

EXPECTED = np.array([[1.5], [2.5], [3.5]], dtype=np.float32)
TIMES = {1: 0.009, 2: 0.012, 5: 0.021, 10: 0.036}  # c = 6 ms, m = 3 ms


def scenario(*servers: str) -> Scenario:
    names = servers or ("triton", "torchserve")
    return Scenario(
        "by-hand",
        Calibrated(0.006, 0.003),
        tuple(Server(name, "torchserve" if name == "torchserve" else "triton") for name in names),
        Calibration((1, 2, 5, 10)),
        Load(rates_per_s=(100.0,), duration_s=4.0, warmup_s=1.0, replications=2),
        Objective(99.0, 0.060),
    )


def manifest(made: Scenario) -> dict[str, object]:
    return {"scenario": to_json(made), "status": "running", "unproven_batches": {}}


def samples(blocks: int = 12) -> list[dict[str, object]]:
    wanted = [("compute", size, seconds) for size, seconds in TIMES.items()] + [("compute_serial", 1, 0.009)]
    return [
        {"layer": layer, "batch_size": size, "repeat": repeat, "time_s": seconds * (1 + 0.001 * (-1) ** b), "block": b}
        for b in range(blocks)
        for layer, size, seconds in wanted
        for repeat in (1, 2)
    ]


def point(
    server: str = "triton", rate_per_s: float = 100.0, replication: int = 1, counted: Counted | None = None
) -> Point:
    """500 requests in 5 s, answered after 20 ms in batches of 2 of 12 ms each; the last one failed."""
    n = 500
    due = np.arange(n, dtype=np.int64) * 10_000_000
    status, size, compute, cause = np.full(n, 200), np.full(n, 2), np.full(n, 12_000_000), np.full(n, "", dtype="<U9")
    status[-1], size[-1], compute[-1], cause[-1] = 0, 0, -1, "timeout"
    completed = due + 20_000_000
    completed[-1] = -1
    rows = point_rows(
        {"scheduled": due, "sent": due, "completed": completed},
        status.astype(np.int16),
        size.astype(np.int32),
        compute.astype(np.int64),
        cause,
    )
    return Point(server, rate_per_s, replication, 1.0, 4.0, rows, counted)


def whole_run(folder: RunFolder, made: Scenario) -> None:
    """Everything that a runner writes before its tables."""
    folder.write_manifest(manifest(made))
    for server in made.servers:
        folder.write_answers(server.name, EXPECTED, EXPECTED, None)
        folder.append_calibration(server.name, samples())
        for replication in (1, 2):
            folder.write_point(point(server.name, replication=replication, counted=Counted(500, 2.5, 6.0, 250)))


def columns(frame: pd.DataFrame) -> str:
    return ", ".join(frame.columns)
