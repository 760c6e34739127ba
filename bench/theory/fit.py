"""Fits T(B) = c + B·m to measured batch times."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bench.theory.clusters import FEWEST_BLOCKS, FEWEST_STARTS, Clustered, clustered_covariance, stretches
from bench.theory.huber import HuberFit, huber_regression
from bench.theory.interval import Interval, fieller
from bench.theory.lack_of_fit import lack_of_fit_p
from bench.theory.law import CostModel, Size
from bench.theory.medians import line_of_medians
from bench.theory.sizes import visits_by_size

# Standard deviation of what two readings of a clock around a batch leave out or add, in seconds.
READING_S = 0.3e-6

# At B = 4·c/m batching reaches 80 % of its ceiling.
_CEILING_SEEN_FROM = 4.0


@dataclass(frozen=True, slots=True)
class AffineFit:
    """c and m in seconds and the ceiling 1 + c/m, with intervals, and how well the line fits.

    The figures are as estimated: c may be a little below 0 where there is hardly any overhead, and the
    ceiling then a little below 1. `ceiling_hi` is infinite when m is not distinguishable from 0, and
    `ceiling` is when m <= 0. `max_residual` is the largest |median(T at B) / fit(B) − 1|; `shape` is
    "affine" where it is within the tolerance, else "not affine". `lack_of_fit_p` is NaN without repeats
    or with 2 batch sizes. `samples` counts observations, spikes too; `largest_batch` is the largest B among
    them, NaN if not told.
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
    shape: str
    lack_of_fit_p: float
    max_residual: float
    samples: int
    largest_batch: float = math.nan

    @property
    def unbounded(self) -> bool:
        """Whether m cannot be told from 0, so that the ceiling has no upper end."""
        return math.isinf(self.ceiling_hi)

    @property
    def extrapolation(self) -> bool:
        """Whether the largest batch is below 4·c/m and so reaches less than 80 % of the ceiling: nobody has seen it."""
        return self.largest_batch * self.m_s < _CEILING_SEEN_FROM * self.c_s

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
    batch_sizes: ArrayLike,
    times_s: ArrayLike,
    confidence: float = 0.95,
    affine_tolerance: float = 0.05,
    blocks: ArrayLike | None = None,
    starts: ArrayLike | None = None,
) -> AffineFit:
    """The line c + B·m through observed batch times, by Huber regression on relative residuals.

    batch_sizes, times_s: shape (n,), one entry per observation, which is the median time in seconds of one
    visit to a batch size; a batch size may be visited often. Residuals are taken relative to the median
    time at their batch size, that is weights 1/T²: the noise of a time grows with it. The start is weighted
    least squares on those medians. Spikes, visits further than 8 robust standard deviations from the median of their
    size, are left out. Of noise that is one-sided the line is that of a typical visit, between median and mean; such
    noise lifts c and m alike and leaves c/m.

    blocks: shape (n,), whole numbers in the order of time: the pass over all sizes in which each visit was made. What
    the visits of a block share, they do not show independently, so with 6 blocks or more the errors are those of
    `clustered_covariance`, and a steady drift counts for none. Without blocks, or with fewer, all visits are taken for
    independent: then a drift makes the intervals too wide, and levels that differ from block to block make those of c
    and m too narrow.

    starts: shape (n,), whole numbers: the start of the server after which each visit was made. A server that is started
    anew may be a little faster or slower until it ends, which no number of blocks shows. With 5 starts or more the
    errors are taken over them, and hold for the next start too; with fewer, over blocks: then they hold for these.

    Nothing is known to better than `READING_S`, which is in the errors. The intervals of c and m are t intervals,
    with n − 2 degrees of freedom, K − 2 of K stretches of blocks, or K − 1 of K starts; that of the ceiling is
    Fieller's.

    Raises ValueError for arrays that do not match, times or sizes that are not finite and above 0, fewer
    than 2 batch sizes or fewer than 3 observations, and a confidence outside 0 … 1.
    """
    visits = visits_by_size(batch_sizes, times_s)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    distinct = visits.distinct
    if len(distinct) < 2 or len(visits) < 3:
        raise ValueError(
            f"a fit of c and m needs at least 2 batch sizes and 3 observations, got {len(distinct)} and {len(visits)}"
        )
    X = np.column_stack([np.ones_like(visits.sizes), visits.sizes]) / visits.medians[visits.group][:, None]
    y = visits.relative
    start = line_of_medians(visits)
    kept = visits.typical
    fitted = huber_regression(X[kept], y[kept], np.array([start.c_s, start.m_s]))
    told = [None if given is None else _whole_numbers(given, len(visits))[kept] for given in (blocks, starts)]
    errors = _errors(fitted, *told)

    c, m = (float(x) for x in fitted.coefficients)
    (var_c, cov), (_, var_m) = errors.covariance.tolist()
    # However well times repeat, what lies between two readings of a clock is shared by all of them.
    var_c, var_m = var_c + READING_S**2, var_m + (READING_S / float(distinct[-1])) ** 2
    t = float(stats.t.ppf((1 + confidence) / 2, errors.df))
    half_c, half_m = t * math.sqrt(var_c), t * math.sqrt(var_m)
    ratio = fieller(c, m, var_c, cov, var_m, t)
    max_residual = _max_residual(visits.medians, c + distinct * m)
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
        lack_of_fit_p=lack_of_fit_p(X, y, visits.group),
        max_residual=max_residual,
        samples=len(visits),
        largest_batch=float(distinct[-1]),
    )


def _errors(fitted: HuberFit, blocks: NDArray[np.intp] | None, starts: NDArray[np.intp] | None) -> Clustered:
    if starts is not None and len(np.unique(starts)) >= FEWEST_STARTS:
        each = np.unique(starts, return_inverse=True)[1].astype(np.intp)
        return clustered_covariance(fitted.influence, each, trend=False)
    if blocks is None or len(np.unique(blocks)) < FEWEST_BLOCKS:
        return Clustered(fitted.covariance, len(fitted.influence) - 2)
    return clustered_covariance(fitted.influence, stretches(blocks))


def _whole_numbers(given: ArrayLike, n: int) -> NDArray[np.intp]:
    numbers = np.asarray(given)
    if numbers.shape != (n,) or not np.all(np.equal(numbers, np.floor(numbers))):
        raise ValueError(f"expected {n} whole block or start numbers, one for each time, got shape {numbers.shape}")
    return numbers.astype(np.intp)


def _max_residual(medians: NDArray[np.float64], line: NDArray[np.float64]) -> float:
    # A line at or below 0 describes no time at all.
    if np.any(line <= 0):
        return math.inf
    return float(np.max(np.abs(medians / line - 1)))
