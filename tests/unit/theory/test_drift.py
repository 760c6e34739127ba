from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bench.theory.drift import drift

SIZES = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])


def table(blocks: int, total: float, sd: float = 0.0, seed: int = 0) -> NDArray[np.float64]:
    """Times that grow by that share from the first block to the last."""
    rng = np.random.default_rng(seed)
    growth = 1 + total * np.linspace(-0.5, 0.5, blocks)
    return (0.004 + 0.002 * SIZES) * growth[:, None] * (1 + sd * rng.standard_normal((blocks, len(SIZES))))


@pytest.mark.parametrize("blocks", [6, 10, 25, 60])
def test_an_exact_drift_comes_out(blocks: int) -> None:
    found = drift(table(blocks, 0.10))
    assert found.total == pytest.approx(0.10, rel=0.01)
    assert found.relative_per_block == pytest.approx(0.10 / (blocks - 1), rel=0.01)
    assert found.lo <= found.relative_per_block <= found.hi
    assert found.found
    assert found.words == "the server became 10 % slower from the first block to the last"


def test_times_that_fall_are_told_as_faster() -> None:
    assert drift(table(10, -0.08)).words == "the server became 8 % faster from the first block to the last"


def test_steady_times_have_no_drift() -> None:
    found = drift(np.ones((10, 3)))
    assert (found.relative_per_block, found.lo, found.hi, found.found, found.words) == (0, 0, 0, False, "")


def test_less_than_2_percent_is_no_matter_however_sure() -> None:
    found = drift(table(10, 0.015))
    assert found.lo > 0
    assert not found.found


def test_5_percent_are_found_under_2_percent_of_noise_and_0_are_not() -> None:
    assert sum(drift(table(20, 0.05, sd=0.02, seed=seed)).found for seed in range(50)) >= 45
    assert sum(drift(table(20, 0.0, sd=0.02, seed=seed)).found for seed in range(50)) <= 2


def test_the_interval_covers_the_drift_as_often_as_it_says() -> None:
    found = [drift(table(15, 0.05, sd=0.02, seed=seed)) for seed in range(300)]
    covered = np.mean([one.lo <= 0.05 / 14 <= one.hi for one in found])
    assert covered == pytest.approx(0.95, abs=0.04)


def test_a_disturbed_block_does_not_make_a_drift() -> None:
    times = table(12, 0.0)
    times[-1] *= 5
    assert not drift(times).found


def test_sizes_that_were_not_visited_are_left_out() -> None:
    times = table(12, 0.10)
    times[::2, :4] = math.nan
    times[5] = math.nan
    assert drift(times).total == pytest.approx(0.10, rel=0.02)


def test_few_blocks_tell_nothing() -> None:
    found = drift(table(5, 0.5))
    assert (found.lo, found.hi, found.found) == (-math.inf, math.inf, False)


@pytest.mark.parametrize(
    ("times", "words"),
    [([1.0, 2.0], "shape"), ([[1.0, 0.0]], "above 0"), ([[1.0, math.inf]], "finite")],
)
def test_what_is_no_table_of_times_is_refused(times: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        drift(times)


@given(total=st.floats(-0.5, 0.5), blocks=st.integers(6, 50), scale=st.floats(1e-3, 1e3))
@settings(deadline=None, derandomize=True, max_examples=40)
def test_the_unit_of_the_times_and_their_sizes_do_not_matter(total: float, blocks: int, scale: float) -> None:
    times = table(blocks, total, sd=0.01)
    here, there = drift(times), drift(scale * times[:, ::-1])
    assert there.relative_per_block == pytest.approx(here.relative_per_block, abs=1e-9)
