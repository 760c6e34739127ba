"""How many visits were disturbed?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bench.theory.sizes import visits_by_size

_FAR = 3.0  # robust standard deviations; a normal visit lies that far above its median once in 740
_LEAST_EXCESS = 0.1
_WORTH_TELLING = 0.01


@dataclass(frozen=True, slots=True)
class Spikes:
    """`spikes` of `visits` took 10 % longer than the median of their batch size, or more, and stand out of the scatter.

    `largest`: time / median of the furthest of them, 1 without any.
    """

    spikes: int
    visits: int
    largest: float

    @property
    def share(self) -> float:
        """spikes / visits, between 0 and 1."""
        return self.spikes / self.visits

    @property
    def words(self) -> str:
        """One sentence without a full stop; empty below 1 %."""
        if self.share < _WORTH_TELLING:
            return ""
        return (
            f"{self.spikes} of {self.visits} visits ({self.share * 100:.2g} %) were disturbed, the worst took "
            f"{self.largest:.2g} times as long as is typical of its batch size; other programs or the machine "
            "itself came between"
        )


def spikes(batch_sizes: ArrayLike, times_s: ArrayLike) -> Spikes:
    """Visits that are further above the median of their size than 3 robust standard deviations and than 10 %.

    batch_sizes, times_s: shape (n,), seconds. The standard deviation is relative, MAD / 0.6745 over all sizes together.
    Raises ValueError for arrays that do not match or are empty, and for values not finite and above 0.
    """
    visits = visits_by_size(batch_sizes, times_s)
    if not len(visits):
        raise ValueError("expected at least 1 visit")
    above = visits.relative - 1
    far = above > max(_FAR * visits.scatter, _LEAST_EXCESS)
    return Spikes(int(np.count_nonzero(far)), len(visits), float(np.max(visits.relative[far], initial=1.0)))
