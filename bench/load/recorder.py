"""The store that a run writes into, laid out before it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from multiprocessing.sharedctypes import RawArray
from struct import Struct
from typing import Any

import numpy as np

from bench.load.records import ENDED_EARLY, IN_FLIGHT, NEVER_SENT, OK, OTHER, SHED, GeneratorUse, Records
from bench.measure.requests import QUEUE_FULL

_FIRST_CAUSES = (OK, NEVER_SENT, SHED, IN_FLIGHT, ENDED_EARLY, OTHER)
_OK, _NEVER_SENT, _SHED, _IN_FLIGHT, _ENDED_EARLY, _OTHER = range(6)
MOST_CAUSES = 1000

# One row, as numpy and as struct see it. The cause is last: a process that dies while it writes leaves no outcome
# without its times.
_ROW = np.dtype(
    [("sent", "=i8"), ("completed", "=i8"), ("compute", "=i8"), ("started", "=i8"), ("batch_size", "=i4"),
     ("status", "=i2"), ("cause", "=i2")]
)  # fmt: skip
_PACK_ROW = Struct("=qqqqihh").pack_into
_ROW_BYTES = _ROW.itemsize
_CAUSES_PER_ROW = _ROW_BYTES // 2
_CAUSE_AT = _CAUSES_PER_ROW - 1
BYTES_PER_REQUEST = _ROW_BYTES + 8


class Recorder:
    """One run's rows in the making. The caller makes it, so that the rows of a cancelled run are not lost.

    `sent`, `shed`, `finished`, `failed` and, of those, `refused` for a full queue count so far; requests in flight
    are `sent - finished`. Schedule and rows
    lie in one block of nameless shared memory (`memory`), which goes with the last that holds it, so that worker
    processes can write into it by `attached`.
    """

    __slots__ = (
        "_causes", "_codes", "_records", "_refusals", "_rows", "_sealed", "_table", "failed", "finished", "memory",
        "offsets_ns", "on_new_cause", "refused", "sent", "shed", "start_ns", "use",
    )  # fmt: skip

    def __init__(self, offsets_ns: np.ndarray) -> None:
        n = len(offsets_ns)
        self._lay_out(RawArray(ctypes.c_byte, max(1, n) * BYTES_PER_REQUEST), n)
        self.offsets_ns[:] = offsets_ns
        self._table[:] = np.array((-1, -1, -1, -1, 0, -1, _NEVER_SENT), dtype=_ROW)

    @classmethod
    def attached(cls, memory: Any, n: int, on_new_cause: Callable[[str], None]) -> Recorder:
        """Another process's recorder of `n` requests over the same rows, with counts of its own.

        `on_new_cause` is told each cause before a row has its code; the codes are this recorder's own (`adopt`).
        """
        recorder = cls.__new__(cls)
        recorder._lay_out(memory, n)
        recorder.on_new_cause = on_new_cause
        return recorder

    def _lay_out(self, memory: Any, n: int) -> None:
        self.memory = memory
        room = n * _ROW_BYTES
        self._rows = np.frombuffer(memory, dtype=np.uint8).data
        self._causes = np.frombuffer(memory, dtype=np.int16).data
        self._table = np.frombuffer(memory, dtype=_ROW, count=n)
        self.offsets_ns: np.ndarray = np.frombuffer(memory, dtype=np.int64, offset=room, count=n)
        self.start_ns = 0
        self.sent = self.shed = self.finished = self.failed = self.refused = 0
        self.use: GeneratorUse | None = None
        self.on_new_cause: Callable[[str], None] | None = None
        self._codes = {cause: code for code, cause in enumerate(_FIRST_CAUSES)}
        self._refusals: set[int] = set()
        self._sealed = False
        self._records: Records | None = None

    def expect_unused(self, offsets_ns: np.ndarray) -> None:
        """Raises ValueError when it holds a run already, or was made for another schedule."""
        if self.start_ns or len(self.offsets_ns) != len(offsets_ns):
            raise ValueError("recorder: expected one made for these offsets and not used yet")

    # ---- while the run goes

    def on_send(self, index: int, now_ns: int) -> None:
        """Note a request as handed over; `on_done` puts the time of the write itself."""
        _PACK_ROW(self._rows, index * _ROW_BYTES, now_ns, -1, -1, -1, 0, 0, _IN_FLIGHT)
        self.sent += 1

    def on_shed(self, index: int) -> None:
        self._causes[index * _CAUSES_PER_ROW + _CAUSE_AT] = _SHED
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
        started_ns: int = -1,
    ) -> None:
        """Note an outcome; what comes after `seal`, or a second time, is left out."""
        if self._sealed or self._causes[index * _CAUSES_PER_ROW + _CAUSE_AT] != _IN_FLIGHT:
            return
        code = self._codes.get(cause)
        if code is None:
            code = self._new_code(cause)
        at = index * _ROW_BYTES
        _PACK_ROW(self._rows, at, sent_ns, completed_ns, compute_ns, started_ns, batch_size, status, code)
        self.finished += 1
        if code:
            self.failed += 1
            if code in self._refusals:
                self.refused += 1

    def on_ended_early(self, unsent: range) -> None:
        self._table["cause"][unsent.start : unsent.stop : unsent.step] = _ENDED_EARLY

    def _new_code(self, cause: str) -> int:
        if len(self._codes) >= MOST_CAUSES:
            return _OTHER
        if self.on_new_cause is not None:
            self.on_new_cause(cause)
        code = self._codes[cause] = len(self._codes)
        if cause.startswith(QUEUE_FULL):
            self._refusals.add(code)
        return code

    def latest_response_s(self, reached: int, most: int) -> np.ndarray:
        """Seconds from the schedule to the answer, of the ok ones among the `most` requests before number `reached`.

        For a line that is looked at while the run goes: the slow ones among the latest are still to come.
        """
        latest = slice(max(0, reached - most), max(0, reached))
        rows, due = self._table[latest], self.offsets_ns[latest] + (0 if self._records else self.start_ns)
        ok = rows["cause"] == _OK
        seconds: np.ndarray = (rows["completed"] - due)[ok] / 1e9
        return seconds

    # ---- at its end

    def seal(self) -> None:
        """End the run: whatever is in flight stays so, however late its answer comes."""
        self._sealed = True

    def adopt(self, share: range, causes: Sequence[str]) -> None:
        """Translate the cause codes in the rows of an attached recorder that is done; `causes`: those it told."""
        codes = [self._codes[cause] if cause in self._codes else self._new_code(cause) for cause in causes]
        translation = np.array([*range(len(_FIRST_CAUSES)), *codes], dtype=np.int16)
        column = self._table["cause"][share.start : share.stop : share.step]
        column[:] = translation[column]

    def recount(self) -> None:
        """Take the counts from the rows, after others wrote them."""
        causes = self._table["cause"]
        ok, never, shed, in_flight, ended = (int(np.count_nonzero(causes == code)) for code in range(_ENDED_EARLY + 1))
        self.shed = shed
        self.sent = len(causes) - never - ended - shed
        self.finished = self.sent - in_flight
        self.failed = self.finished - ok
        self.refused = int(np.isin(causes, list(self._refusals)).sum())

    def records(self) -> Records:
        """The rows, with times from the run's start. Seals: they are views of the store, not copies."""
        if self._records is None:
            self.seal()
            table = self._table
            for stamps in (table["sent"], table["completed"], table["started"]):
                np.subtract(stamps, self.start_ns, out=stamps, where=stamps >= 0)
            self._records = Records(
                scheduled_ns=self.offsets_ns,
                sent_ns=table["sent"],
                completed_ns=table["completed"],
                status=table["status"],
                batch_size=table["batch_size"],
                compute_ns=table["compute"],
                started_ns=table["started"],
                cause=table["cause"],
                causes=tuple(self._codes),
                use=self.use,
            )
        return self._records
