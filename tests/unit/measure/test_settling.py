from __future__ import annotations

import numpy as np
import pytest

from bench.measure.settling import settled


def test_fewer_than_nine_times_tell_nothing() -> None:
    assert not settled([])
    assert not settled([1.0] * 8)
    assert settled([1.0] * 9)


def test_times_that_still_fall_have_not_settled() -> None:
    # From window to window by a tenth: medians of 1.21, 1.1 and 1, whose mean is 1.103.
    assert not settled([1.21] * 3 + [1.1] * 3 + [1.0] * 3)
    assert settled([1.04] * 3 + [1.02] * 3 + [1.0] * 3)


def test_only_the_last_nine_count() -> None:
    warming = [9.0, 5.0, 3.0, 2.0, 1.5]
    assert not settled([*warming, *[1.0] * 6])
    assert settled([*warming, *[1.0] * 9])


def test_one_disturbed_batch_in_each_window_does_not_matter_and_two_do() -> None:
    assert settled([1.0, 5.0, 1.0] * 3)
    assert not settled([1.0, 1.0, 1.0, 5.0, 5.0, 1.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e3])
def test_the_unit_does_not_matter(unit: float) -> None:
    times = [unit * x for x in (1.21, 1.2, 1.22, 1.1, 1.1, 1.1, 1.0, 1.0, 1.0)]
    assert not settled(times)
    assert settled([unit] * 9)


def test_noise_of_two_percent_settles_within_a_few_batches() -> None:
    rng = np.random.default_rng(1)
    needed = []
    for _ in range(200):
        times: list[float] = []
        while not settled(times):
            times.append(float(rng.normal(1, 0.02)))
        needed.append(len(times))
    assert max(needed) <= 15
