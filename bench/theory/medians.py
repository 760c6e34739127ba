"""The line through the median time at each batch size: what stands beside the Huber fit, and where that starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bench.theory.law import Size
from bench.theory.sizes import Visits, visits_by_size


@dataclass(frozen=True, slots=True)
class Line:
    """c + B·m with c_s = c, m_s = m in seconds, as estimated: either may be below 0 by chance."""

    c_s: float
    m_s: float

    def predict(self, B: Size) -> Size:
        """c + B·m in seconds; B a number or an array."""
        return self.c_s + B * self.m_s


def fit_medians(batch_sizes: ArrayLike, times_s: ArrayLike) -> Line:
    """Weighted least squares through the median time at each batch size, weights 1/T².

    batch_sizes, times_s: shape (n,), seconds. Every size counts alike, however often it was visited. A median does not
    move with spikes in fewer than half of the visits to a size; its error is a quarter larger than that of a mean
    where the noise is normal, √(π/2).

    Raises ValueError for arrays that do not match, values not finite and above 0, and fewer than 2 batch sizes.
    """
    visits = visits_by_size(batch_sizes, times_s)
    if len(visits.distinct) < 2:
        raise ValueError(f"a line needs at least 2 batch sizes, got {len(visits.distinct)}")
    return line_of_medians(visits)


def line_of_medians(visits: Visits) -> Line:
    """As `fit_medians`, of visits that have been grouped already."""
    sizes, medians = visits.distinct, visits.medians
    X = np.column_stack([np.ones_like(sizes), sizes]) / medians[:, None]
    c, m = np.linalg.lstsq(X, np.ones_like(sizes), rcond=None)[0].tolist()
    return Line(c, m)
