"""What a run leaves behind: one row for each arrival that was planned, whatever became of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

OK = ""
NEVER_SENT = "never sent"
SHED = "shed"
IN_FLIGHT = "in flight at the end"
ENDED_EARLY = "ended early"
"""Not sent because the run was ended before its schedule was."""
OTHER = "another cause"
"""Stands for each cause beyond the number that a run tells apart."""
TIMEOUT = "timeout"
"""The cause by which a sender tells of a timeout."""


@dataclass(frozen=True, slots=True)
class Accounting:
    """Where every arrival went.

    scheduled = sent + shed + never_sent; sent = ok + errors + timed_out + in_flight. `never_sent` is 0 but
    for a run that was cancelled or ended early.
    """

    scheduled: int
    sent: int
    shed: int
    never_sent: int
    ok: int
    errors: int
    timed_out: int
    in_flight: int


@dataclass(frozen=True, slots=True)
class GeneratorUse:
    """What sending took of the machine: CPU seconds (user and system) of all `workers` processes together, from
    right before the start to the end of the drain, and the seconds of wall clock from the start to that end.

    With `replay` the process is the caller's, and whatever else it did meanwhile counts.
    """

    cpu_s: float
    wall_s: float
    workers: int


@dataclass(frozen=True, slots=True)
class Records:
    """Columns with one row for each planned arrival, in the order of the schedule: views of one store, 48 bytes a row.

    Times are int64 nanoseconds from the run's start, -1 where it never happened. `status` is int16: HTTP's, 0
    without an answer, -1 when not sent. `batch_size` is int32, 0 = not told; `compute_ns` is int64, the
    execution's time as the server tells it, -1 = not told; `started_ns` is int64, the execution's start by the server
    machine's clock, -1 = not told. `cause` is int16 and indexes `causes`; a row is ok when its cause is ''. `use` is
    None for a run that never started.
    """

    scheduled_ns: np.ndarray
    sent_ns: np.ndarray
    completed_ns: np.ndarray
    status: np.ndarray
    batch_size: np.ndarray
    compute_ns: np.ndarray
    started_ns: np.ndarray
    cause: np.ndarray
    causes: tuple[str, ...]
    use: GeneratorUse | None = None

    def __len__(self) -> int:
        return len(self.scheduled_ns)

    def having(self, cause: str) -> np.ndarray:
        """Mask (bool) of the rows with that cause; `having(OK)`: those that a latency may be taken from."""
        if cause not in self.causes:
            return np.zeros(len(self), dtype=bool)
        mask: np.ndarray = self.cause == self.causes.index(cause)
        return mask

    def response_times_ns(self) -> np.ndarray:
        """Completed - scheduled of the ok rows, int64."""
        ok = self.having(OK)
        times: np.ndarray = self.completed_ns[ok] - self.scheduled_ns[ok]
        return times

    def dispatch_delays_ns(self) -> np.ndarray:
        """Sent - scheduled of all that was sent, int64: the generator's own delay."""
        sent = self.sent_ns >= 0
        delays: np.ndarray = self.sent_ns[sent] - self.scheduled_ns[sent]
        return delays

    def accounting(self) -> Accounting:
        names = (OK, NEVER_SENT, ENDED_EARLY, SHED, IN_FLIGHT, TIMEOUT)
        counts = {name: int(self.having(name).sum()) for name in names}
        return Accounting(
            scheduled=len(self),
            sent=int((self.sent_ns >= 0).sum()),
            shed=counts[SHED],
            never_sent=counts[NEVER_SENT] + counts[ENDED_EARLY],
            ok=counts[OK],
            errors=len(self) - sum(counts.values()),
            timed_out=counts[TIMEOUT],
            in_flight=counts[IN_FLIGHT],
        )
