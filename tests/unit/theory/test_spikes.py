from __future__ import annotations

import numpy as np
import pytest

from bench.theory.spikes import spikes


def test_spikes_are_counted_by_hand() -> None:
    # Medians 10 and 20 ms; 30 ms is 3 times the first, 21 ms within 10 % of the second.
    found = spikes([1, 1, 1, 1, 2, 2, 2, 2], [0.010, 0.010, 0.010, 0.030, 0.020, 0.020, 0.020, 0.021])
    assert (found.spikes, found.visits, found.share) == (1, 8, 0.125)
    assert found.largest == pytest.approx(3)
    assert found.words.startswith("1 of 8 visits (12 %) were disturbed, the worst took 3 times as long as is typical")


def test_noise_is_no_spike() -> None:
    rng = np.random.default_rng(1)
    found = spikes(np.tile([1.0, 2, 4, 8], 250), 1 + 0.02 * rng.standard_normal(1000))
    assert (found.spikes, found.largest, found.words) == (0, 1.0, "")


def test_under_wide_noise_more_than_10_percent_are_none() -> None:
    rng = np.random.default_rng(2)
    found = spikes(np.tile([1.0, 2, 4, 8], 250), 1 + 0.2 * rng.standard_normal(1000))
    assert found.share < 0.01


def test_the_share_is_that_of_the_simulation() -> None:
    rng = np.random.default_rng(3)
    times = 1 + 0.02 * rng.standard_normal(2000)
    disturbed = rng.random(2000) < 0.03
    found = spikes(np.tile([1.0, 2, 4, 8], 500), np.where(disturbed, 5 * times, times))
    assert found.spikes == np.count_nonzero(disturbed)


def test_fewer_than_1_in_100_are_not_told() -> None:
    found = spikes(np.ones(200), [1.0] * 199 + [2.0])
    assert (found.spikes, found.words) == (1, "")


def test_no_visits_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 visit"):
        spikes([], [])
