"""How fast the response time grows through a window, with an interval that holds in a steady state and in an overload.

In an overload the response time is a sum of all that came before, so the distances from a straight line through it
are no independent errors: the interval of least squares through the means of 20 stretches covers the true growth
in 27 of 100 cases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

GROUPS = 8
FEWEST_IN_A_GROUP = 3


@dataclass(frozen=True, slots=True)
class Growth:
    """Seconds of response time per second, with the 95 % interval."""

    slope: float
    lo: float
    hi: float


def growth(scheduled_s: ArrayLike, response_s: ArrayLike) -> Growth | None:
    """The mean of the least-squares slopes in 8 equal parts of the window, with its t interval of 7 degrees of freedom.

    scheduled_s, response_s: shape (n,), seconds, by scheduled time. Each part has a level of its own, so what the
    backlog came to before is in no slope. In an overload, where the response time is a random walk with a drift, the
    slopes are therefore independent, and in a steady state nearly so. There the slope of the whole window would be
    known better by far, but what is asked is whether it is above 0. Ibragimov and Müller, J. Bus. Econ. Stat. 28
    (2010).

    Close to the capacity the interval is too wide rather than too narrow. None when a part holds fewer than
    3 requests or all of them were due at once. Raises ValueError for arrays that do not match or are not finite.
    """
    due = np.asarray(scheduled_s, dtype=np.float64)
    response = np.asarray(response_s, dtype=np.float64)
    if due.ndim != 1 or due.shape != response.shape or not np.all(np.isfinite(due) & np.isfinite(response)):
        raise ValueError(f"expected two arrays of one length, all finite, got shapes {due.shape} and {response.shape}")
    if not len(due) or not due.max() > due.min():
        return None
    edges = np.linspace(due.min(), due.max(), GROUPS + 1)
    part = np.clip(np.searchsorted(edges, due, side="right") - 1, 0, GROUPS - 1)
    counts = np.bincount(part, minlength=GROUPS)
    if counts.min() < FEWEST_IN_A_GROUP:
        return None
    from_middle = due - (np.bincount(part, due, GROUPS) / counts)[part]
    squares = np.bincount(part, from_middle**2, GROUPS)
    if squares.min() <= 0:
        return None
    slopes = np.bincount(part, from_middle * response, GROUPS) / squares
    slope = float(slopes.mean())
    reach = float(stats.t.ppf(0.975, GROUPS - 1)) * float(slopes.std(ddof=1)) / math.sqrt(GROUPS)
    return Growth(slope, slope - reach, slope + reach)
