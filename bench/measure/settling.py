"""Has a series of times settled, or is it still warming up?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

WINDOWS = 3
WINDOW = 3
WITHIN = 0.05


def settled(times_s: Sequence[float]) -> bool:
    """Whether the medians of the last 3 windows of 3 times each lie within 5 % of their mean.

    times_s: seconds, in the order of time, above 0; False for fewer than 9. This is the rule of Triton's perf_analyzer,
    whose last 3 windows have to lie within a share of their mean, on windows that are counted in batches as the k last
    iterations of Georges et al. (OOPSLA 2007) are. They ask for a small spread of all k times; on a machine with other
    tenants a single time is often off by more than that, so it is the medians that have to agree here.

    What creeps by less than 5 % over 9 batches is not seen; it is left to the drift over the blocks.
    """
    if len(times_s) < WINDOWS * WINDOW:
        return False
    last = times_s[-WINDOWS * WINDOW :]
    medians = [median(last[at : at + WINDOW]) for at in range(0, len(last), WINDOW)]
    middle = fmean(medians)
    return all(abs(value - middle) <= WITHIN * middle for value in medians)
