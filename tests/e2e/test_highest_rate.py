"""The highest rate within an objective, searched for on a real server."""

from __future__ import annotations

import pandas as pd
import pytest
from desk import Desk

SEARCH = """
name: search
model: {zoo: calibrated, c: 8ms, m: 4ms}
servers:
  triton: {kind: triton, max_batch_size: 8}
calibration: {batch_sizes: [1, 4, 8], precision: 10%, max_duration: 5s}
load: {rates: [], duration: 3s, warmup: 500ms, search: {resolution: 6%, replications: 2}}
slo: {percentile: 95, response_time: 80ms}
"""


@pytest.mark.together
def test_the_highest_rate_lies_below_the_capacity_and_between_what_meets_and_what_misses(desk: Desk) -> None:
    ended = desk.run("run", str(desk.write("scenario.yaml", SEARCH)))
    assert ended.code in (0, 1, 4), ended.out + ended.err  # 1, 4: a disturbed host
    assert "Highest rate within the objective" in ended.out
    run = desk.only_run("search")
    (found,) = pd.read_csv(run / "search.csv").to_dict("records")
    capacity = pd.read_csv(run / "capacity.csv").set_index("purpose").loc["capacity", "throughput_per_s"]
    assert found["found"]
    assert 0.4 * capacity < found["rate_per_s"] < 1.05 * capacity
    assert found["lo_per_s"] <= found["rate_per_s"] <= found["hi_per_s"]
    points = sorted((run / "samples" / "triton").glob("search-rate=*.parquet"))
    assert len(points) >= found["replications"] >= 4
    well_below = [path for path in points if float(path.name.split("=")[1].split("-")[0]) < 0.7 * found["rate_per_s"]]
    for path in well_below:
        rows = pd.read_parquet(path)
        assert (rows["completed_s"] - rows["scheduled_s"]).quantile(0.95) < 0.080
