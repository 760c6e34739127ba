from __future__ import annotations

import numpy as np
import pytest

from bench.theory.levels import levels_by_size
from bench.theory.sizes import visits_by_size

SIZES = np.array([1.0, 2, 4, 8])
TIMES = np.array([0.01, 0.02, 0.03, 0.05])


def test_the_levels_are_the_typical_times_and_a_spike_is_left_out() -> None:
    times = np.concatenate([0.999 * TIMES, TIMES, 1.001 * TIMES, [0.5]])
    levels = levels_by_size(visits_by_size(np.append(np.tile(SIZES, 3), 1.0), times))
    np.testing.assert_allclose(levels.times_s, TIMES, rtol=1e-4)
    assert levels.df == 12 - 4
    assert levels.visits == 13


def test_the_errors_are_those_of_means_of_the_visits() -> None:
    rng = np.random.default_rng(1)
    found = []
    for _ in range(300):
        times = TIMES * (1 + 0.02 * rng.standard_normal((20, 4)))
        levels = levels_by_size(visits_by_size(np.tile(SIZES, 20), times.ravel()))
        found.append((levels.times_s / TIMES, levels.errors))
    estimates, errors = np.array(found)[:, 0], np.array(found)[:, 1]
    np.testing.assert_allclose(np.sqrt(np.mean(errors**2, axis=0)), np.std(estimates, axis=0), rtol=0.15)


def test_with_blocks_told_a_common_level_is_no_error() -> None:
    rng = np.random.default_rng(2)
    times = TIMES * (1 + 0.01 * rng.standard_normal((12, 4))) * rng.uniform(0.5, 1.5, (12, 1))
    visits, number = visits_by_size(np.tile(SIZES, 12), times.ravel()), np.repeat(np.arange(12), 4)
    alone, told = levels_by_size(visits), levels_by_size(visits, number)
    assert told.df == 48 - 4 - 11
    assert told.errors.max() < alone.errors.min() / 5


def test_without_repeats_the_error_is_unknown() -> None:
    levels = levels_by_size(visits_by_size(SIZES, TIMES))
    assert levels.df == 0
    assert levels.times_s == pytest.approx(TIMES)
