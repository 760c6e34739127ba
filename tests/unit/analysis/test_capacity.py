"""What a configuration serves at saturation, beside N·B/(c + Bm)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bench.analysis.calibration import Observed
from bench.analysis.capacity import (
    between_the_layers,
    capacities,
    capacity_verdict,
    throughput_of,
    throughput_speedup_verdicts,
    throughput_speedups,
)
from bench.analysis.law import LayerFit, fit_visits
from bench.analysis.tables import RAW_COLUMNS
from bench.scenario.spec import Server

C, M = 0.004, 0.002


def fit(c: float = C, m: float = M) -> LayerFit:
    sizes, blocks = np.tile([1.0, 4.0, 16.0], 3), np.repeat([0, 1, 2], 3)
    return fit_visits(
        Observed(sizes, (c + m * sizes) * np.array([0.999, 1.0, 1.001])[blocks], blocks, 0 * blocks), 0.05
    )


def visits(purpose: str, instances: int, size: int, rates: list[float], executed: float | None = None) -> pd.DataFrame:
    rows = [
        {
            "server": "s", "purpose": purpose, "batching": 1, "instances": instances, "batch_size": size,
            "block": block, "requests": rate * 2.0, "seconds": 2.0,
            "mean_batch_size": size if executed is None else executed, "compute_s": 0.03,
        }
        for block, rate in enumerate(rates)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(RAW_COLUMNS["saturation"]))


def test_throughput_has_the_t_interval_of_its_visits() -> None:
    found = throughput_of(visits("capacity", 1, 16, [440.0, 450.0]))
    assert found.value == 445.0
    assert found.hi - 445.0 == pytest.approx(12.706 * math.hypot(5, 5) / math.sqrt(2), rel=1e-3)
    assert throughput_of(visits("capacity", 1, 16, [440.0])).hi == math.inf


def test_the_capacity_is_compared_with_the_occupancy_of_as_many_instances() -> None:
    server = Server("s", "triton", instances=2, max_batch_size=16)
    table = visits("capacity", 2, 16, [860.0, 862.0, 858.0])
    rows = capacities("s", table, {"occupancy": fit(c=0.001), "occupancy_n2": fit(m=0.0021)})
    assert rows[0].predicted_per_s == pytest.approx(32 / (0.004 + 16 * 0.0021), rel=1e-6)
    verdict = capacity_verdict(server, rows, 0.05)
    assert verdict is not None
    assert (verdict.outcome, verdict.measured) == ("holds", pytest.approx(860.0))
    slower = capacity_verdict(server, capacities("s", table, {"occupancy_n2": fit(m=0.0025)}), 0.05)
    assert slower is not None
    assert slower.outcome == "fails"


def test_batches_that_are_not_full_explain_a_capacity_that_is_missed() -> None:
    server = Server("s", "torchserve", max_batch_size=16)
    rows = capacities("s", visits("capacity", 1, 16, [300.0, 301.0, 299.0], executed=11.0), {"occupancy": fit()})
    verdict = capacity_verdict(server, rows, 0.05)
    assert verdict is not None
    assert verdict.outcome == "fails"
    assert "its batches held 11.0 requests" in verdict.why


def test_without_an_occupancy_layer_the_capacity_stands_alone_and_without_visits_there_is_none() -> None:
    server = Server("s", "triton")
    alone = capacity_verdict(server, capacities("s", visits("capacity", 1, 16, [440.0, 441.0]), {}), 0.05)
    assert alone is not None
    assert alone.outcome == "not applicable"
    assert capacity_verdict(server, capacities("s", visits("occupancy", 1, 16, [440.0]), {}), 0.05) is None


def test_n_instances_are_compared_with_n_times_one_block_by_block() -> None:
    one, two = visits("occupancy", 1, 8, [400.0, 300.0, 350.0]), visits("occupancy", 2, 8, [720.0, 540.0, 630.0])
    rows = capacities("s", pd.concat([one, two]), {})
    (row,) = [row for row in rows if row.instances == 2]
    assert row.of_n_times_one == pytest.approx(0.9)
    assert row.of_n_times_one_hi == pytest.approx(0.9)  # the mood of a block is in both
    assert math.isnan(rows[0].of_n_times_one)


def samples(serial_s: float, times: dict[int, float]) -> pd.DataFrame:
    rows = [("occupancy_serial", 1, block, serial_s * mood) for block, mood in enumerate([1.0, 1.1, 0.95])]
    rows += [
        ("occupancy", size, block, time_s * mood)
        for size, time_s in times.items()
        for block, mood in enumerate([1.0, 1.1, 0.95])
    ]
    return pd.DataFrame(rows, columns=["layer", "batch_size", "block", "time_s"])


def test_speedup_by_throughput_is_that_of_batches_over_that_without_batching() -> None:
    rows = throughput_speedups("s", samples(0.006, {1: 0.006, 4: 0.012, 16: 0.036}), fit(), 0.05)
    assert [(row.batch_size, row.layer, row.holds) for row in rows] == [(4, "occupancy", True), (16, "occupancy", True)]
    assert rows[1].measured == pytest.approx(16 * 0.006 / 0.036)
    assert [v.outcome for v in throughput_speedup_verdicts(rows, 0.05)] == ["holds", "holds"]
    worse = throughput_speedups("s", samples(0.004, {1: 0.006, 16: 0.036}), fit(), 0.05)
    assert [v.outcome for v in throughput_speedup_verdicts(worse, 0.05)] == ["fails"]
    assert throughput_speedups("s", samples(0.006, {}).iloc[:0], fit(), 0.05) == []


def test_the_gaps_between_the_layers_are_told_in_words() -> None:
    fits = {"compute": fit(), "occupancy": fit(c=0.0043, m=0.0021), "path": fit(c=0.0055, m=0.0022)}
    words = between_the_layers(fits)
    assert "+0.30 ms a batch and +0.100 ms a request" in words
    assert "+1.50 ms a batch and +0.200 ms a request" in words
    assert between_the_layers({"compute": fit()}) == ""
    later = replace(fit(c=0.0055, m=0.0022), holds_from=4.0, knee_lo=3.5, knee_hi=4.5)
    assert between_the_layers(fits | {"path": later}).startswith("From B = 4 on an instance is busy for longer")
    assert between_the_layers(fits | {"path": replace(later, holds_from=None)}) == ""
