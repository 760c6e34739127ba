"""The typical time at each batch size and its error, told from the visits alone: no line is assumed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.theory.sizes import NORMAL_MAD, Visits

Floats = NDArray[np.float64]

_K = 1.345  # as in `huber`
_MAX_ROUNDS = 50
_SETTLED = 1e-9
_SMALLEST_ERROR = 1e-9  # no clock is better


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """sizes, times_s, errors: shape (k,), ascending; an error is the standard deviation of a time, relative to it.

    `df`: the degrees of freedom of the errors, one common scatter of all visits; 0 where nothing repeats, and the
    errors are then 0: unknown. `visits`: how many there were.
    """

    sizes: Floats
    times_s: Floats
    errors: Floats
    df: int
    visits: int


def levels_by_size(visits: Visits, blocks: NDArray[np.intp] | None = None) -> Levels:
    """Huber's location of the visits to each size, spikes left out.

    blocks: shape (n,), the pass over all sizes in which each visit was made. What is common to a block, a factor on
    all of its times, is then taken out of the visits first, so that neither drift nor the state of the machine in a
    block hides a shape; a size is compared with the others of its block.
    """
    kept = visits.typical
    y, group, k = visits.relative[kept], visits.group[kept], len(visits.distinct)
    block = np.zeros(len(y), dtype=np.intp) if blocks is None else np.unique(blocks[kept], return_inverse=True)[1]
    count = int(block.max()) + 1
    df = len(y) - k - (count - 1)
    level, shared = np.ones(k), np.zeros(count)
    if df < 1:
        return Levels(visits.distinct, visits.medians, np.zeros(k), 0, len(visits))
    scale = max(visits.scatter, _SMALLEST_ERROR)
    for _ in range(_MAX_ROUNDS):
        change = _pull(y - level[group] - shared[block], group, scale)
        level = level + change
        if count > 1:
            shared = shared + _pull(y - level[group] - shared[block], block, scale)
            shared -= shared.mean()
            middle = float(np.median(np.abs(y - level[group] - shared[block])))
            scale = max(middle / NORMAL_MAD * math.sqrt(len(y) / df), _SMALLEST_ERROR)
        if np.max(np.abs(change)) <= _SETTLED:
            break
    off = y - level[group] - shared[block]
    bend = float(np.mean(np.abs(off) <= _K * scale))
    variance = float(np.sum(np.clip(off, -_K * scale, _K * scale) ** 2)) / df / max(bend, 0.5) ** 2
    errors = np.sqrt(variance / np.bincount(group, minlength=k)) / level
    return Levels(visits.distinct, visits.medians * level, np.maximum(errors, _SMALLEST_ERROR), df, len(visits))


def _pull(off: Floats, group: NDArray[np.intp], scale: float) -> Floats:
    """The weighted mean of each group, with Huber's weights for values that are off by that much."""
    weights = np.minimum(1.0, _K * scale / np.maximum(np.abs(off), 1e-300))
    return np.asarray(np.bincount(group, weights * off) / np.bincount(group, weights), dtype=np.float64)
