"""response.csv: percentiles of the response time of a server at a rate, replications pooled, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.analysis.load import Point, is_valid
from bench.measure.percentile_interval import PercentileEstimate, percentile_with_interval
from bench.scenario.spec import Objective

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
RESPONSE_COLUMNS = (
    "server", "rate_per_s", "percentile", "value_s", "lo_s", "hi_s",
    "requests", "effective_samples", "method", "reason",
)  # fmt: skip


def response_table(points: Mapping[tuple[str, float], Sequence[Point]], objective: Objective | None) -> pd.DataFrame:
    """A row for each server, rate and percentile, that of the objective too. points: by server and rate.

    Seconds from the schedule, over the successful requests of all valid replications. `reason`: why there is no
    interval, and lo_s and hi_s are then NaN, or no value either; hi_s is infinite where the upper end lies beyond all
    values. `effective_samples`: as many independent requests would tell the percentile as well.
    """
    asked = sorted({*PERCENTILES, *([objective.percentile] if objective is not None else [])})
    rows = [
        {"server": server, "rate_per_s": rate, "percentile": q, **_row(values, reason, q)}
        for (server, rate), replications in points.items()
        for values, reason in [_pooled(replications)]
        for q in asked
    ]
    return pd.DataFrame(rows, columns=list(RESPONSE_COLUMNS))


def _pooled(replications: Sequence[Point]) -> tuple[list[NDArray[np.float64]], str]:
    """Response times of each valid replication, or why there are none to take a percentile of."""
    valid = [point for point in replications if is_valid(point)]
    if not valid:
        return [], "no valid replication"
    saturated = sum(point.overload().saturated for point in valid)
    if saturated:
        return [], f"{saturated} of {len(valid)} replications are saturated: no steady state"
    windows = (point.window() for point in valid)
    values = [ok for window in windows if len(ok := window.response_s[window.ok])]
    return values, "" if values else "no successful request"


def _row(values: Sequence[NDArray[np.float64]], reason: str, q: float) -> dict[str, object]:
    known = PercentileEstimate(math.nan, math.nan, math.nan, "none", 0.0, reason)
    if not reason:
        known = percentile_with_interval(values, q)
    refused = bool(known.refused)
    return {
        "value_s": known.value,
        "lo_s": math.nan if refused else known.lo,
        "hi_s": math.nan if refused else known.hi,
        "requests": sum(map(len, values)),
        "effective_samples": known.effective_samples,
        "method": known.method,
        "reason": known.refused,
    }
