"""Do the visits become slower or faster from block to block?"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bench.theory.clusters import FEWEST_BLOCKS, stretches

Floats = NDArray[np.float64]

# Less is no matter for figures that are told to a percent or so, however surely it is there.
_LEAST_TOTAL = 0.02


@dataclass(frozen=True, slots=True)
class Drift:
    """Growth of all times from one block to the next, as a share of the time, with its 95 % interval.

    `total`: from the first block to the last. `found`: the interval is on one side of 0 and |total| is 2 % or more.
    """

    relative_per_block: float
    lo: float
    hi: float
    total: float
    found: bool

    @property
    def words(self) -> str:
        """One sentence without a full stop; empty where no drift was found."""
        if not self.found:
            return ""
        way = "slower" if self.total > 0 else "faster"
        return f"the server became {abs(self.total) * 100:.2g} % {way} from the first block to the last"


def drift(times_s: ArrayLike) -> Drift:
    """The slope of the blocks' levels over the block number, by Theil and Sen.

    times_s: shape (blocks, sizes), seconds, blocks in the order of time, NaN where a size was not visited. The level of
    a block is the median over its sizes of time / median time of that size. From 20 blocks on the levels are
    those of 10 stretches of blocks, see `stretches`: neighbours share the slow swings of a machine. The slope is the
    median of the slopes through all pairs, the interval Sen's, from Kendall's rank statistic (P. K. Sen, J. Am. Stat.
    Assoc. 63, 1968); a disturbed block hardly moves either. With fewer than 6 blocks the interval is unbounded.

    Raises ValueError for another shape than (blocks, sizes) and for times that are not above 0.
    """
    table = np.asarray(times_s, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"expected times of shape (blocks, sizes), got {table.shape}")
    if np.any(table <= 0) or np.any(np.isinf(table)):
        raise ValueError("times must be finite and above 0, or NaN where there was no visit")
    table = table[:, np.any(np.isfinite(table), axis=0)]
    visited = np.flatnonzero(np.any(np.isfinite(table), axis=1))
    if len(visited) < FEWEST_BLOCKS:
        return Drift(0.0, -math.inf, math.inf, 0.0, found=False)
    levels = np.nanmedian(table[visited] / np.nanmedian(table, axis=0), axis=1)
    part = stretches(visited)
    each = [part == number for number in range(int(part.max()) + 1)]
    when = np.array([np.mean(visited[these]) for these in each])
    with warnings.catch_warnings():
        # Levels that are equal to the last bit make scipy warn of ties; slope and interval are then 0.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = stats.theilslopes(np.array([np.median(levels[these]) for these in each]), when, 0.95)
    slope, lo, hi = (float(found[i]) for i in (0, 2, 3))
    total = slope * float(visited[-1] - visited[0])
    return Drift(slope, lo, hi, total, found=(lo > 0 or hi < 0) and abs(total) >= _LEAST_TOTAL)
