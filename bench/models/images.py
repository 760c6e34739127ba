"""Images of seeded noise, for a model that nobody trained: there is nothing in them to recognise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

COUNT, SEED = 64, 0
SHAPE = (3, 64, 64)


def noise_images() -> npt.NDArray[np.float32]:
    """(64, 12288) pixels from 0 to 1, an image's planes one after the other; the same on every machine."""
    return np.random.default_rng(SEED).random((COUNT, int(np.prod(SHAPE))), dtype=np.float32)
