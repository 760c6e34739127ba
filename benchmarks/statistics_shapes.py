"""Curves of a known shape, and what `shape_of` tells of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.theory.shape import Kind, shape_of
from benchmarks.statistics_noise import SPIKE, SPIKE_SHARE
from benchmarks.statistics_studies import VISITS

Floats = NDArray[np.float64]

OFF_GRID = np.array([1.0, 1, 1, 1, 3, 5, 7, 10, 13, 20, 24, 32, 32, 32, 32])


@dataclass(frozen=True, slots=True)
class Curve:
    """T(B) for B of shape (k,), in units of what one request adds; `kind` is what should be told of it.

    promised: the least share of simulations in which it should be.
    """

    name: str
    kind: Kind
    times: Callable[[Floats], Floats]
    promised: float


@dataclass(frozen=True, slots=True)
class ShapeStudy:
    """One curve, visited at these sizes in each block; normal noise of `sd` and spikes in 3 % of the visits."""

    curve: Curve
    sizes: tuple[float, ...]
    blocks: int
    sd: float

    def told(self, rng: np.random.Generator) -> Kind:
        """What is told in one simulation."""
        B = np.array(self.sizes)
        factors = 1 + self.sd * rng.standard_normal((self.blocks, len(B)))
        factors = np.where(rng.random(factors.shape) < SPIKE_SHARE, SPIKE * factors, factors)
        times = self.curve.times(B) * factors
        number = np.repeat(np.arange(self.blocks), len(B))
        return shape_of(np.tile(B, self.blocks), times.ravel(), blocks=number).kind


def _with_square(c: float, share: float) -> Callable[[Floats], Floats]:
    """c + B and a B² term that is this share of the time at the largest size."""

    def times(B: Floats) -> Floats:
        line = c + B
        bent: Floats = line + share / (1 - share) * line[-1] * (B / B[-1]) ** 2
        return bent

    return times


CURVES = (
    Curve("line, c/m = 2", "affine", lambda B: 2 + B, 0.98),
    Curve("line, c/m = 20", "affine", lambda B: 20 + B, 0.98),
    Curve("flat to B = 4, then c/m = 5", "hinge", lambda B: np.maximum(9, 5 + B), 0.95),
    Curve("flat to B = 4, then c/m = 20", "hinge", lambda B: np.maximum(24, 20 + B), 0.95),
    Curve("slope × 2 from B = 4, c/m = 5 below", "two segments", lambda B: 5 + B + np.maximum(0, B - 4), 0.95),
    Curve("slope × 3 from B = 4, c/m = 10 below", "two segments", lambda B: 10 + B + 2 * np.maximum(0, B - 4), 0.95),
    Curve("padded to powers of 2", "staircase", lambda B: 4 + 2.0 ** np.ceil(np.log2(B)), 0.95),
    Curve("half padded to powers of 2", "staircase", lambda B: 4 + B / 2 + 2.0 ** np.ceil(np.log2(B)) / 2, 0.95),
    Curve("waves of 4", "staircase", lambda B: 2 + 4 * np.ceil(B / 4), 0.95),
    Curve("B² term of 10 %, c/m = 2", "quadratic", _with_square(2, 0.1), 0.95),
    Curve("B² term of 10 %, c/m = 20", "quadratic", _with_square(20, 0.1), 0.95),
    Curve("B² term of 20 %, c/m = 5", "quadratic", _with_square(5, 0.2), 0.95),
)


def shape_studies() -> list[ShapeStudy]:
    """Every curve at both sets of sizes; 10 blocks and 2 % noise, and 30 with 3 %."""
    return [
        ShapeStudy(curve, tuple(sizes.tolist()), blocks, sd)
        for curve in CURVES
        for sizes, blocks, sd in ((VISITS, 10, 0.02), (VISITS, 30, 0.03), (OFF_GRID, 10, 0.02))
    ]
