"""When each request arrived at a receiver, and when the receiver stood still."""

from __future__ import annotations

import asyncio
import json
import time
from array import array
from pathlib import Path
from time import perf_counter_ns

import numpy as np

CAPACITY = 3_200_000
"""The longest run has three million arrivals, give or take a few thousand."""


class ArrivalLog:
    """Arrival times in an array laid out before; `count` goes on when it is full.

    Times are int64 nanoseconds of `perf_counter_ns`, which all processes of a Linux machine share. With `freeze_s`,
    the process stands still for that long, `freeze_after_s` after the first arrival.
    """

    def __init__(self, capacity: int = CAPACITY, freeze_after_s: float = 0.0, freeze_s: float = 0.0) -> None:
        self.times = array("q", [0]) * capacity
        self.count = 0
        self._freeze_after_s, self._freeze_s = freeze_after_s, freeze_s
        self._frozen_ns: tuple[int, int] | None = None

    def arrived(self, now_ns: int) -> None:
        if self.count < len(self.times):
            self.times[self.count] = now_ns
        if not self.count and self._freeze_s:
            asyncio.get_running_loop().call_later(self._freeze_after_s, self.freeze)
        self.count += 1

    def freeze(self) -> None:
        """Hold the event loop, as a stop-the-world collection does: nothing is accepted, read or answered."""
        began_ns = perf_counter_ns()
        time.sleep(self._freeze_s)
        self._frozen_ns = began_ns, perf_counter_ns()

    def write(self, path: Path) -> None:
        """The arrivals to `path`, and beside it, as .freeze, when the freeze began and ended."""
        with path.open("wb") as file:
            self.times[: self.count].tofile(file)
        if self._frozen_ns:
            path.with_suffix(".freeze").write_text(json.dumps(self._frozen_ns))


def read_arrivals(path: Path) -> np.ndarray:
    """What `write` wrote, sorted."""
    return np.sort(np.fromfile(path, dtype=np.int64))


def read_freeze(path: Path) -> tuple[int, int] | None:
    """(began, ended) in `perf_counter_ns`, or None of a receiver that never stood still."""
    try:
        began_ns, ended_ns = json.loads(path.with_suffix(".freeze").read_text())
    except FileNotFoundError:
        return None
    return began_ns, ended_ns
