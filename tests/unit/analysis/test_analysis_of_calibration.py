from __future__ import annotations

import math

import pandas as pd
import pytest
from raw_by_hand import calibration, repeated

from bench.analysis.calibration import observed, precise_enough, typical_times, visits


def test_a_visit_is_the_median_of_its_repeats_and_a_spike_does_not_move_it() -> None:
    samples = pd.DataFrame(
        {
            "server": "triton",
            "layer": "compute",
            "batch_size": [1, 1, 1, 2, 2, 2, 1, 1, 1],
            "repeat": [1, 2, 3] * 3,
            "time_s": [0.001, 0.002, 0.900, 0.004, 0.005, 0.006, 0.003, 0.003, 0.003],
            "block": [0, 0, 0, 0, 0, 0, 1, 1, 1],
        }
    )
    table = visits(samples, "compute")
    assert list(table.columns) == [1, 2]
    assert table.loc[0].tolist() == [0.002, 0.005]
    assert table.loc[1, 1] == 0.003
    assert math.isnan(table.loc[1, 2])
    assert visits(samples, "path").empty


def test_nine_blocks_are_never_precise_enough_and_ten_alike_are() -> None:
    assert not precise_enough(calibration(blocks=9, noise=0.0), 0.01)
    assert precise_enough(calibration(blocks=10, noise=0.0), 0.01)


def test_blocks_that_scatter_by_a_fifth_are_not_precise_enough() -> None:
    samples = calibration(blocks=12, noise=0.2)
    assert not precise_enough(samples, 0.02)
    assert precise_enough(samples, 0.5)


def test_nothing_measured_is_not_precise_enough() -> None:
    assert not precise_enough(pd.DataFrame(), 0.5)
    assert not precise_enough(calibration().iloc[:0], 0.5)
    assert not precise_enough(calibration(layer="path"), 0.5)


def test_each_visit_of_a_block_is_an_observation_of_its_own_and_one_figure_of_its_block() -> None:
    columns = ["layer", "batch_size", "block", "visit", "repeat", "time_s"]
    rows = [("compute", 1, 0, visit, repeat, time_s) for visit, repeat, time_s in (
        (0, 1, 0.010), (0, 2, 0.011), (0, 3, 0.900), (1, 1, 0.012), (2, 1, 0.013), (2, 2, 0.013),
    )]  # fmt: skip
    samples = pd.DataFrame([*rows, ("compute", 16, 0, 0, 1, 0.040)], columns=columns)
    seen = observed(samples, "compute")
    assert sorted(zip(seen.sizes, seen.times_s, strict=True)) == [(1, 0.011), (1, 0.012), (1, 0.013), (16, 0.040)]
    assert seen.blocks.tolist() == [0, 0, 0, 0]
    assert visits(samples, "compute").loc[0].to_dict() == {1: 0.012, 16: 0.040}


def test_visits_from_a_batch_size_on_and_to_one_of_them() -> None:
    seen = observed(calibration(blocks=2), "compute")
    assert set(seen.since(5).sizes) == {5, 10}
    assert len(seen.since(5).blocks) == 4
    assert seen.at(2) == pytest.approx([0.012012, 0.011988])


def test_the_table_of_typical_times_is_by_batch_size() -> None:
    assert typical_times(calibration(), "compute") == pytest.approx({1: 0.009, 2: 0.012, 5: 0.021, 10: 0.036}, rel=2e-3)
    assert typical_times(calibration(), "path") == {}


def test_visits_to_the_ends_make_c_and_m_more_precise() -> None:
    once, thrice = (repeated(lambda B: 0.004 + 0.002 * B, ends=ends, sd=0.02) for ends in (1, 3))
    assert not precise_enough(once, 0.011)
    assert precise_enough(thrice, 0.011)


def test_beyond_a_knee_c_and_m_have_to_be_as_precise() -> None:
    # All visits together tell some line to 1.2 %, those from B = 4 on theirs to 4 %.
    knee = repeated(lambda B: max(0.009, 0.005 + 0.001 * B), sd=0.02)
    assert not precise_enough(knee, 0.02)
    assert precise_enough(knee, 0.10)
