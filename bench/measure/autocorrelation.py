"""How many independent values a run of correlated ones is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def effective_sample_size(values: ArrayLike) -> float:
    """n / τ, at most n: as many independent values would tell the mean as well. τ as in `autocorrelation_time`.

    values: shape (n,), in the order of time, in any unit. Raises ValueError for no values or some that are not finite.
    """
    series = _checked(values)
    return len(series) / autocorrelation_time([series])


def autocorrelation_time(runs: Sequence[ArrayLike]) -> float:
    """τ = 1 + 2·Σ ρ_k, at least 1: the integrated autocorrelation time of a stationary process, in values.

    runs: one array or several independent ones of the same process, each in the order of time. ρ_k is the
    autocorrelation at lag k about the mean of all. The sum ends where two neighbouring terms together are no longer
    above 0, and no pair counts for more than the one before: Geyer's initial monotone sequence (Stat. Sci. 7, 1992,
    section 3.3). O(n log n) by the fast Fourier transform. 1 where all values are equal.

    Raises ValueError for no values or some that are not finite.
    """
    series = [_checked(values) for values in runs]
    if not series:
        raise ValueError("expected at least 1 run")
    mean = float(np.mean(np.concatenate(series)))
    longest = max(len(values) for values in series)
    total = np.zeros(longest)
    for values in series:
        total[: len(values)] += _products(values - mean)
    if not total[0] > 0:
        return 1.0
    rho = total / total[0]
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    over = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: over[0] if len(over) else len(pairs)])
    return max(1.0, 2 * float(pairs.sum()) - 1)


def _products(centred: Floats) -> Floats:
    """Σ_i x_i·x_{i+k} for each lag k, shape (n,)."""
    n = len(centred)
    padded = 2 ** math.ceil(math.log2(2 * n))  # so that the end does not meet the start
    transformed = np.fft.rfft(centred, padded)
    products: Floats = np.fft.irfft(transformed * np.conj(transformed), padded)[:n]
    return products


def _checked(values: ArrayLike) -> Floats:
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1 or not len(series) or not np.all(np.isfinite(series)):
        raise ValueError(f"expected an array of finite values, not empty, got shape {series.shape}")
    return series
