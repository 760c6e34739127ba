"""A straight line by least squares, for what scatters alike whatever its size: bytes, as they are counted."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from bench.theory.interval import Interval, fieller

FEWEST_POINTS = 3


@dataclass(frozen=True, slots=True)
class LineFit:
    """y = a + b·x: both with their 95 % intervals, in the unit of y. scatter: standard deviation of y about the line;
    largest_x: of the points; t: the quantile of Student's t that the intervals have."""

    a: Interval
    b: Interval
    scatter: float
    points: int
    largest_x: float
    variance_a: float
    covariance: float
    variance_b: float
    t: float

    @property
    def grows(self) -> bool:
        """Whether b can be told from 0, and is above it."""
        return self.b.lo > 0

    def predict(self, x: float) -> float:
        """a + b·x."""
        return self.a.value + self.b.value * x

    def half_width(self, x: float) -> float:
        """Of the 95 % interval of the line at x."""
        variance = self.variance_a + 2 * x * self.covariance + x * x * self.variance_b
        return self.t * math.sqrt(max(variance, 0.0))

    def reaches(self, y: float) -> Interval:
        """The x at which the line comes to y, (y − a)/b, with Fieller's interval; hi is infinite unless the line grows.

        0 … 0 where the line begins above y.
        """
        if y <= self.a.value:
            return Interval(0.0, 0.0, 0.0)
        found = fieller(y - self.a.value, self.b.value, self.variance_a, -self.covariance, self.variance_b, self.t)
        return Interval(found.value, max(found.lo, 0.0), found.hi)


def fit_line(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> LineFit:
    """Least squares, all points of one weight. x, y: shape (n,), n >= 3, two different x at the least.

    The intervals are t intervals with n − 2 degrees of freedom. Raises ValueError for fewer points, for arrays that do
    not match, and for values that are not finite.
    """
    at, seen = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if at.ndim != 1 or at.shape != seen.shape or not np.all(np.isfinite(at) & np.isfinite(seen)):
        raise ValueError(f"expected two arrays of finite values of one length, got shapes {at.shape} and {seen.shape}")
    if len(at) < FEWEST_POINTS or len(np.unique(at)) < 2:
        raise ValueError(f"a line needs at least 3 points at 2 different x, got {len(at)} at {len(np.unique(at))}")
    n, middle = len(at), float(at.mean())
    spread = float(np.sum((at - middle) ** 2))
    b = float(np.sum((at - middle) * (seen - seen.mean()))) / spread
    a = float(seen.mean()) - b * middle
    variance = float(np.sum((seen - a - b * at) ** 2)) / (n - 2)
    variance_b = variance / spread
    variance_a = variance / n + middle**2 * variance_b
    t = float(stats.t.ppf((1 + confidence) / 2, n - 2))
    half_a, half_b = t * math.sqrt(variance_a), t * math.sqrt(variance_b)
    return LineFit(
        Interval(a, a - half_a, a + half_a),
        Interval(b, b - half_b, b + half_b),
        math.sqrt(variance),
        n,
        float(at.max()),
        variance_a,
        -middle * variance_b,
        variance_b,
        t,
    )
