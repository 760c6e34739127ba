from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bench.measure.autocorrelation import autocorrelation_time, effective_sample_size


def chain(n: int, lag_1: float, seed: int) -> NDArray[np.float64]:
    """AR(1): its autocorrelation time is (1 + ρ)/(1 − ρ)."""
    rng = np.random.default_rng(seed)
    values = np.empty(n)
    values[0] = rng.standard_normal()
    for i in range(1, n):
        values[i] = lag_1 * values[i - 1] + np.sqrt(1 - lag_1**2) * rng.standard_normal()
    return values


@pytest.mark.parametrize(("lag_1", "time"), [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)])
def test_the_time_of_a_chain_is_the_one_of_its_formula(lag_1: float, time: float) -> None:
    values = chain(50_000, lag_1, seed=1)
    assert autocorrelation_time([values]) == pytest.approx(time, rel=0.15)
    assert effective_sample_size(values) == pytest.approx(50_000 / time, rel=0.15)


def test_replications_are_taken_together() -> None:
    runs = [chain(1000, 0.9, seed) for seed in range(40)]
    assert autocorrelation_time(runs) == pytest.approx(19, rel=0.2)


def test_a_short_run_by_hand() -> None:
    # Mean 0; Σx² = 4; lag 1: 1 − 1 + 1 = 1, so the first pair is 1.25; lag 2: −1 − 1 and lag 3: −1 end the sum.
    assert autocorrelation_time([[1.0, 1.0, -1.0, -1.0]]) == pytest.approx(1.5)


def test_alternating_values_count_no_more_than_they_are() -> None:
    assert effective_sample_size([1.0, -1.0] * 50) == 100


@pytest.mark.parametrize("values", [[3.0], [2.0, 2.0, 2.0]])
def test_values_without_spread_count_each_for_one(values: list[float]) -> None:
    assert effective_sample_size(values) == len(values)


@pytest.mark.parametrize("values", [[], [1.0, np.nan], [[1.0, 2.0]]])
def test_what_is_no_series_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite values"):
        effective_sample_size(values)


def test_no_run_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 run"):
        autocorrelation_time([])


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=60), st.integers(1, 100), st.integers(-1000, 1000))
@settings(deadline=None, derandomize=True)
def test_it_is_between_1_and_n_and_the_unit_does_not_matter(values: list[int], scale: int, shift: int) -> None:
    n = effective_sample_size(values)
    assert 0 < n <= len(values)
    assert effective_sample_size([scale * x + shift for x in values]) == pytest.approx(n, rel=1e-6)
