"""Is a point asked for more than its server serves? Told by growth and refusals, and while it runs by its backlog.

A server of capacity C lets a backlog grow by λ − C per second, as `trend` says. Where it limits its queue, that goes on
until the queue is full, and from then on it refuses λ − C per second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bench.measure.requests import Requests
from bench.measure.trend import Trend, response_trend

# Of the window's requests, refused for a full queue: more is no burst that a queue of some batches could not hold.
LEAST_REFUSED = 0.05
FEWEST_REFUSED = 100
FEWEST_SENT = 500  # chance in the number of arrivals is then some 5 % of the rate
FILLING_FROM = 0.2
UNKNOWN = Trend(math.nan, math.nan, math.nan, saturated=False)


@dataclass(frozen=True, slots=True)
class Overload:
    """Whether a point asked for more than its server serves.

    growth: the trend of the response time; where the queue is limited, that of the time until it was full, NaN where
    that was too short. `refused` of the `offered` requests were turned away for a full queue, counted over the `full_s`
    seconds from the first such on; 0 of all where that was under 5 % of the window. saturated: either of the two.
    """

    growth: Trend
    offered: int
    refused: int
    full_s: float

    @property
    def saturated(self) -> bool:
        return self.growth.saturated or self.refused > 0

    @property
    def excess(self) -> float:
        """λ/capacity − 1: the growth of the response time, s/s; without one, offered / served − 1 of a full queue.

        Infinite when nothing was served. Triton 2.51 serves far less while a limited queue is full than while it
        fills, so the growth is the better measure of what it can serve.
        """
        if self.growth.saturated or not self.refused:
            return self.growth.slope
        return self.refused / (self.offered - self.refused) if self.offered > self.refused else math.inf


def overload(requests: Requests, refused: NDArray[np.bool_], warmup_s: float, duration_s: float) -> Overload:
    """Of the window; refused: (n,), which of the requests were turned away for a full queue.

    Growth is taken from the answers that came while the load was on (and its queue not full), where they are enough:
    without load a server that shares its cores with the generator is quicker.
    """
    inside = (requests.scheduled_s >= warmup_s) & (requests.scheduled_s < warmup_s + duration_s) & requests.sent
    due, away = requests.scheduled_s[inside], refused[inside]
    if np.count_nonzero(away) < max(1, LEAST_REFUSED * len(due)):
        whole = response_trend(requests, warmup_s, duration_s)
        if whole.saturated:
            loaded = response_trend(_answered_by(requests, float(due[-1])), warmup_s, duration_s)
            whole = loaded if loaded.saturated else whole
        return Overload(whole, len(due), 0, 0.0)
    full_at_s = float(requests.scheduled_s[refused][0])
    from_s = min(warmup_s, FILLING_FROM * full_at_s)  # there is no steady state to warm up for
    filling = response_trend(_answered_by(requests, full_at_s), from_s, full_at_s - from_s)
    end_s, since_s = warmup_s + duration_s, max(full_at_s, warmup_s)
    offered, turned_away = int(np.count_nonzero(due >= since_s)), int(np.count_nonzero(away))
    return Overload(filling if filling.saturated else UNKNOWN, offered, turned_away, end_s - since_s)


def _answered_by(requests: Requests, end_s: float) -> Requests:
    return requests.where(requests.completed_s <= end_s)


@dataclass(slots=True)
class OverloadWatch:
    """Tells while a point runs that the server cannot keep up, so that nobody waits for a queue that never ends.

    Fed now and then with the counts so far. Hopeless is, after `patience_s` and 500 sends in the window, a backlog that
    only grows: a straight line through the number in flight explains nearly all of it, rises by more than `share` of
    the arrival rate, and has come to a second's worth of arrivals. Or a full queue: `refused_share` of the window's
    requests were refused.
    """

    rate_per_s: float
    after_s: float
    share: float = 0.02
    patience_s: float = 5.0
    refused_share: float = LEAST_REFUSED
    _seen: list[tuple[float, int, int, int]] = field(default_factory=list)

    def hopeless(self, elapsed_s: float, in_flight: int, sent: int, refused: int) -> bool:
        """Notes one observation; `elapsed_s` since the start, `after_s` of which are not looked at."""
        if elapsed_s < self.after_s:
            return False
        self._seen.append((elapsed_s, in_flight, sent, refused))
        times, backlog, sends, refusals = np.array(self._seen, dtype=np.float64).T
        if times[-1] - times[0] < self.patience_s or sends[-1] - sends[0] < FEWEST_SENT:
            return False
        turned_away = refusals[-1] - refusals[0]
        if turned_away >= max(FEWEST_REFUSED, self.refused_share * (sends[-1] - sends[0])):
            return True
        if in_flight < self.rate_per_s:
            return False
        line = stats.linregress(times, backlog)
        straight = math.isfinite(line.rvalue) and line.rvalue**2 > 0.9
        return bool(straight and line.slope > self.share * self.rate_per_s)
