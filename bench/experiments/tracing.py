"""A rate once more, with the server noting when each request reached each of its stages.

Noting takes time, so it is done in a pass of its own, and the points that everything else is read from go without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from bench.analysis.load import Point
from bench.experiments import open_loop
from bench.experiments.subject import Subject
from bench.load.recorder import Recorder
from bench.scenario.arms import Arm
from bench.scenario.spec import Load
from bench.servers.server import Stages

MOST_TRACED = 5_000  # each is built with an id of its own before the pass, and the server writes 900 bytes for each


async def run_traced(subject: Subject, arm: Arm, load: Load, seed: int, rate_index: int) -> Point:
    """The arrivals and payloads of the rate's first replication, or the first 5,000 of them.

    The point's rows have the columns of samples/*.parquet with queue wait, compute and batch size filled from the
    server's notes, and two more: handover_s, and server_s, the request's whole time in the server. Raises NoTraces
    where the server cannot note anything, ServerError when it died.
    """
    rate, server = load.rates_per_s[rate_index], subject.server
    offsets_ns, rng = open_loop.planned(load, rate, (seed, rate_index, 1))
    payloads = rng.integers(len(subject.model.payloads), size=len(offsets_ns))[:MOST_TRACED]
    duration_s = load.duration_s
    if len(offsets_ns) > MOST_TRACED:
        duration_s = max(0.0, float(offsets_ns[MOST_TRACED]) * 1e-9 - load.warmup_s)
    recorder = Recorder(offsets_ns[:MOST_TRACED])
    pace = open_loop.Pace(rate, load.warmup_s, load.workers, load.timeout_s)
    with server.tracing():
        statistics = await open_loop.run_point(
            subject, arm, recorder, payloads, load.protocol, pace, f"{rate:g}/s, traced", named=True
        )
    rows, generator, offered = open_loop.measured(recorder)
    stages = server.traced(int((rows["status"] == 200).sum()))
    counted = open_loop.counted(statistics)
    return Point(server.spec.name, rate, 1, load.warmup_s, duration_s, join(rows, stages), counted, generator, offered)


def join(rows: pd.DataFrame, stages: Mapping[str, Stages]) -> pd.DataFrame:
    """The rows with what was noted of each by its id; NaN for those of which nothing was."""
    noted = [stages.get(open_loop.request_id(index)) for index in range(len(rows))]

    def column(name: str) -> np.ndarray:
        return np.array([math.nan if one is None else getattr(one, name) for one in noted], dtype=np.float64)

    return rows.assign(
        queue_wait_s=column("queue_wait_s"),
        compute_s=column("compute_s"),
        batch_size=pd.array(column("batch_size"), dtype="Int32"),
        handover_s=column("handover_s"),
        server_s=column("total_s"),
    )
