"""Does the response time grow through the window? Then there is no steady state, and no percentile of one.

A server offered λ beyond its capacity C lets a backlog grow by λ − C requests per second; a request that is due t
seconds into the overload waits for (λ/C − 1)·t more, so the response time grows by λ/C − 1 seconds per second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bench.measure.requests import Requests

Floats = NDArray[np.float64]
BINS = 20
FEWEST_IN_A_BIN = 3
# Growth that matters: 1 % over capacity, and by half over the window.
LEAST_SLOPE = 0.01
LEAST_GROWTH = 0.5


@dataclass(frozen=True, slots=True)
class Trend:
    """Growth of the response time, seconds per second, with a 95 % interval; saturated: it is no chance and matters."""

    slope: float
    lo: float
    hi: float
    saturated: bool


STEADY = Trend(0.0, 0.0, 0.0, saturated=False)


def response_trend(requests: Requests, warmup_s: float, duration_s: float) -> Trend:
    """Least squares through the means of 20 equal stretches of the window, by scheduled time.

    The means of stretches, and not the requests, are the observations: neighbours wait in the same queue. Requests
    without an answer are left out, which can only flatten the slope. STEADY with too few answers to tell.
    """
    window = requests.scheduled_within(warmup_s, duration_s)
    window = window.where(window.ok)
    if not len(window):
        return STEADY
    start, end = float(window.scheduled_s[0]), float(window.scheduled_s[-1])  # an early end leaves part unsent
    if end <= start:
        return STEADY
    edges = np.linspace(start, end, BINS + 1)
    which = np.clip(np.searchsorted(edges, window.scheduled_s, side="right") - 1, 0, BINS - 1)
    counts = np.bincount(which, minlength=BINS)
    used = counts >= FEWEST_IN_A_BIN
    if np.count_nonzero(used) < BINS // 2:
        return STEADY
    middles = ((edges[:-1] + edges[1:]) / 2)[used]
    means = (np.bincount(which, weights=window.response_s, minlength=BINS)[used]) / counts[used]
    line = stats.linregress(middles, means)
    reach = float(stats.t.ppf(0.975, len(means) - 2)) * float(line.stderr)
    slope = float(line.slope)
    growth = slope * (end - start)
    at_start = max(float(means[: max(1, len(means) // 4)].mean()), 1e-9)
    saturated = slope - reach > LEAST_SLOPE and growth > LEAST_GROWTH * at_start
    return Trend(slope, slope - reach, slope + reach, saturated=saturated)
