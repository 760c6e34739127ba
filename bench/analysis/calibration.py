"""calibration.csv -> c and m of every layer, the speedup and the ceiling beside the law, and their verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from bench.analysis.verdict import Verdict, judge
from bench.theory.drift import drift
from bench.theory.fit import AffineFit, fit_affine
from bench.theory.interval import Interval
from bench.theory.ratio import measured_ceiling, speedup_interval, upper_half
from bench.theory.shape import shape_of
from bench.theory.spikes import spikes

Floats = NDArray[np.float64]
# Visits to each batch size: with two, a single disturbed one moves the fit by percents.
FEWEST_BLOCKS = 10
FEWEST_TO_FIT = 3
LAW_LAYER = "compute"
SERIAL_LAYER = "compute_serial"


@dataclass(frozen=True, slots=True)
class Speedup:
    """One row of speedup.csv: S(B) measured in a layer beside B(c+m)/(c+Bm) of the c and m fitted to it.

    compute: by times, really one by one; occupancy: by throughput at saturation.
    """

    server: str
    batch_size: int
    measured: float
    measured_lo: float
    measured_hi: float
    predicted: float
    relative_error: float
    holds: bool
    layer: str = LAW_LAYER


def visits(samples: pd.DataFrame, layer: str) -> pd.DataFrame:
    """The median of each visit to a batch size: a row per block, a column per batch size, seconds."""
    chosen = samples[samples["layer"] == layer]
    return chosen.pivot_table(index="block", columns="batch_size", values="time_s", aggfunc="median")


@dataclass(frozen=True, slots=True)
class Observed:
    """The visits of one layer, each of shape (n,): batch size, median time in seconds, and the block it was made in."""

    sizes: Floats
    times_s: Floats
    blocks: NDArray[np.intp]

    @property
    def enough(self) -> bool:
        """Whether c and m can be fitted."""
        return len(np.unique(self.blocks)) > 1 and len(self.times_s) >= FEWEST_TO_FIT and len(np.unique(self.sizes)) > 1


def observed(samples: pd.DataFrame, layer: str) -> Observed:
    """Of one server's samples."""
    table = visits(samples, layer)
    times = table.to_numpy(dtype=np.float64)
    block, column = np.nonzero(np.isfinite(times))
    sizes = np.asarray(table.columns, dtype=np.float64)
    return Observed(sizes[column], times[block, column], np.asarray(table.index, dtype=np.intp)[block])


def fit_layer(samples: pd.DataFrame, layer: str, affine_tolerance: float) -> AffineFit | None:
    """c and m of one server's layer from its visits; None before there is enough to fit."""
    seen = observed(samples, layer)
    if not seen.enough:
        return None
    return fit_affine(seen.sizes, seen.times_s, affine_tolerance=affine_tolerance, blocks=seen.blocks)


def fit_all(samples: pd.DataFrame, affine_tolerance: float) -> dict[str, AffineFit]:
    """Layer -> fit, for every layer measured at more than one batch size."""
    fits = {layer: fit_layer(samples, str(layer), affine_tolerance) for layer in sorted(samples["layer"].unique())}
    return {layer: fit for layer, fit in fits.items() if fit is not None}


def precise_enough(samples: pd.DataFrame, precision: float, layer: str = LAW_LAYER) -> bool:
    """Whether the 95 % intervals of a layer's c and m are within ±precision of them."""
    if samples.empty or samples["block"].nunique() < FEWEST_BLOCKS:
        return False
    seen = observed(samples, layer)
    if not seen.enough:
        return False
    # Both must be: with the errors over blocks alone, one lucky block in a row of looks would end it.
    fits = (fit_affine(seen.sizes, seen.times_s, blocks=blocks) for blocks in (None, seen.blocks))
    return all(fit.precision <= precision for fit in fits)


def speedups(server: str, samples: pd.DataFrame, fit: AffineFit, tolerance: float) -> list[Speedup]:
    """S(B) for every B > 1: serial time of B requests, really served one at a time, over the batch's time."""
    table, serial = visits(samples, LAW_LAYER), _serial(samples)
    rows = []
    for batch_size in (b for b in (int(column) for column in table.columns) if b > 1):
        one, batch = _paired(serial, table[batch_size])
        if not len(one):
            continue
        measured = speedup_interval(one, batch, batch_size)
        predicted = float(fit.model.speedup(batch_size))
        error = _relative(measured, predicted)
        holds = judge(error, tolerance)[0] == "holds"
        rows.append(
            Speedup(server, batch_size, measured.value, measured.lo, measured.hi, predicted, error.value, holds)
        )
    return rows


def ceiling(samples: pd.DataFrame) -> Interval | None:
    """1 + c/m without the fitted c: serial time of a request over the slope of T(B) in the upper half of the sizes."""
    table, serial = visits(samples, LAW_LAYER), _serial(samples)
    upper = upper_half(np.asarray(table.columns, dtype=np.float64))
    if len(upper) < 2 or serial.empty:
        return None
    both = table[[int(b) for b in upper]].join(serial.rename("serial"), how="inner").dropna()
    if both.empty:
        return None
    return measured_ceiling(both["serial"].to_numpy(), upper, both.drop(columns="serial").to_numpy())


def law_verdicts(
    server: str,
    samples: pd.DataFrame,
    fit: AffineFit,
    rows: list[Speedup],
    *,
    precision: float,
    affine_tolerance: float,
    speedup_tolerance: float,
    ceiling_tolerance: float,
) -> list[Verdict]:
    """Precision of the fit, straightness of the line, S(B) at every B, and the ceiling."""
    disturbances = _disturbances(samples)
    verdicts = [_precision(server, fit, precision, disturbances), _affine(server, samples, fit, affine_tolerance)]
    for row in rows:
        measured = Interval(row.measured, row.measured_lo, row.measured_hi)
        outcome, why = judge(_relative(measured, row.predicted), speedup_tolerance)
        subject = f"B={row.batch_size}"
        verdicts.append(
            Verdict("speedup", server, subject, row.predicted, row.measured, speedup_tolerance, outcome, why)
        )
    verdicts.append(_ceiling(server, samples, fit, ceiling_tolerance))
    return verdicts


def _precision(server: str, fit: AffineFit, asked: float, disturbances: str) -> Verdict:
    why = f"95 % intervals of c and m after {fit.samples} visits{disturbances}"
    if fit.precision <= asked:
        return Verdict("precision", server, "c and m", asked, fit.precision, asked, "holds", why)
    if fit.precision <= 0.25:
        why += "; max_duration was over before they were as narrow as asked, they stand as they are"
        return Verdict("precision", server, "c and m", asked, fit.precision, asked, "not applicable", why)
    why += "; too wide to say what c and m are: raise calibration.max_duration, or quieten the machine"
    return Verdict("precision", server, "c and m", asked, fit.precision, asked, "invalid", why)


def _disturbances(samples: pd.DataFrame) -> str:
    """What else went on while the visits were made, in words that follow a semicolon; empty when nothing did."""
    seen = observed(samples, LAW_LAYER)
    told = (drift(visits(samples, LAW_LAYER).to_numpy(dtype=np.float64)).words, spikes(seen.sizes, seen.times_s).words)
    return "".join(f"; {words}" for words in told if words)


def _affine(server: str, samples: pd.DataFrame, fit: AffineFit, tolerance: float) -> Verdict:
    """Judged at the batch size whose visits lie furthest from the line."""
    table = visits(samples, LAW_LAYER)
    errors = {int(b): table[b].dropna().to_numpy(dtype=np.float64) / fit.predict(float(b)) - 1 for b in table.columns}
    worst = max(errors, key=lambda b: abs(float(np.median(errors[b]))))
    outcome, text = judge(_median_interval(errors[worst]), tolerance)
    why = f"B={worst} {text}; lack of fit p = {fit.lack_of_fit_p:.2g}"
    if outcome == "fails":
        seen = observed(samples, LAW_LAYER)
        shape = shape_of(seen.sizes, seen.times_s, blocks=seen.blocks)
        seems = "" if shape.kind == "affine" else f": {shape.words}"
        why += f"; T(B) is no line here{seems}; look at plots/latency_vs_batch.png"
    return Verdict("affine", server, "T(B) = c + Bm", 0.0, fit.max_residual, tolerance, outcome, why)


def _relative(measured: Interval, expected: float) -> Interval:
    return Interval(measured.value / expected - 1, measured.lo / expected - 1, measured.hi / expected - 1)


def _median_interval(values: Floats) -> Interval:
    """Median and the order statistics that enclose it with 95 % (binomial); of few values, the smallest and largest."""
    ordered = np.sort(values)
    k = int(stats.binom.ppf(0.025, len(ordered), 0.5))
    low = max(0, k - 1)
    return Interval(float(np.median(ordered)), float(ordered[low]), float(ordered[len(ordered) - 1 - low]))


def _ceiling(server: str, samples: pd.DataFrame, fit: AffineFit, tolerance: float) -> Verdict:
    measured = ceiling(samples)
    subject = "1 + c/m"
    bounds = () if measured is None else (fit.ceiling, fit.ceiling_hi, measured.value, measured.hi)
    if measured is None or not all(map(math.isfinite, bounds)):
        why = "m cannot be told from 0, so there is no ceiling to compare" if measured else "too few batch sizes"
        return Verdict("ceiling", server, subject, fit.ceiling, "unbounded", tolerance, "not applicable", why)
    outcome, why = judge(_relative(measured, fit.ceiling), tolerance)
    largest = float(samples.loc[samples["layer"] == LAW_LAYER, "batch_size"].max())
    if largest < 4 * (fit.ceiling - 1):
        reached = float(fit.model.speedup(largest)) / fit.ceiling
        why += f"; an extrapolation: B = {largest:.0f} reaches {reached:.0%} of it"
        if outcome == "invalid":
            outcome = "not applicable"  # what no batch came near cannot be measured, however long one tries
    return Verdict("ceiling", server, subject, fit.ceiling, measured.value, tolerance, outcome, why)


def _serial(samples: pd.DataFrame) -> pd.Series[float]:
    table = visits(samples, SERIAL_LAYER)
    return table[1] if 1 in table.columns else pd.Series(dtype=float)


def _paired(serial: pd.Series[float], batch: pd.Series[float]) -> tuple[Floats, Floats]:
    both = pd.concat([serial, batch], axis=1, join="inner").dropna().to_numpy(dtype=np.float64)
    return both[:, 0], both[:, 1]
