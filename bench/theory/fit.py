"""Fits T(B) = c + B·m to measured batch times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bench.theory.huber import huber_regression
from bench.theory.interval import Interval, fieller
from bench.theory.lack_of_fit import lack_of_fit_p
from bench.theory.law import CostModel, Size

Shape = Literal["affine", "not affine"]


@dataclass(frozen=True, slots=True)
class AffineFit:
    """c and m in seconds and the ceiling 1 + c/m, with intervals, and how well the line fits.

    The figures are as estimated: c may be a little below 0 where there is hardly any overhead, and the
    ceiling then a little below 1. `ceiling_hi` is infinite when m is not distinguishable from 0, and
    `ceiling` is when m <= 0. `max_residual` is the largest |median(T at B) / fit(B) − 1|; `shape` says
    whether it is within the tolerance. `lack_of_fit_p` is NaN without repeats or with 2 batch sizes.
    `samples` counts observations.
    """

    c_s: float
    c_lo_s: float
    c_hi_s: float
    m_s: float
    m_lo_s: float
    m_hi_s: float
    ceiling: float
    ceiling_lo: float
    ceiling_hi: float
    shape: Shape
    lack_of_fit_p: float
    max_residual: float
    samples: int

    @property
    def model(self) -> CostModel:
        """The law with these c and m, a negative one taken as 0 and the other kept.

        A server without overhead gives c = 0 ± noise, so half of its fits lie below 0. When `c_hi_s` is
        below 0 too, the time grows faster than in proportion to B and the law is not the right description.
        """
        return CostModel(max(self.c_s, 0.0), max(self.m_s, 0.0))

    @property
    def precision(self) -> float:
        """The wider of the relative half-widths of c and m; infinite when either is not above 0."""
        if self.c_s <= 0 or self.m_s <= 0:
            return math.inf
        return max(
            Interval(self.c_s, self.c_lo_s, self.c_hi_s).half_width_relative,
            Interval(self.m_s, self.m_lo_s, self.m_hi_s).half_width_relative,
        )

    def predict(self, B: Size) -> Size:
        """c + B·m in seconds with the figures as estimated; B a number or an array."""
        return self.c_s + B * self.m_s


def fit_affine(
    batch_sizes: ArrayLike, times_s: ArrayLike, confidence: float = 0.95, affine_tolerance: float = 0.05
) -> AffineFit:
    """The line c + B·m through observed batch times, by Huber regression on relative residuals.

    batch_sizes, times_s: shape (n,), one entry per observation, which is the median time in seconds of one
    visit to a batch size; a batch size may be visited often. Residuals are taken relative to the median
    time at their batch size, that is weights 1/T²: the noise of a time grows with it. The start is weighted
    least squares on those medians. The intervals of c and m are t intervals with n − 2 degrees of freedom,
    that of the ceiling is Fieller's; all take visits for independent, so drift between visits must be
    broken up by their order.

    Raises ValueError for arrays that do not match, times or sizes that are not finite and above 0, fewer
    than 2 batch sizes or fewer than 3 observations, and a confidence outside 0 … 1.
    """
    sizes, times = _observations(batch_sizes, times_s)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    distinct, group = np.unique(sizes, return_inverse=True)
    if len(distinct) < 2 or len(times) < 3:
        raise ValueError(
            f"a fit of c and m needs at least 2 batch sizes and 3 observations, got {len(distinct)} and {len(times)}"
        )
    medians = np.array([np.median(times[group == g]) for g in range(len(distinct))])
    X = np.column_stack([np.ones_like(sizes), sizes]) / medians[group][:, None]
    y = times / medians[group]
    on_medians = np.column_stack([np.ones_like(distinct), distinct]) / medians[:, None]
    start = np.linalg.lstsq(on_medians, np.ones_like(distinct), rcond=None)[0]
    fitted = huber_regression(X, y, start)

    c, m = (float(x) for x in fitted.coefficients)
    (var_c, cov), (_, var_m) = fitted.covariance.tolist()
    t = float(stats.t.ppf((1 + confidence) / 2, len(times) - 2))
    half_c, half_m = t * math.sqrt(var_c), t * math.sqrt(var_m)
    ratio = fieller(c, m, var_c, cov, var_m, t)
    max_residual = _max_residual(medians, c + distinct * m)
    return AffineFit(
        c_s=c,
        c_lo_s=c - half_c,
        c_hi_s=c + half_c,
        m_s=m,
        m_lo_s=m - half_m,
        m_hi_s=m + half_m,
        ceiling=1 + ratio.value,
        ceiling_lo=1 + ratio.lo,
        ceiling_hi=1 + ratio.hi,
        shape="affine" if max_residual <= affine_tolerance else "not affine",
        lack_of_fit_p=lack_of_fit_p(X, y, group),
        max_residual=max_residual,
        samples=len(times),
    )


def _max_residual(medians: NDArray[np.float64], line: NDArray[np.float64]) -> float:
    # A line at or below 0 describes no time at all.
    if np.any(line <= 0):
        return math.inf
    return float(np.max(np.abs(medians / line - 1)))


def _observations(batch_sizes: ArrayLike, times_s: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    sizes = np.asarray(batch_sizes, dtype=np.float64)
    times = np.asarray(times_s, dtype=np.float64)
    if sizes.ndim != 1 or sizes.shape != times.shape:
        raise ValueError(f"expected two arrays of one length, got shapes {sizes.shape} and {times.shape}")
    for name, values in (("batch sizes", sizes), ("times", times)):
        wrong = values[~(np.isfinite(values) & (values > 0))]
        if len(wrong):
            raise ValueError(f"{name} must be finite and above 0, got {wrong[0]}")
    return sizes, times
