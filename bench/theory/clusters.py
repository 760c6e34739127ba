"""The covariance of a regression whose observations come in blocks that share the state of the machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# With fewer, Student's t is so wide that it says less than visits taken for independent.
FEWEST_BLOCKS = 6
# Fewer starts of a server, and t with fewer than 4 degrees of freedom, say next to nothing.
FEWEST_STARTS = 5
# The slow swings of a machine last for several blocks. Ten stretches of blocks are nearly independent once a stretch
# is longer than a swing, and t with 8 degrees of freedom is 18 % wider than the normal quantile.
STRETCHES = 10


@dataclass(frozen=True, slots=True)
class Clustered:
    """A covariance of shape (p, p) and its degrees of freedom."""

    covariance: Floats
    df: int


def stretches(blocks: NDArray[np.intp]) -> NDArray[np.intp]:
    """The number 0 … K − 1 of each observation's stretch of consecutive blocks; blocks: shape (n,), in time order.

    Every block is a stretch of its own up to 19 blocks; from 20 on there are 10 stretches of nearly equal length.
    """
    distinct, index = np.unique(blocks, return_inverse=True)
    count = len(distinct)
    if count < 2 * STRETCHES:
        return np.asarray(index, dtype=np.intp)
    return np.asarray(index * STRETCHES // count, dtype=np.intp)


def clustered_covariance(influence: Floats, cluster: NDArray[np.intp], *, trend: bool = True) -> Clustered:
    """Covariance of p coefficients, with clusters of observations for the units of chance.

    influence: shape (n, p), what each observation adds to the error of each coefficient; cluster: shape (n,),
    0 … K − 1 in time order. With the sums s_k over cluster k it is K·Σ e_k·e_kᵀ / (K − 2) from the residuals e_k of
    the sums about a straight line in k, and has K − 2 degrees of freedom. Where every block holds the same sizes this
    is the t interval of the mean of the blocks' own c and m.

    What the visits of a cluster share is in its sum, so a level that differs from block to block widens c and m, and
    not c/m, where it cancels. A steady drift is in the line and not in the residuals: c and m are those of the middle
    of the run. Liang and Zeger, Biometrika 73 (1986), for the form without the line. Levels that stay for longer
    than a cluster make it too narrow.

    trend: whether there is such a line. Without it, as for starts of a server, which have no slow swing in common, the
    residuals are those about the mean of the sums, and it is K·Σ e_k·e_kᵀ / (K − 1) with K − 1 degrees of freedom.

    Raises ValueError for fewer than 3 clusters.
    """
    count = int(cluster.max()) + 1
    if count < 3:
        raise ValueError(f"a covariance over clusters needs at least 3 of them, got {count}")
    sums = np.stack([np.bincount(cluster, weights=column, minlength=count) for column in influence.T])
    if not trend:
        off_mean = sums - sums.mean(axis=1, keepdims=True)
        return Clustered(count / (count - 1) * (off_mean @ off_mean.T), count - 1)
    time = np.arange(count) - (count - 1) / 2
    off_line = sums - sums.mean(axis=1, keepdims=True) - np.outer(sums @ time, time) / float(time @ time)
    return Clustered(count / (count - 2) * (off_line @ off_line.T), count - 2)
