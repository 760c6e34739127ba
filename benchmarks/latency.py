"""Three figures of a run's latencies, and how far two such are apart."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

import numpy as np

from bench.measure.latency import percentile


@dataclass(frozen=True, slots=True)
class Latency:
    """Median, 99th percentile and maximum, in seconds; NaN where not told."""

    p50_s: float = math.nan
    p99_s: float = math.nan
    max_s: float = math.nan


NOT_TOLD = Latency()


def latency(seconds: np.ndarray) -> Latency:
    """Of these, by numpy's linear percentile; NOT_TOLD of none."""
    return Latency(percentile(seconds, 50), percentile(seconds, 99), percentile(seconds, 100))


def worst_difference(measured: Latency, expected: Latency) -> float:
    """The largest |measured / expected - 1| of the three; NaN when one of them is missing, or expected to be 0."""
    pairs = list(zip(astuple(measured), astuple(expected), strict=True))
    if not all(math.isfinite(m) and math.isfinite(e) and e for m, e in pairs):
        return math.nan
    return max(abs(float(m) / float(e) - 1) for m, e in pairs)
