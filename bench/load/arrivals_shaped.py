"""Poisson arrivals whose rate follows a given curve over the window: steps, ramp, sine.

The curves are relative: each is scaled so that its mean over the window is 1, and with it the expected number
of arrivals is rate × window, whole periods or not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bench.load.arrivals_stationary import piecewise, poisson_of


def steps(rate_per_s: float, window_s: float, seed: int, *, steps: Sequence[Mapping[str, float]]) -> np.ndarray:
    """One rate after the other. Of each: `factor`, relative to the others, and `share` of the window's time.

    Shares are divided by their sum, factors by their mean over the window; the change of time is `piecewise`'s.
    """
    shares = np.array([step["share"] for step in steps])
    factors = np.array([step["factor"] for step in steps])
    shares = shares / shares.sum()
    mean = float(shares @ factors)
    return piecewise(np.random.default_rng(seed), rate_per_s, window_s, shares * window_s, factors / mean)


def ramp(rate_per_s: float, window_s: float, seed: int, *, start: float, end: float) -> np.ndarray:
    """A rate that goes in a straight line; only the ratio of `start` and `end` matters.

    With a and b these two over their mean, the arrivals expected by t are Λ = rate·(a·t + (b - a)·t² / 2T), a
    Poisson process of rate 1 in Λ, and t = 2x / (a + √(a² + 2(b - a)x / T)) with x = Λ / rate: a change of time,
    which is exact, in the form of the root that loses no digits where b is near a.
    """
    mean = (start + end) / 2
    a, b = start / mean, end / mean
    unit = poisson_of(np.random.default_rng(seed), 1.0, rate_per_s * window_s)
    x = unit[unit < rate_per_s * window_s] / rate_per_s
    # Rounding may take the root's argument below 0 at the very end of a ramp down to 0.
    return 2 * x / (a + np.sqrt(np.maximum(a * a + 2 * (b - a) * x / window_s, 0.0)))


def sine(rate_per_s: float, window_s: float, seed: int, *, period_s: float, amplitude: float) -> np.ndarray:
    """A rate of 1 + amplitude·sin(2πt / period) times a mean: up first, as from the morning of a day.

    By thinning, which is exact: Poisson arrivals at the highest rate, each kept with probability
    (rate at its time) / (highest rate).
    """
    turn = 2 * math.pi / period_s
    mean = 1 + amplitude * (1 - math.cos(turn * window_s)) / (turn * window_s)
    rng = np.random.default_rng(seed)
    at_peak = poisson_of(rng, rate_per_s * (1 + amplitude) / mean, window_s)
    height = rng.uniform(size=len(at_peak)) * (1 + amplitude)
    return at_peak[(height < 1 + amplitude * np.sin(turn * at_peak)) & (at_peak < window_s)]
