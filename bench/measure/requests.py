"""The requests of one load point, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
QUEUE_FULL = "queue full"
"""How the cause of a request begins that a server refused because its queue was full."""


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Three times and an outcome per request, each of shape (n,), in seconds from the load point's start.

    `scheduled_s`: when it was due. `sent_s`: when it was sent, NaN when it never was. `completed_s`: when its
    answer or its failure came, NaN when neither did. `ok`: whether the answer was a success.

    Raises ValueError when the lengths differ, a scheduled time is not finite, or a success lacks a time.
    """

    scheduled_s: Floats
    sent_s: Floats
    completed_s: Floats
    ok: NDArray[np.bool_]

    def __post_init__(self) -> None:
        shapes = {a.shape for a in (self.scheduled_s, self.sent_s, self.completed_s, self.ok)}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ValueError(f"expected four arrays of one length, got shapes {sorted(shapes)}")
        if not np.all(np.isfinite(self.scheduled_s)):
            raise ValueError("every request must have a scheduled time")
        if not np.all(np.isfinite(self.sent_s[self.ok]) & np.isfinite(self.completed_s[self.ok])):
            raise ValueError("a request that succeeded must have been sent and completed")

    def __len__(self) -> int:
        return len(self.scheduled_s)

    def scheduled_within(self, start_s: float, duration_s: float) -> Requests:
        """Those due in start_s <= t < start_s + duration_s, whenever they completed."""
        return self.where((self.scheduled_s >= start_s) & (self.scheduled_s < start_s + duration_s))

    def where(self, chosen: NDArray[np.bool_]) -> Requests:
        """Those of the requests that are marked; `chosen`: shape (n,)."""
        return Requests(self.scheduled_s[chosen], self.sent_s[chosen], self.completed_s[chosen], self.ok[chosen])

    @property
    def sent(self) -> NDArray[np.bool_]:
        """Which of them were sent."""
        return np.isfinite(self.sent_s)

    @property
    def response_s(self) -> Floats:
        """Response times, completed − scheduled: what a user who asked on time waits."""
        return self.completed_s - self.scheduled_s

    @property
    def round_trip_s(self) -> Floats:
        """Round trips, completed − sent: without the generator's own lateness."""
        return self.completed_s - self.sent_s

    @property
    def dispatch_delay_s(self) -> Floats:
        """Dispatch delays, sent − scheduled: the generator's own lateness."""
        return self.sent_s - self.scheduled_s
