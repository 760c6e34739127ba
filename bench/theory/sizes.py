"""Visits to batch sizes, checked and grouped: what every fit of T(B) starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

NORMAL_MAD = 0.6745  # median |x| of a standard normal

# Left in, 3 % of spikes of 5 × the time would lift c and m by 0.1 %, half of an interval after 60 visits to each size.
# A nearer cut would take the tail of one-sided noise, and its own chance would then be missing from the intervals.
_SPIKE = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """n visits to k batch sizes. sizes, times: (n,), seconds; distinct, medians: (k,), ascending; group: (n,), 0 … k−1.

    `scatter` is the robust standard deviation of a visit about the median of its size, relative to that
    median: MAD / 0.6745 over all sizes together; 0 where nothing repeats. The visit nearest to each median
    is left out: of 3 visits it is the median itself and tells of no spread.
    """

    sizes: Floats
    times: Floats
    distinct: Floats
    medians: Floats
    group: NDArray[np.intp]
    scatter: float

    def __len__(self) -> int:
        return len(self.times)

    @property
    def relative(self) -> Floats:
        """Each visit's time over the median of its size, shape (n,)."""
        return self.times / self.medians[self.group]

    @property
    def typical(self) -> NDArray[np.bool_]:
        """Which visits lie within 8 `scatter` of the median of their size, shape (n,); all where nothing repeats.

        The others are spikes. They are told by their own size, not by a line: a size that lies off the line is kept. Of
        a size whose visits are all far from their median, as of two with a spike, the quickest is kept.
        """
        if self.scatter == 0:
            return np.ones(len(self), dtype=np.bool_)
        near: NDArray[np.bool_] = np.abs(self.relative - 1) <= _SPIKE * self.scatter
        for lost in np.flatnonzero(np.bincount(self.group, near, len(self.distinct)) == 0):
            own = np.flatnonzero(self.group == lost)
            near[own[np.argmin(self.times[own])]] = True
        return near


def visits_by_size(batch_sizes: ArrayLike, times_s: ArrayLike) -> Visits:
    """batch_sizes, times_s: shape (n,), a time in seconds for each visit.

    Raises ValueError for arrays that do not match and for times or sizes that are not finite and above 0.
    """
    sizes = np.asarray(batch_sizes, dtype=np.float64)
    times = np.asarray(times_s, dtype=np.float64)
    if sizes.ndim != 1 or sizes.shape != times.shape:
        raise ValueError(f"expected two arrays of one length, got shapes {sizes.shape} and {times.shape}")
    for name, values in (("batch sizes", sizes), ("times", times)):
        wrong = values[~(np.isfinite(values) & (values > 0))]
        if len(wrong):
            raise ValueError(f"{name} must be finite and above 0, got {wrong[0]}")
    distinct, group = np.unique(sizes, return_inverse=True)
    each = [times[group == g] for g in range(len(distinct))]
    medians = np.array([np.median(values) for values in each])
    distances = [np.sort(np.abs(values / middle - 1))[1:] for values, middle in zip(each, medians, strict=True)]
    pooled = np.concatenate([np.empty(0), *distances])
    scatter = float(np.median(pooled)) / NORMAL_MAD if len(pooled) else 0.0
    return Visits(sizes, times, distinct, medians, group, scatter)
