"""What batching gains, measured beside the law: S(B) at every batch size, and the ceiling that it tends to."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.analysis.calibration import LAW_LAYER, serial_visits, visits
from bench.analysis.law import LayerFit
from bench.analysis.verdict import Outcome, Value, judge, relative
from bench.theory.interval import Interval
from bench.theory.ratio import measured_ceiling, speedup_interval, upper_half

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Speedup:
    """One row of speedup.csv: S(B) measured in a layer beside the S(B) of the c and m fitted to it.

    compute: by times, really one by one; occupancy: by throughput at saturation. holds: whether they agree within the
    tolerance; outcome: what that means, "not applicable" where c and m do not hold. predicted and relative_error are
    NaN where there is no line. `why` is not in the file.
    """

    server: str
    batch_size: int
    measured: float
    measured_lo: float
    measured_hi: float
    predicted: float
    relative_error: float
    holds: bool
    layer: str
    outcome: Outcome
    why: str

    @property
    def expected(self) -> Value:
        """`predicted` as a verdict has it."""
        return "none" if math.isnan(self.predicted) else self.predicted


def speedups(server: str, samples: pd.DataFrame, fit: LayerFit, tolerance: float) -> list[Speedup]:
    """S(B) for every B > 1: serial time of B requests, really served one at a time, over the batch's time."""
    return speedups_of(server, LAW_LAYER, visits(samples, LAW_LAYER), serial_visits(samples), fit, tolerance)


def speedups_of(
    server: str, layer: str, table: pd.DataFrame, serial: pd.Series[float], fit: LayerFit, tolerance: float
) -> list[Speedup]:
    """S(B) of a layer from its visits and those to a request alone, both by block."""
    rows = []
    for batch_size in (b for b in map(int, table.columns) if b > 1):
        both = pd.concat([serial, table[batch_size]], axis=1, join="inner").dropna().to_numpy(dtype=np.float64)
        if not len(both):
            continue
        measured = speedup_interval(both[:, 0], both[:, 1], batch_size)
        found = (server, batch_size, measured.value, measured.lo, measured.hi)
        if fit.holds_from is None:
            why = "T(B) is no line, so there are no c and m to predict it from"
            rows.append(Speedup(*found, math.nan, math.nan, False, layer, "not applicable", why))
            continue
        predicted = float(fit.speedup(float(batch_size)))
        error = relative(measured, predicted)
        outcome, why = judge(error, tolerance)
        holds = outcome == "holds"
        if not fit.claims(batch_size):
            outcome, why = "not applicable", f"c and m hold from B = {fit.holds_from:g} on; with them it would be {why}"
        rows.append(Speedup(*found, predicted, error.value, holds, layer, outcome, why))
    return rows


def ceiling(samples: pd.DataFrame, smallest: float = 1.0) -> Interval | None:
    """1 + c/m without the fitted c: serial time of a request over the slope of T(B) in the upper half of the sizes.

    smallest: the batch size from which T(B) is a line.
    """
    table, serial = visits(samples, LAW_LAYER), serial_visits(samples)
    sizes = table.columns.to_numpy(dtype=np.float64)
    sizes = sizes[sizes >= smallest]
    if len(sizes) < 2 or serial.empty:
        return None
    upper = upper_half(sizes)
    both = table[[int(b) for b in upper]].join(serial.rename("serial"), how="inner").dropna()
    if both.empty:
        return None
    return measured_ceiling(both["serial"].to_numpy(), upper, both.drop(columns="serial").to_numpy())
