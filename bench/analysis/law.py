"""c and m of every layer, with the shape of T(B) and the batch sizes for which they are claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.analysis.calibration import Observed, observed
from bench.analysis.verdict import Outcome, judge
from bench.theory.fit import AffineFit, fit_affine
from bench.theory.interval import Interval
from bench.theory.law import Size
from bench.theory.medians import fit_medians
from bench.theory.ratio import paired_ratio
from bench.theory.shape import Shape, shape_of

Floats = NDArray[np.float64]
# Beyond a quarter it is not known what c and m are.
KNOWN = 0.25
_SHORTEST_S = 1e-9  # in place of a line at or below 0, which no time follows


@dataclass(frozen=True, slots=True)
class LayerFit(AffineFit):
    """One row of fit.csv: c and m, and the batch size from which they hold; nowhere where that is None.

    `shape`: the kind that `shape_of` tells, to 1 %. A line within `affine_tolerance` holds whatever its finer shape.
    Where there is no line, c and m are those of the best one, and nothing is claimed of them. knee_lo, knee_hi: the
    interval of the knee, NaN without one; c_median_s, m_median_s: the line through the medians of the same visits;
    alone_s: T(1), c + m where they hold from 1 on and else as measured; shape_words: a sentence without a full stop.
    """

    holds_from: float | None = None
    knee_lo: float = math.nan
    knee_hi: float = math.nan
    c_median_s: float = math.nan
    m_median_s: float = math.nan
    alone_s: float = math.nan
    shape_words: str = ""

    @property
    def has_knee(self) -> bool:
        """Whether c and m hold from a knee on and not below."""
        return self.holds_from is not None and not math.isnan(self.knee_lo)

    def claims(self, batch_size: float) -> bool:
        """Whether T(B) = c + B·m is said of that size."""
        return self.holds_from is not None and batch_size >= self.holds_from

    def speedup(self, B: Size) -> Size:
        """B·T(1) / (c + B·m): that is B·(c + m) / (c + B·m) where c and m hold for a request alone too."""
        return B * self.alone_s / self.model.batch_time_s(B)

    @property
    def speedup_limit(self) -> float:
        """T(1)/m, what `speedup` tends to; 1 + c/m where c and m hold for a request alone too; infinite when m <= 0."""
        return self.alone_s / self.m_s if self.m_s > 0 else math.inf


@dataclass(frozen=True, slots=True)
class Straightness:
    """How the line through all visits, `whole`, is judged: at the batch size whose visits lie furthest from it.

    error: of their time relative to the line, with its 95 % interval.
    """

    worst: int
    error: Interval
    outcome: Outcome
    text: str
    whole: AffineFit


def fit_layer(samples: pd.DataFrame, layer: str, affine_tolerance: float) -> LayerFit | None:
    """c and m of one server's layer from its visits; None before there is enough to fit."""
    seen = observed(samples, layer)
    return fit_visits(seen, affine_tolerance) if seen.enough else None


def fit_visits(seen: Observed, affine_tolerance: float) -> LayerFit:
    """c and m of visits that are enough to fit, from the knee on where T(B) has one.

    A knee that the tolerance allows, and beyond which c and m are not known, does not count.
    """
    line = straightness(seen, affine_tolerance)
    shape = shape_of(seen.sizes, seen.times_s, blocks=seen.blocks, starts=seen.starts)
    holds = line.outcome != "fails"
    if shape.knee is not None and shape.fit is not None and not (holds and shape.fit.precision > KNOWN):
        return _beyond_knee(seen, shape, shape.fit, shape.knee)
    everywhere = holds or shape.kind == "affine"
    return _row(line.whole, shape, seen, holds_from=float(seen.sizes.min()) if everywhere else None)


def fit_all(samples: pd.DataFrame, affine_tolerance: float) -> dict[str, LayerFit]:
    """Layer -> fit, for every layer measured at more than one batch size."""
    fits = {layer: fit_layer(samples, str(layer), affine_tolerance) for layer in sorted(samples["layer"].unique())}
    return {layer: fit for layer, fit in fits.items() if fit is not None}


def straightness(seen: Observed, tolerance: float) -> Straightness:
    """Whether one line through all batch sizes is within the tolerance of each, of visits that are enough to fit."""
    whole = fit_affine(seen.sizes, seen.times_s, blocks=seen.blocks, starts=seen.starts)
    sizes = np.unique(seen.sizes)
    errors = {int(B): _off_line(seen.by_block(B), float(whole.predict(float(B))), len(sizes)) for B in sizes}
    worst = max(errors, key=lambda B: abs(errors[B].value))
    outcome, text = judge(errors[worst], tolerance)
    return Straightness(worst, errors[worst], outcome, text, whole)


def _off_line(times_s: Floats, line_s: float, sizes: int) -> Interval:
    """The median of time / line − 1, with an interval that all of so many batch sizes keep together with 95 %.

    It is the worst of them that is looked at. The ends are those of a trimmed mean, see `paired_ratio`.
    """
    line = np.full_like(times_s, max(line_s, _SHORTEST_S))
    value, ends = float(np.median(times_s / line)), paired_ratio(times_s, line, 1 - 0.05 / sizes)
    return Interval(value - 1, min(ends.lo, value) - 1, max(ends.hi, value) - 1)


def _beyond_knee(seen: Observed, shape: Shape, upper: AffineFit, knee: Interval) -> LayerFit:
    columns = {"holds_from": shape.holds_from, "knee_lo": knee.lo, "knee_hi": knee.hi}
    alone = seen.at(1.0)
    if len(alone):
        columns["alone_s"] = float(np.median(alone))
    return _row(upper, shape, seen.since(knee.hi), **columns)


def _row(fit: AffineFit, shape: Shape, fitted: Observed, **columns: float | None) -> LayerFit:
    medians = fit_medians(fitted.sizes, fitted.times_s)
    found = {field.name: getattr(fit, field.name) for field in fields(AffineFit)} | {
        "shape": shape.kind,
        "c_median_s": medians.c_s,
        "m_median_s": medians.m_s,
        "alone_s": float(fit.model.batch_time_s(1.0)),
        "shape_words": shape.words,
    }
    return LayerFit(**(found | columns))
