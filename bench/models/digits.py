"""The handwritten digits that scikit-learn ships: 1,797 of 8×8 pixels from 0 to 16, split once and for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

HELD_OUT = 450
SPLIT_SEED = 0


@dataclass(frozen=True, slots=True)
class Split:
    """pixels (n, 64) float32 and labels (n,) int64."""

    pixels: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


def training_and_held_out() -> tuple[Split, Split]:
    """The training digits and the 450 that training never sees; the same split on every machine."""
    data = load_digits()
    order = np.random.default_rng(SPLIT_SEED).permutation(len(data.data))
    pixels = np.ascontiguousarray(data.data[order], dtype=np.float32)
    labels = np.ascontiguousarray(data.target[order], dtype=np.int64)
    return Split(pixels[HELD_OUT:], labels[HELD_OUT:]), Split(pixels[:HELD_OUT], labels[:HELD_OUT])
