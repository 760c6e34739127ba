"""Were the gaps between sends the planned ones? Pacing is proven on the generator's own send times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
# With more gaps the test rejects over microseconds of jitter that distort nothing.
MOST_GAPS = 5_000


@dataclass(frozen=True, slots=True)
class GapTest:
    """Kolmogorov-Smirnov distance of two sets of gaps and its p-value; gaps: how many of each were compared."""

    distance: float
    p_value: float
    gaps: int


def planned_against_sent(scheduled_s: Floats, sent_s: Floats) -> GapTest | None:
    """Two-sample test of the planned gaps against the real ones, the first 5,000 of each; None under 20 gaps.

    scheduled_s, sent_s: (n,), seconds, in the order of the schedule, sent ones only.
    """
    planned = np.diff(scheduled_s)[:MOST_GAPS]
    real = np.diff(np.sort(sent_s))[:MOST_GAPS]
    if len(planned) < 20:
        return None
    found = stats.ks_2samp(planned, real, method="asymp")
    return GapTest(float(found.statistic), float(found.pvalue), len(planned))
