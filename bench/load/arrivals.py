"""When each request is due: the whole schedule, planned before the run in one place and from one seed.

Whoever sends takes slices of it: the number of workers has no part in it. K streams of gamma or constant
arrivals at rate / K are not one stream at the rate, so nothing here is planned by worker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np

from bench.load.arrivals_shaped import ramp, sine, steps
from bench.load.arrivals_stationary import constant, gamma, mmpp, on_off, poisson
from bench.load.arrivals_statistics import ArrivalStatistics, Dispersion, statistics
from bench.load.traces import trace

__all__ = ["KINDS", "ArrivalStatistics", "Dispersion", "schedule", "statistics"]

# Each takes (rate per second, seconds, seed) and its parameters, and gives sorted seconds from 0; what lies past
# the end is cut here.
Process = Callable[..., np.ndarray]
_STATIONARY: dict[str, Process] = {
    "constant": constant,
    "poisson": poisson,
    "gamma": gamma,
    "on_off": on_off,
    "mmpp": mmpp,
}
_SHAPED: dict[str, Process] = {"steps": steps, "ramp": ramp, "sine": sine, "trace": trace}
KINDS = (*_STATIONARY, *_SHAPED)

_NONE: Mapping[str, Any] = MappingProxyType({})


def schedule(
    kind: str,
    rate_per_s: float,
    duration_s: float,
    seed: int,
    parameters: Mapping[str, Any] = _NONE,
    *,
    warmup_s: float = 0.0,
) -> np.ndarray:
    """Offsets from the run's start in whole nanoseconds (int64), sorted, in [0, duration), the warm-up included.

    The mean rate over the window is `rate_per_s`, of which the number of arrivals is a random outcome for all
    but 'constant' and 'trace'. The stationary kinds are one process from 0 to `duration_s`, of which a longer
    duration with the same seed is a continuation. The shaped ones (steps, ramp, sine, trace) begin when the
    warm-up ends and span what is left; during the warm-up arrivals are Poisson at `rate_per_s`.
    `parameters` are the keyword arguments of the kind's function: times in seconds, shares as fractions.
    Raises ValueError for another kind or other parameters, or a time or rate that makes no sense; a trace file
    that cannot be used is a ScenarioError.
    """
    process = _STATIONARY.get(kind) or _SHAPED.get(kind)
    if process is None:
        raise ValueError(f"arrivals: expected one of {', '.join(KINDS)}, got {kind!r}")
    for name, value in (("rate_per_s", rate_per_s), ("duration_s", duration_s)):
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name}: expected a number > 0, got {value}")
    if not 0 <= warmup_s < duration_s:
        raise ValueError(f"warmup_s: expected a number >= 0 and below duration_s, {duration_s}, got {warmup_s}")
    try:
        signature(process).bind(rate_per_s, duration_s, seed, **parameters)
    except TypeError as error:
        raise ValueError(f"arrivals: {kind}: {error}") from None
    if kind in _STATIONARY:
        seconds = process(rate_per_s, duration_s, seed, **parameters)
    else:
        shaped = process(rate_per_s, duration_s - warmup_s, seed, **parameters)
        seconds = np.concatenate([_warmup(rate_per_s, warmup_s, seed), warmup_s + shaped])
    offsets = np.floor(seconds * 1e9).astype(np.int64)
    return offsets[offsets < int(duration_s * 1e9)]


def _warmup(rate_per_s: float, warmup_s: float, seed: int) -> np.ndarray:
    # Its own stream: the window is the same whatever comes before it.
    seconds = poisson(rate_per_s, warmup_s, (seed, 1))
    return seconds[seconds < warmup_s]
