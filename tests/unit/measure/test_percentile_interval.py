from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bench.measure.latency import percentile
from bench.measure.percentile_interval import PercentileEstimate, percentile_with_interval

P99 = -math.log(0.01)  # of exponential times of mean 1


def queue(rng: np.random.Generator, n: int, load: float) -> NDArray[np.float64]:
    """Response times at an M/M/1 queue; exponential of mean load/(1 − load) in a steady state."""
    work = load * rng.exponential(size=n + 500)
    walk = np.concatenate([[0.0], np.cumsum(work[:-1] - rng.exponential(size=n + 499))])
    return (walk - np.minimum.accumulate(walk) + work)[500:]


def covered(estimates: list[PercentileEstimate], truth: float) -> float:
    return float(np.mean([one.lo <= truth <= one.hi for one in estimates]))


def test_the_interval_comes_out_by_hand() -> None:
    # 1 … 40 dealt to 4 replications; p50 = 20.5, of which 4, 5, 5 and 6 of 10 lie beyond. The share's standard
    # error is √(4/3 · 2)/40 = 0.040825, t(0.975, 3) = 3.182446: levels 50 ± 12.992 of 40 values.
    groups = [[*range(1, 7), 21, 22, 23, 24], [*range(7, 12), *range(25, 30)]]
    groups += [[*range(12, 17), *range(30, 35)], [*range(17, 21), *range(35, 41)]]
    found = percentile_with_interval(groups, 50)
    assert found.value == 20.5
    assert found.lo == pytest.approx(percentile(range(1, 41), 50 - 12.9924), abs=1e-3)
    assert found.hi == pytest.approx(percentile(range(1, 41), 50 + 12.9924), abs=1e-3)
    assert (found.method, found.refused) == ("t over 4 replications", "")


@pytest.mark.parametrize(("replications", "requests"), [(5, 2000), (10, 500)])
def test_p99_over_replications_covers_for_independent_requests(replications: int, requests: int) -> None:
    rng = np.random.default_rng(1)
    estimates = [percentile_with_interval(list(rng.exponential(size=(replications, requests))), 99) for _ in range(400)]
    assert covered(estimates, P99) == pytest.approx(0.95, abs=0.035)
    assert np.median([one.value for one in estimates]) == pytest.approx(P99, rel=0.01)


@pytest.mark.parametrize(("replications", "requests", "load"), [(5, 2000, 0.6), (10, 500, 0.4)])
def test_p99_over_replications_covers_for_requests_that_wait_in_one_queue(
    replications: int, requests: int, load: float
) -> None:
    rng = np.random.default_rng(2)
    estimates = [
        percentile_with_interval([queue(rng, requests, load) for _ in range(replications)], 99) for _ in range(400)
    ]
    assert covered(estimates, P99 * load / (1 - load)) == pytest.approx(0.945, abs=0.035)


def test_one_long_run_is_cut_in_sections() -> None:
    rng = np.random.default_rng(3)
    estimates = [percentile_with_interval([queue(rng, 30_000, 0.5)], 99) for _ in range(60)]
    assert {one.method for one in estimates} == {"t over 20 sections"}
    assert covered(estimates, P99) > 0.85


def test_two_runs_are_cut_in_sections_too() -> None:
    rng = np.random.default_rng(4)
    assert percentile_with_interval(list(rng.exponential(size=(2, 5000))), 99).method == "t over 20 sections"


def test_one_or_two_runs_with_few_requests_beyond_give_no_interval() -> None:
    rng = np.random.default_rng(1)
    one, two = [rng.exponential(size=4999)], [rng.exponential(size=2000)] * 2
    assert (
        percentile_with_interval(one, 99).refused
        == "4999 requests of one run, p99 needs 5000 of them, or 3 replications"
    )
    assert percentile_with_interval(two, 99).refused.startswith("4000 requests of two runs")
    assert not percentile_with_interval([rng.exponential(size=5000)], 99).refused
    assert not percentile_with_interval([*two, two[0]], 99).refused


def test_one_run_at_a_high_load_is_too_short_to_be_cut() -> None:
    found = percentile_with_interval([queue(np.random.default_rng(5), 6000, 0.95)], 99)
    assert found.refused.startswith("neighbouring requests wait together, so a run is cut in sections of ")
    assert (found.lo, found.hi, found.method) == (0, math.inf, "none")
    assert found.effective_samples < 3000


def test_fewer_than_5_values_beyond_it_tell_nothing() -> None:
    found = percentile_with_interval([np.arange(1.0, 100)] * 4, 99)
    assert found.refused == "396 requests, p99 needs 500"
    assert found.value == percentile(np.tile(np.arange(1.0, 100), 4), 99)


def test_no_values_have_no_percentile() -> None:
    found = percentile_with_interval([], 50)
    assert math.isnan(found.value)
    assert found.refused == "0 requests, p50 needs 10"


def test_slow_requests_that_come_in_one_bunch_leave_the_upper_end_open() -> None:
    runs = [np.linspace(1, 2, 500) for _ in range(3)] + [np.append(np.linspace(1, 2, 470), np.full(30, 9.0))]
    found = percentile_with_interval(runs, 99)
    assert found.refused == ""
    assert found.value < found.hi == math.inf


def test_correlated_requests_are_worth_fewer() -> None:
    rng = np.random.default_rng(6)
    alone = percentile_with_interval(list(rng.exponential(size=(5, 2000))), 50).effective_samples
    together = percentile_with_interval([queue(rng, 2000, 0.7) for _ in range(5)], 50).effective_samples
    assert together < alone / 3


@pytest.mark.parametrize("q", [0, 100, math.nan])
def test_the_ends_are_no_percentiles_with_an_interval(q: float) -> None:
    with pytest.raises(ValueError, match="0 < q < 100"):
        percentile_with_interval([[1.0]], q)


def test_values_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        percentile_with_interval([[1.0, math.inf]], 50)


@given(
    st.lists(st.lists(st.floats(0, 1e6), max_size=60), max_size=6),
    st.floats(1, 99),
    st.floats(1e-3, 1e3),
)
@settings(deadline=None, derandomize=True)
def test_the_interval_holds_the_percentile_of_the_pooled_values(
    runs: list[list[float]], q: float, factor: float
) -> None:
    found = percentile_with_interval(runs, q)
    pooled = [value for run in runs for value in run]
    if pooled:
        assert found.value == pytest.approx(percentile(pooled, q))
        assert found.lo <= found.value <= found.hi
        assert 0 < found.effective_samples <= len(pooled)
