"""The lack-of-fit F test: does a line miss the means by more than repeats scatter?"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bench.theory.sizes import NORMAL_MAD

# Spikes would inflate the pure error and hide a knee; a normal observation lies this far out once in 370.
_SPIKE = 3.0
_ROUNDING = 1e-18  # squared relative error of a double, with room


def lack_of_fit_p(X: NDArray[np.float64], y: NDArray[np.float64], group: NDArray[np.intp]) -> float:
    """The p value of F = [SS_lof / (k − 2)] / [SS_pe / (n − k)] for a line through n observations.

    X: shape (n, 2), y: shape (n,), both divided by the size of y so that its scatter is the same
    everywhere; group: shape (n,), the number 0 … k − 1 of the batch size of each. SS_pe is the scatter of
    the repeats about their means, SS_lof that of the means about the least-squares line. Observations
    further than 3 robust standard deviations from the median of their batch size are pulled in to that
    distance.

    NaN without repeats (n = k) or with fewer than 3 batch sizes, where there is nothing to test.
    """
    n, k = len(y), int(group.max()) + 1
    if n == k or k < 3:
        return math.nan
    medians = np.array([np.median(y[group == g]) for g in range(k)])[group]
    # The nearest to each median is left out: of 3 repeats it is the median itself and tells of no spread.
    distances = np.concatenate([np.sort(np.abs(y - medians)[group == g])[1:] for g in range(k)])
    reach = _SPIKE * float(np.median(distances)) / NORMAL_MAD
    if reach > 0:
        y = np.clip(y, medians - reach, medians + reach)
    means = np.array([np.mean(y[group == g]) for g in range(k)])[group]
    pure_error = float(np.sum((y - means) ** 2)) / (n - k)
    line = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    misfit = float(np.sum((means - line) ** 2)) / (k - 2)
    if pure_error <= _ROUNDING:
        return 1.0 if misfit <= _ROUNDING else 0.0
    return float(stats.f.sf(misfit / pure_error, k - 2, n - k))
