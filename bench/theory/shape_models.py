"""The curves that T(B) may follow, each fitted by weighted least squares to the typical time at each batch size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bench.theory.interval import Interval
from bench.theory.levels import Levels

Floats = NDArray[np.float64]

_PER_GAP = 24  # knees tried between two neighbouring sizes
_PER_PARAMETER = 3.0  # beyond Schwarz's: of 100 hinges under noise 4 were called two segments without it, 1 with it
_CHOICES = 2  # a rounding chosen from a dozen fits noise about as well as two more parameters
_SAME_SCORE = 1e-6  # multiples of 4 and of 5 may hold the same sizes: then the smaller is told, not what rounding chose
_BELOW, _ABOVE = 2, 3  # sizes that each side of a knee needs, one at the knee counted on both


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A fitted curve. chi2: Σ ((time − curve) / error)²; parameters: how many were free; curve_s: shape (k,), seconds.

    knee: where the curve bends, with the 95 % interval of its likelihood. note: what else there is to say of it.
    """

    chi2: float
    parameters: int
    curve_s: Floats
    coefficients: Floats
    knee: Interval | None = None
    note: str = ""


def line(levels: Levels) -> Curve:
    """c + m·B."""
    B = levels.sizes
    return _fit(levels, [np.ones_like(B), B])


def quadratic(levels: Levels) -> Curve | None:
    """c + m·B + a·B² with a > 0; None when it bends the other way, or with fewer than 4 sizes."""
    B = levels.sizes
    if len(B) < 4:
        return None
    curve = _fit(levels, [np.ones_like(B), B, B**2])
    return curve if curve.coefficients[2] > 0 else None


def hinge(levels: Levels) -> Curve | None:
    """max(c0, c + B·m) = c0 + m·max(0, B − knee), m > 0; None without 2 sizes up to a knee and 3 from it on."""
    curve = _with_knee(levels, lambda B, knee: [np.ones_like(B), np.maximum(0.0, B - knee)])
    return curve if curve is not None and curve.coefficients[1] > 0 else None


def two_segments(levels: Levels) -> Curve | None:
    """c + m₁·B + (m − m₁)·max(0, B − knee); None without 2 sizes up to a knee and 3 from it on."""
    return _with_knee(levels, lambda B, knee: [np.ones_like(B), B, np.maximum(0.0, B - knee)])


def staircase(levels: Levels) -> Curve | None:
    """c + m·B + s·padded(B), s > 0, m >= 0: B rounded up to a power of 2, or to a multiple of some w.

    With m = 0 first, and with m where that is better. None when no rounding leaves 2 steps of 2 sizes or more each.
    """
    B, best = levels.sizes, None
    for note, padded in _paddings(B):
        for columns in ([np.ones_like(B), padded], [np.ones_like(B), padded, B]):
            if len(columns) + _CHOICES >= len(B):
                continue
            curve = _fit(levels, columns, choices=_CHOICES, note=note)
            rises = bool(np.all(curve.coefficients[1:] > 0))
            if rises and (best is None or score(curve, levels) < score(best, levels) - _SAME_SCORE):
                best = curve
    return best


def score(curve: Curve, levels: Levels) -> float:
    """n·log(1 + χ²/df) + p·(3 + log n) of n visits and p parameters, less is better: Schwarz's criterion and 3·p."""
    penalty = _PER_PARAMETER + math.log(levels.visits)
    return levels.visits * math.log1p(curve.chi2 / levels.df) + curve.parameters * penalty


def worst_miss(curve: Curve, levels: Levels) -> float:
    """The largest |time / curve − 1|; infinite for a curve that is not above 0."""
    if np.any(curve.curve_s <= 0):
        return math.inf
    return float(np.max(np.abs(levels.times_s / curve.curve_s - 1)))


def misfit_p(curve: Curve, levels: Levels) -> float:
    """The p value of F = χ²/(k − p) with k − p and `df` degrees of freedom; 1 where nothing is left to test."""
    left = len(levels.sizes) - curve.parameters
    if left < 1:
        return 1.0
    return float(stats.f.sf(curve.chi2 / left, left, levels.df))


def bends_up_p(straight: Curve, bent: Curve | None, levels: Levels) -> float:
    """The p value of one more parameter that was found above 0, against its being 0; 1 for None.

    Half of the p value of F = (χ² of the line − χ² of the curve) with 1 and `df` degrees of freedom: aimed at one
    curve, it sees half the bend that the test of any misfit needs.
    """
    if bent is None:
        return 1.0
    return float(stats.f.sf(max(straight.chi2 - bent.chi2, 0.0), 1, levels.df)) / 2


def _fit(levels: Levels, columns: Sequence[Floats], choices: int = 0, note: str = "") -> Curve:
    X = np.column_stack(columns)
    weights = 1 / (levels.errors * levels.times_s)
    b = np.asarray(np.linalg.lstsq(X * weights[:, None], levels.times_s * weights, rcond=None)[0], dtype=np.float64)
    curve_s = X @ b
    chi2 = float(np.sum(((levels.times_s - curve_s) * weights) ** 2))
    return Curve(chi2, X.shape[1] + choices, curve_s, b, note=note)


def _with_knee(levels: Levels, columns: Callable[[Floats, Floats], list[Floats]]) -> Curve | None:
    """The best of the curves with these columns; each is given sizes of shape (1, k) and knees of shape (tried, 1)."""
    B = levels.sizes
    first, last = _BELOW - 1, len(B) - _ABOVE
    if last < first:
        return None
    knees = _between(B[first : last + 1])
    X: Floats = np.stack(np.broadcast_arrays(*columns(B[None, :], knees[:, None])), axis=2)
    if X.shape[2] + 1 >= len(B):
        return None
    weights = 1 / (levels.errors * levels.times_s)
    y = levels.times_s * weights
    fitted = np.asarray(np.linalg.pinv(X * weights[:, None]) @ y, dtype=np.float64)
    chi2 = np.sum((y - (X @ fitted[:, :, None])[:, :, 0] * weights) ** 2, axis=1)
    best = int(np.argmin(chi2))
    near = knees[chi2 <= chi2[best] + float(stats.f.ppf(0.95, 1, levels.df))]
    knee = Interval(float(knees[best]), float(near.min()), float(near.max()))
    return Curve(float(chi2[best]), X.shape[2] + 1, X[best] @ fitted[best], fitted[best], knee)


def _between(sizes: Floats) -> Floats:
    gaps = [np.linspace(a, b, _PER_GAP, endpoint=False) for a, b in pairwise(sizes)]
    return np.concatenate([*gaps, sizes[-1:]])


def _paddings(sizes: Floats) -> list[tuple[str, Floats]]:
    rounded = [("the next power of 2", 2.0 ** np.ceil(np.log2(sizes)))]
    rounded += [(f"the next multiple of {w}", w * np.ceil(sizes / w)) for w in range(2, int(sizes[-1]) + 1)]
    return [(note, padded) for note, padded in rounded if _steps(padded) >= 2]


def _steps(padded: Floats) -> int:
    """How many steps hold 2 sizes or more."""
    return int(np.count_nonzero(np.unique(padded, return_counts=True)[1] >= 2))
