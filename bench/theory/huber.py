"""Linear regression by Huber's M-estimator, which spikes in a few observations hardly move.

P. J. Huber, Robust Statistics (1981), sections 7.6 to 7.8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.theory.lack_of_fit import NORMAL_MAD

Floats = NDArray[np.float64]

_K = 1.345  # 95 % of the efficiency of least squares when the noise is normal
_MAX_ITERATIONS = 200
_SETTLED = 1e-10  # relative to the largest coefficient

# More than half of the residuals are 0 when times repeat exactly; no clock is better than this.
_SMALLEST_SCALE = 1e-9


@dataclass(frozen=True, slots=True)
class HuberFit:
    """Coefficients of shape (p,), their covariance of shape (p, p), and the scale of the residuals."""

    coefficients: Floats
    covariance: Floats
    scale: float


def huber_regression(X: Floats, y: Floats, start: Floats) -> HuberFit:
    """Coefficients b that minimise Σ ρ((y − X·b)/σ), by iteratively reweighted least squares from `start`.

    X: shape (n, p), y: shape (n,), start: shape (p,), n > p. y must be of the order of 1, as relative times
    are. σ = MAD / 0.6745 of the residuals about 0, times √(n/(n − p)), again in each iteration.

    covariance = K² · [Σψ²·σ² / (n − p)] / [Σψ'/n]² · (XᵀX)⁻¹ with Huber's small-sample correction
    K = 1 + (p/n) · var(ψ')/mean(ψ')². It takes the observations for independent.
    """
    n, p = X.shape
    coefficients = start
    for _ in range(_MAX_ITERATIONS):
        residuals = y - X @ coefficients
        weights = np.minimum(1.0, _K * _scale(residuals, p) / np.maximum(np.abs(residuals), 1e-300))
        root = np.sqrt(weights)
        before = coefficients
        coefficients = np.asarray(np.linalg.lstsq(X * root[:, None], y * root, rcond=None)[0], dtype=np.float64)
        if np.max(np.abs(coefficients - before)) <= _SETTLED * np.max(np.abs(coefficients)):
            break
    residuals = y - X @ coefficients
    scale = _scale(residuals, p)
    psi = np.clip(residuals, -_K * scale, _K * scale)
    inside = (np.abs(residuals) <= _K * scale).astype(np.float64)
    # At least half of the residuals are inside, as σ is 1.48 times their median size or more.
    correction = 1 + p / n * float(np.var(inside)) / float(np.mean(inside)) ** 2
    variance = float(np.sum(psi**2)) / (n - p) / float(np.mean(inside)) ** 2
    return HuberFit(coefficients, correction**2 * variance * np.linalg.inv(X.T @ X), scale)


def _scale(residuals: Floats, p: int) -> float:
    n = len(residuals)
    return max(float(np.median(np.abs(residuals))) / NORMAL_MAD * math.sqrt(n / (n - p)), _SMALLEST_SCALE)
