"""A point's requests as a table: the columns of samples/*.parquet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def point_rows(
    times_ns: Mapping[str, NDArray[np.int64]],
    status: NDArray[np.int16],
    batch_size: NDArray[np.int32],
    compute_ns: NDArray[np.int64],
    cause: NDArray[np.str_] | pd.Categorical[Any],
    started_ns: NDArray[np.int64] | None = None,
) -> pd.DataFrame:
    """The columns of samples/*.parquet, in seconds; what never happened or was not told is null.

    times_ns: scheduled, sent and completed, -1 where it never happened; batch_size 0, compute_ns -1 and started_ns -1
    (when the execution began): not told. Columns in which nothing is told are one array.
    """
    seconds = {f"{name}_s": _seconds(times) for name, times in times_ns.items()}
    nothing = np.full(len(status), math.nan)

    def told(times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        return nothing if times is None or times.max(initial=-1) < 0 else _seconds(times)

    return pd.DataFrame(
        {
            **seconds,
            "status": status,
            "batch_size": pd.arrays.IntegerArray(batch_size, batch_size <= 0),
            "queue_wait_s": nothing,
            "compute_s": told(compute_ns),
            "cause": cause,
            "execution_started_s": told(started_ns),
        },
        copy=False,
    )


def _seconds(times_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """In seconds, NaN for what is below 0; made in one piece, since there may be millions."""
    seconds: NDArray[np.float64] = np.multiply(times_ns, 1e-9, dtype=np.float64)
    seconds[times_ns < 0] = math.nan
    return seconds
