"""Linear regression by Huber's M-estimator, which far-off observations hardly move.

P. J. Huber, Robust Statistics (1981), sections 7.6 to 7.8; the scale is that of his Proposal 2, section 6.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bench.theory.sizes import NORMAL_MAD

Floats = NDArray[np.float64]

_K = 1.345  # 95 % of the efficiency of least squares when the noise is normal
_MAX_ITERATIONS = 200
_SETTLED = 1e-9  # relative to the largest coefficient, and of the scale

# Times that repeat exactly scatter by nothing; no clock is better than this.
_SMALLEST_SCALE = 1e-9

_NO_SCATTER = 1e-3

# E[ψ²] of standard normal residuals.
_EXPECTED = float(
    stats.norm.cdf(_K) - stats.norm.cdf(-_K) - 2 * _K * stats.norm.pdf(_K) + 2 * _K**2 * stats.norm.sf(_K)
)


@dataclass(frozen=True, slots=True)
class HuberFit:
    """Coefficients of shape (p,), their covariance of shape (p, p), and the scale σ of the residuals.

    `influence`: shape (n, p), what each observation adds to the error of the coefficients, to first order; it
    sums to 0. Its sums over groups of observations tell the errors where observations are not independent.
    """

    coefficients: Floats
    covariance: Floats
    scale: float
    influence: Floats


def huber_regression(X: Floats, y: Floats, start: Floats) -> HuberFit:
    """Coefficients b and scale σ with Σ x·ψ((y − X·b)/σ) = 0 and Σ ψ² = (n − p)·E[ψ²], ψ(u) = u cut off at ±1.345.

    X: shape (n, p), y: shape (n,), start: shape (p,), n > p. y must be of the order of 1, as relative times
    are. Iteratively reweighted least squares from `start` and the MAD of its residuals.

    The covariance is the sandwich of both equations together, as noise that is one-sided ties the errors of b to those
    of σ, with Huber's small-sample correction K = 1 + (p/n) · var(ψ')/mean(ψ')². It takes the observations for
    independent and of one distribution.
    """
    n, p = X.shape
    coefficients = start
    scale = max(float(np.median(np.abs(y - X @ start))) / NORMAL_MAD * math.sqrt(n / (n - p)), _SMALLEST_SCALE)
    for _ in range(_MAX_ITERATIONS):
        size = np.abs(y - X @ coefficients)
        weights = np.minimum(1.0, _K * scale / np.maximum(size, 1e-300))
        weighted = X * weights[:, None]
        step = np.linalg.solve(weighted.T @ X, weighted.T @ (y - X @ coefficients))
        coefficients = coefficients + step
        cut = np.minimum(np.abs(y - X @ coefficients), _K * scale)
        before, scale = scale, max(math.sqrt(float(cut @ cut) / ((n - p) * _EXPECTED)), _SMALLEST_SCALE)
        if np.max(np.abs(step)) <= _SETTLED * np.max(np.abs(coefficients)) and abs(scale / before - 1) <= 1e-6:
            break
    u = (y - X @ coefficients) / scale
    return _with_errors(X, u, coefficients, scale)


def _with_errors(X: Floats, u: Floats, coefficients: Floats, scale: float) -> HuberFit:
    """u: the residuals over the scale. Each matrix has a row and a column for every coefficient and one for σ."""
    n, p = X.shape
    psi = np.clip(u, -_K, _K)
    inside = (np.abs(u) <= _K).astype(np.float64)
    bend = float(np.mean(inside))
    scores = np.column_stack([X * psi[:, None], psi**2 - _EXPECTED * (n - p) / n])
    slopes = np.zeros((p + 1, p + 1))
    slopes[:p, :p] = bend * (X.T @ X)
    slopes[p, p] = 2 * float(np.sum(psi * inside * u))
    if slopes[p, p] > _NO_SCATTER * n:
        slopes[:p, p] = float(np.mean(inside * u)) * X.sum(axis=0)
        slopes[p, :p] = 2 * float(np.mean(psi * inside)) * X.sum(axis=0)
    else:  # residuals of exactly 0 tell of no σ
        slopes[p, p], scores[:, p] = n, 0.0
    bread = scale * np.linalg.inv(slopes)
    spread = np.column_stack([psi, scores[:, p]])
    spread = spread.T @ spread / (n - p)
    meat = np.zeros((p + 1, p + 1))
    meat[:p, :p] = spread[0, 0] * (X.T @ X)
    meat[:p, p] = meat[p, :p] = spread[0, 1] * X.sum(axis=0)
    meat[p, p] = spread[1, 1] * n
    correction = 1 + p / n * float(np.var(inside)) / bend**2
    covariance = correction**2 * (bread @ meat @ bread.T)[:p, :p]
    return HuberFit(coefficients, covariance, scale, (scores @ bread.T)[:, :p])
