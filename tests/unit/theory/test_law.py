"""Figures are the worked numbers of the two lessons, or worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.theory.law import (
    CostModel,
    capacity_per_s,
    delay_to_fill_s,
    expected_arrivals,
    plain_sentence,
    smallest_stable_batch,
)

no_flakes = settings(deadline=None, derandomize=True)
seconds = st.floats(min_value=1e-6, max_value=10)
models = st.builds(CostModel, c_s=seconds, m_s=seconds)


@pytest.mark.parametrize(
    ("c_s", "m_s", "B", "serial_s", "batch_s", "speedup", "ceiling"),
    [
        (0.006, 0.003, 10, 0.090, 0.036, 2.5, 3.0),
        (0.009, 0.001, 8, 0.080, 0.017, 4.70588, 10.0),
        (0.001, 0.040, 8, 0.328, 0.321, 1.021807, 1.025),
    ],
)
def test_the_lessons_speedups_come_out(
    c_s: float, m_s: float, B: int, serial_s: float, batch_s: float, speedup: float, ceiling: float
) -> None:
    model = CostModel(c_s, m_s)
    assert model.serial_time_s(B) == pytest.approx(serial_s)
    assert model.batch_time_s(B) == pytest.approx(batch_s)
    assert model.speedup(B) == pytest.approx(speedup, rel=1e-5)
    assert model.ceiling == pytest.approx(ceiling)


@pytest.mark.parametrize(
    ("c_s", "m_s", "B", "batch_s", "throughput_per_s"),
    [
        (0.006, 0.003, 10, 0.036, 277.7778),
        (0.002, 0.005, 4, 0.022, 181.818),
        (0.002, 0.005, 64, 0.322, 198.758),
        (0.004, 0.002, 15, 0.034, 441.176),
        (0.008, 0.001, 16, 0.024, 666.667),
        (0.001, 0.030, 8, 0.241, 33.195),
    ],
)
def test_the_lessons_batch_times_and_throughputs_come_out(
    c_s: float, m_s: float, B: int, batch_s: float, throughput_per_s: float
) -> None:
    model = CostModel(c_s, m_s)
    assert model.batch_time_s(B) == pytest.approx(batch_s)
    assert model.throughput_per_s(B) == pytest.approx(throughput_per_s, rel=1e-5)


def test_growing_the_batch_from_4_to_64_gains_9_percent_when_compute_bound() -> None:
    model = CostModel(0.002, 0.005)
    assert model.throughput_per_s(64) / model.throughput_per_s(4) - 1 == pytest.approx(0.09317, rel=1e-4)
    assert model.ceiling == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("c_s", "m_s", "regime"),
    [
        (0.009, 0.001, "overhead-bound"),
        (0.001, 0.040, "compute-bound"),
        (0.002, 0.005, "compute-bound"),
        (0.008, 0.001, "overhead-bound"),
        (0.001, 0.030, "compute-bound"),
        (0.004, 0.002, "balanced"),
        (0.004, 0.001, "overhead-bound"),
        (0.003, 0.001, "balanced"),
        (0.001, 0.002, "compute-bound"),
        (0.001, 0.0, "overhead-bound"),
        (0.0, 0.001, "compute-bound"),
    ],
)
def test_the_regime_says_where_the_time_goes(c_s: float, m_s: float, regime: str) -> None:
    assert CostModel(c_s, m_s).regime == regime


def test_two_requests_arrive_in_5_ms_at_400_per_second() -> None:
    assert expected_arrivals(400, 0.005) == pytest.approx(2)


def test_sixteen_requests_take_40_ms_to_arrive_at_400_per_second() -> None:
    assert delay_to_fill_s(400, 16) == pytest.approx(0.040)


@pytest.mark.parametrize("rate_per_s", [0.0, -1.0, math.nan])
def test_no_delay_fills_a_batch_without_arrivals(rate_per_s: float) -> None:
    with pytest.raises(ValueError, match="rate_per_s must be above 0"):
        delay_to_fill_s(rate_per_s, 16)


def test_three_instances_have_three_times_the_capacity_of_one() -> None:
    assert capacity_per_s(CostModel(0.004, 0.002), 15, 3) == pytest.approx(1323.529)
    assert CostModel(0.004, 0.002).throughput_per_s(15, instances=3) == pytest.approx(1323.529)


@pytest.mark.parametrize(
    ("rate_per_s", "c_s", "m_s", "N", "expected"),
    [
        # 1000 · 4 ms = 4 batches' worth of overhead against 3 − 2 = 1 instance left: more than 4.
        (1000, 0.004, 0.002, 3, 5),
        (999, 0.004, 0.002, 3, 4),
        (500, 0.004, 0.002, 1, None),
        (501, 0.004, 0.002, 1, None),
        (400, 0.004, 0.002, 1, 9),
        (0, 0.004, 0.002, 1, 1),
        (10, 0.0, 0.002, 1, 1),
        (1000, 0.010, 0.0, 1, 11),
    ],
)
def test_the_smallest_stable_batch_keeps_up_strictly(
    rate_per_s: float, c_s: float, m_s: float, N: int, expected: int | None
) -> None:
    assert smallest_stable_batch(rate_per_s, CostModel(c_s, m_s), N) == expected


def test_capacity_used_up_to_the_last_bit_is_not_stable() -> None:
    # 0.02 / (1 − 0.99) is 1.9999999999999982 in doubles, so that B = 2 would pass for stable.
    assert smallest_stable_batch(1, CostModel(0.02, 0.99), 1) == 3


@pytest.mark.parametrize(("f", "B"), [(0.5, 9.0), (0.8, 36.0), (0.9, 81.0), (0.0, 0.0)])
def test_a_share_of_the_ceiling_needs_a_batch_in_proportion_to_c_over_m(f: float, B: float) -> None:
    assert CostModel(0.009, 0.001).batch_for_share_of_ceiling(f) == pytest.approx(B)


def test_a_batch_of_36_reaches_80_percent_when_c_is_9_m() -> None:
    assert CostModel(0.009, 0.001).share_of_ceiling(36) == pytest.approx(0.8)


@pytest.mark.parametrize("f", [-0.1, 1.0, math.nan])
def test_no_batch_reaches_the_whole_ceiling(f: float) -> None:
    with pytest.raises(ValueError, match="0 <= f < 1"):
        CostModel(0.009, 0.001).batch_for_share_of_ceiling(f)


def test_without_marginal_time_there_is_no_ceiling() -> None:
    model = CostModel(0.010, 0.0)
    assert model.ceiling == math.inf
    assert model.speedup(32) == 32
    assert model.batch_for_share_of_ceiling(0.5) == math.inf
    assert model.share_of_ceiling(32) == 0


@pytest.mark.parametrize(("c_s", "m_s"), [(-0.001, 0.1), (0.1, -0.001), (math.nan, 0.1), (0.1, math.inf), (0.0, 0.0)])
def test_a_model_that_takes_no_or_negative_time_is_refused(c_s: float, m_s: float) -> None:
    with pytest.raises(ValueError, match=r"c_s|m_s"):
        CostModel(c_s, m_s)


@pytest.mark.parametrize("B", [0, -1, math.nan])
def test_a_batch_of_nothing_is_refused(B: float) -> None:
    with pytest.raises(ValueError, match="batch size must be above 0"):
        CostModel(0.006, 0.003).speedup(B)


def test_no_instances_are_refused() -> None:
    with pytest.raises(ValueError, match="number of instances"):
        capacity_per_s(CostModel(0.006, 0.003), 10, 0)


def test_an_array_of_batch_sizes_gives_an_array_of_times() -> None:
    times = CostModel(0.006, 0.003).batch_time_s(np.array([1.0, 2.0, 10.0]))
    np.testing.assert_allclose(times, [0.009, 0.012, 0.036])


@no_flakes
@given(models, st.integers(min_value=1, max_value=4096))
def test_speedup_lies_between_1_and_both_the_ceiling_and_the_batch_size(model: CostModel, B: int) -> None:
    rounding = 1 + 1e-12
    assert 1 / rounding <= model.speedup(B) <= min(model.ceiling, B) * rounding


@no_flakes
@given(models, st.integers(min_value=1, max_value=4096))
def test_a_larger_batch_never_loses_throughput_or_speedup(model: CostModel, B: int) -> None:
    assert model.speedup(B + 1) >= model.speedup(B) * (1 - 1e-12)
    assert model.throughput_per_s(B + 1) >= model.throughput_per_s(B) * (1 - 1e-12)


@no_flakes
@given(
    models,
    st.floats(min_value=0.01, max_value=1000),
    st.integers(min_value=1, max_value=8),
)
def test_the_smallest_stable_batch_is_stable_and_one_less_is_not(model: CostModel, rate_per_s: float, N: int) -> None:
    B = smallest_stable_batch(rate_per_s, model, N)
    if B is None:
        assert rate_per_s >= capacity_per_s(model, 1e15, N) * (1 - 1e-8)
    else:
        assert capacity_per_s(model, B, N) > rate_per_s * (1 - 1e-8)
        if B > 1:
            assert capacity_per_s(model, B - 1, N) <= rate_per_s * (1 + 1e-8)


@pytest.mark.parametrize(
    ("c_s", "m_s", "max_batch", "sentence"),
    [
        (
            0.009,
            0.001,
            16,
            (
                "batching can make this up to 10 times faster: overhead-bound; "
                "a batch of 36 reaches 80 % of that, the largest batch of 16 reaches 64 %"
            ),
        ),
        (
            0.009,
            0.001,
            64,
            (
                "batching can make this up to 10 times faster: overhead-bound; "
                "the largest batch of 64 already reaches 87 % of that"
            ),
        ),
        (
            0.004,
            0.002,
            4,
            (
                "batching can make this up to 3 times faster: balanced; "
                "a batch of 8 reaches 80 % of that, the largest batch of 4 reaches 66 %"
            ),
        ),
        (
            0.003,
            0.010,
            16,
            (
                "batching can at most make this 1.3 times faster: compute-bound, "
                "the largest batch of 16 reaches 98 % of that; "
                "use more instances or quantization, not larger batches"
            ),
        ),
        (
            0.0,
            0.005,
            16,
            ("batching cannot make this faster: compute-bound; use more instances or quantization, not larger batches"),
        ),
        (
            0.00001,
            0.005,
            16,
            ("batching cannot make this faster: compute-bound; use more instances or quantization, not larger batches"),
        ),
        (
            0.010,
            0.0,
            16,
            (
                "batching has no ceiling here: overhead-bound, one more request costs nothing; "
                "a batch of 16 is 16 times faster"
            ),
        ),
    ],
)
def test_the_sentence_says_what_batching_can_gain_and_what_to_do(
    c_s: float, m_s: float, max_batch: int, sentence: str
) -> None:
    assert plain_sentence(CostModel(c_s, m_s), max_batch) == sentence
