"""Bursts: on/off and Markov-modulated arrivals keep the mean rate and are as uneven as their law says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from bench.load.arrivals import schedule, statistics

# Shares of the time 5/6 and 1/6, a mean factor of 5/6 + 10/6 = 2.5: at 100/s, 40/s and 400/s.
TWO = {"states": ({"rate": 1.0, "dwell_s": 5.0}, {"rate": 10.0, "dwell_s": 1.0})}
THREE = {"states": ({"rate": 0.0, "dwell_s": 1.0}, {"rate": 1.0, "dwell_s": 2.0}, {"rate": 4.0, "dwell_s": 0.5})}
PAUSES = {"on_s": 1.0, "off_s": 4.0}
FIXED = {**PAUSES, "dwell": "fixed"}


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("mmpp", TWO),
        ("mmpp", THREE),
        ("on_off", PAUSES),
        ("on_off", {**PAUSES, "share": 0.6}),
        ("on_off", FIXED),
        ("on_off", {**FIXED, "share": 0.6}),
    ],
)
def test_the_mean_rate_is_the_asked_one_and_counts_vary_more_than_poisson(
    kind: str, parameters: dict[str, Any]
) -> None:
    offsets = schedule(kind, 50, 6000, 5, parameters)
    assert len(offsets) == pytest.approx(50 * 6000, rel=0.06)
    found = statistics(offsets)
    assert found.cv_of_gaps > 1.2
    # Fixed cycles of 5 s do not show in windows of 20 s, of which each holds four.
    assert all(d.index > 2 for d in found.dispersion[:2])


@pytest.mark.parametrize(
    ("kind", "parameters"), [("mmpp", TWO), ("on_off", PAUSES), ("on_off", FIXED), ("on_off", {**FIXED, "share": 0.9})]
)
def test_a_window_much_shorter_than_the_bursts_still_has_the_expected_count(
    kind: str, parameters: dict[str, Any]
) -> None:
    # One second at 10/s, 1500 times: the variance of a count is at most 10 + 10²·4, its standard error 0.52.
    counts = [len(schedule(kind, 10, 1, seed, parameters)) for seed in range(1500)]
    assert np.mean(counts) == pytest.approx(10, abs=1.5)


def test_the_dispersion_of_two_states_is_that_of_theory() -> None:
    # Factors 0.4 and 4 of the mean, with variance 0.16·5/6 + 16/6 - 1 = 1.8, forget each other at a rate of
    # 1/5 + 1 per second: τ = 5/6 s. In 10 s: 1 + 2·100·1.8·τ·(1 - (1 - e^(-10/τ))·τ/10) = 276.
    found = statistics(schedule("mmpp", 100, 20_000, 1, TWO)).dispersion[-1]
    assert found.window_s == pytest.approx(10, rel=0.05)
    assert found.index == pytest.approx(276, rel=0.1)


def test_fixed_bursts_and_pauses_repeat_and_nothing_arrives_in_a_pause() -> None:
    seconds = schedule("on_off", 20, 500, 3, FIXED) / 1e9
    gaps = np.diff(seconds)
    pauses = gaps[gaps > 3.9]
    assert len(pauses) in (99, 100)
    start = seconds[1:][gaps > 3.9][0]
    within = (seconds - start + 0.5) % 5
    assert (within < 1.6).all()
    # 20/s in the mean are 100/s in a burst.
    assert statistics(schedule("on_off", 20, 500, 3, FIXED)).count == pytest.approx(10_000, rel=0.04)
    assert np.median(gaps) == pytest.approx(0.01 * np.log(2), rel=0.05)


def test_a_share_of_the_arrivals_may_come_in_the_pauses() -> None:
    # Of 50/s: 0.6·50·5/1 = 150/s in bursts of 1 s, 0.4·50·5/4 = 25/s in pauses of 4 s.
    seconds = schedule("on_off", 50, 5000, 3, {**FIXED, "share": 0.6}) / 1e9
    counts = np.sort(np.bincount((seconds % 5 * 10).astype(int), minlength=50)) / 100  # per second, in tenths
    assert counts[:39] == pytest.approx(np.full(39, 25.0), rel=0.15)
    assert counts[-9:] == pytest.approx(np.full(9, 150.0), rel=0.15)


def test_fixed_bursts_start_at_any_point_of_the_cycle() -> None:
    firsts = []
    for seed in range(300):
        offsets = schedule("on_off", 1000, 10, seed, FIXED) / 1e9
        gap = int(np.argmax(np.diff(offsets)))
        firsts.append(offsets[gap + 1] % 5)  # where a burst begins
    assert stats.kstest(np.array(firsts) / 5, "uniform").pvalue > 0.01


def test_every_state_is_as_often_as_its_dwell_time_says() -> None:
    # Three states have 2/7, 4/7 and 1/7 of the time and a mean factor of 4/7 + 4/7 = 8/7; the first is silent.
    counts = np.bincount((schedule("mmpp", 2000, 3000, 2, THREE) / 1e7).astype(int), minlength=300_000)
    # 10 ms at 2000·4/(8/7) = 7000/s hold 70, at 1750/s 17.5.
    assert (counts > 40).mean() == pytest.approx(1 / 7, abs=0.02)
    assert (counts == 0).mean() == pytest.approx(2 / 7, abs=0.03)
