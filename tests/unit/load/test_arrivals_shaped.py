"""Rates that follow a curve: the share of the arrivals in each part of the window, worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bench.load.arrivals import schedule

STEPS = {"steps": ({"factor": 1.0, "share": 0.75}, {"factor": 3.0, "share": 0.25})}
UP = {"start": 1.0, "end": 3.0}
SINE = {"period_s": 10.0, "amplitude": 0.5}


def seconds(kind: str, parameters: dict[str, Any], rate: float, duration: float, seed: int = 1) -> np.ndarray:
    return schedule(kind, rate, duration, seed, parameters) / 1e9


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("steps", STEPS),
        ("steps", {"steps": ({"factor": 0.0, "share": 0.33}, {"factor": 7.0, "share": 0.66})}),
        ("ramp", UP),
        ("ramp", {"start": 5.0, "end": 0.0}),
        ("ramp", {"start": 200.0, "end": 200.0}),
        ("sine", SINE),
        ("sine", {"period_s": 13.0, "amplitude": 1.0}),
        ("sine", {"period_s": 0.7, "amplitude": 0.9}),
        ("sine", {"period_s": 400.0, "amplitude": 1.0}),
    ],
)
def test_the_mean_rate_over_the_window_is_the_asked_one(kind: str, parameters: dict[str, Any]) -> None:
    # 200,000 expected arrivals: a standard error of 0.22 %.
    assert len(seconds(kind, parameters, 20_000, 10)) == pytest.approx(200_000, rel=0.01)


def test_steps_have_rates_in_the_ratio_of_their_factors() -> None:
    # The mean factor is 0.75·1 + 0.25·3 = 1.5: rates of 2/3 and 2 times 10,000 over 7.5 s and 2.5 s.
    found = seconds("steps", STEPS, 10_000, 10)
    assert (found < 7.5).sum() == pytest.approx(50_000, rel=0.015)
    assert (found >= 7.5).sum() == pytest.approx(50_000, rel=0.015)
    assert stats.kstest(found[found < 7.5], stats.uniform(0, 7.5).cdf).pvalue > 0.01


def test_nothing_arrives_in_a_step_of_factor_zero() -> None:
    parts = ({"factor": 1.0, "share": 0.25}, {"factor": 0.0, "share": 0.5}, {"factor": 1.0, "share": 0.25})
    found = seconds("steps", {"steps": parts}, 1000, 8)
    assert not ((found > 2) & (found < 6)).any()
    assert len(found) == pytest.approx(8000, rel=0.05)


@pytest.mark.parametrize(
    ("start", "end", "first_half"),
    [(1.0, 3.0, 0.375), (3.0, 1.0, 0.625), (0.0, 1.0, 0.25), (1.0, 0.0, 0.75), (50.0, 50.0, 0.5)],
)
def test_a_ramp_has_the_expected_counts_in_its_halves(start: float, end: float, first_half: float) -> None:
    found = seconds("ramp", {"start": start, "end": end}, 10_000, 10)
    assert (found < 5).mean() == pytest.approx(first_half, abs=0.006)


def test_the_times_of_a_ramp_follow_its_line() -> None:
    # From 0.5 to 1.5 times the mean: by the part x of the window a share x/2 + x²/2 has arrived.
    found = seconds("ramp", UP, 500, 10)
    assert stats.kstest(found, lambda t: t / 10 * (0.5 + 0.5 * t / 10)).pvalue > 0.01


def test_a_sine_goes_up_first_and_its_phase_is_right() -> None:
    found = seconds("sine", SINE, 10_000, 10)
    # The first half has (5 + 0.5·10/π) / 10 of the arrivals; E[sin] = 0.5/2 and E[cos] = 0 over whole periods.
    assert (found < 5).mean() == pytest.approx(0.6592, abs=0.006)
    assert np.sin(2 * math.pi * found / 10).mean() == pytest.approx(0.25, abs=0.008)
    assert np.cos(2 * math.pi * found / 10).mean() == pytest.approx(0, abs=0.008)


def test_gaps_of_a_curve_are_those_of_a_poisson_process_on_its_own_clock() -> None:
    # Half of a sine: after t, 500·(t + (1 - cos t)/2) / (1 + 1/π) are expected at period 2π and amplitude 1/2.
    found = seconds("sine", {"period_s": 2 * math.pi, "amplitude": 0.5}, 2000, math.pi)
    clock = 2000 * (found + (1 - np.cos(found)) / 2) / (1 + 1 / math.pi)
    assert stats.kstest(np.diff(clock), "expon").pvalue > 0.01


@pytest.mark.parametrize(("kind", "parameters"), [("steps", STEPS), ("ramp", UP), ("sine", SINE)])
def test_a_curve_begins_when_the_warmup_ends_and_is_the_same_without_one(kind: str, parameters: dict[str, Any]) -> None:
    alone = schedule(kind, 1000, 10, 4, parameters)
    both = schedule(kind, 1000, 14, 4, parameters, warmup_s=4)
    warmup, window = both[both < 4_000_000_000], both[both >= 4_000_000_000]
    assert np.abs(window - 4_000_000_000 - alone).max() <= 1  # rounded to nanoseconds
    assert len(warmup) == pytest.approx(4000, rel=0.05)
    assert stats.kstest(warmup / 4e9, "uniform").pvalue > 0.01
