"""The stores that a run writes into, laid out before it."""

from __future__ import annotations

from array import array

import numpy as np

from bench.load.records import IN_FLIGHT, NEVER_SENT, OK, SHED, Records

_FIRST_CAUSES = (OK, NEVER_SENT, SHED, IN_FLIGHT)
_NEVER_SENT, _SHED, _IN_FLIGHT = 1, 2, 3


class Recorder:
    """One run's rows in the making. The caller makes it, so that the rows of a cancelled run are not lost.

    `sent`, `shed`, `finished` and `failed` count so far; requests in flight are `sent - finished`.
    """

    __slots__ = (
        "_batch_size", "_cause", "_codes", "_completed", "_compute", "_sealed", "_sent", "_status", "failed",
        "finished", "offsets_ns", "sent", "shed", "start_ns",
    )  # fmt: skip

    def __init__(self, offsets_ns: np.ndarray) -> None:
        n = len(offsets_ns)
        self.offsets_ns = np.asarray(offsets_ns, dtype=np.int64)
        self.start_ns = 0
        self.sent = self.shed = self.finished = self.failed = 0
        self._sent = array("q", [-1]) * n
        self._completed = array("q", [-1]) * n
        self._compute = array("q", [-1]) * n
        self._status = array("h", [-1]) * n
        self._batch_size = array("i", [0]) * n
        self._cause = array("h", [_NEVER_SENT]) * n
        self._codes = {cause: code for code, cause in enumerate(_FIRST_CAUSES)}
        self._sealed = False

    def on_send(self, index: int, now_ns: int) -> None:
        """Note a request as handed over; `on_done` puts the time of the write itself."""
        self._sent[index] = now_ns
        self._status[index] = 0
        self._cause[index] = _IN_FLIGHT
        self.sent += 1

    def on_shed(self, index: int) -> None:
        self._cause[index] = _SHED
        self.shed += 1

    def on_done(
        self,
        index: int,
        status: int,
        sent_ns: int,
        completed_ns: int,
        batch_size: int,
        compute_ns: int,
        cause: str,
    ) -> None:
        """Note an outcome; what comes after `seal`, or a second time, is left out."""
        if self._sealed or self._cause[index] != _IN_FLIGHT:
            return
        code = self._codes.get(cause)
        if code is None:
            code = self._codes[cause] = len(self._codes)
        self._sent[index] = sent_ns
        self._completed[index] = completed_ns
        self._status[index] = status
        self._batch_size[index] = batch_size
        self._compute[index] = compute_ns
        self._cause[index] = code
        self.finished += 1
        if code:
            self.failed += 1

    def seal(self) -> None:
        """End the run: whatever is in flight stays so, however late its answer comes."""
        self._sealed = True

    def records(self) -> Records:
        """The rows so far, copied, with times from the run's start."""
        return Records(
            scheduled_ns=self.offsets_ns.copy(),
            sent_ns=self._from_start(self._sent),
            completed_ns=self._from_start(self._completed),
            status=np.array(self._status, dtype=np.int16),
            batch_size=np.array(self._batch_size, dtype=np.int32),
            compute_ns=np.array(self._compute, dtype=np.int64),
            cause=np.array(self._cause, dtype=np.int16),
            causes=tuple(self._codes),
        )

    def _from_start(self, times: array[int]) -> np.ndarray:
        stamps = np.array(times, dtype=np.int64)
        return np.where(stamps < 0, -1, stamps - self.start_ns)
