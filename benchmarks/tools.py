"""What a generator is to a run: how it is started, and what it says afterwards."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from bench.errors import MeasurementInvalid
from benchmarks.cell import Cell
from benchmarks.latency import NOT_TOLD, Latency

NO_TIMES = np.zeros(0, dtype=np.int64)
TIMEOUT_S = 5.0
"""How long one request may take."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool says of its run. Times are int64 nanoseconds from its start, -1 where it never happened.

    `planned` and `ok` are counts, -1 where the tool does not say; a closed loop that ends by the clock plans what it
    sends. `latency` is what the tool shows: of ours from the schedule, with `from_send` beside it; of a peer from the
    send. `start_ns` is its start on `perf_counter_ns`, -1 where it does not say. `peak_bytes` is the most resident
    memory that its process ever had, 0 where it does not say.
    """

    planned: int = -1
    ok: int = -1
    start_ns: int = -1
    scheduled_ns: np.ndarray = field(default_factory=lambda: NO_TIMES)
    sent_ns: np.ndarray = field(default_factory=lambda: NO_TIMES)
    latency: Latency = NOT_TOLD
    from_send: Latency = NOT_TOLD
    peak_bytes: int = 0


class Tool(Protocol):
    """receiver: the module of the receiver that it sends to."""

    name: str
    receiver: str

    def command(self, cell: Cell, port: int, folder: Path) -> list[str]: ...

    def told(self, cell: Cell, output: str, folder: Path) -> Told:
        """Raises MeasurementInvalid when the run left nothing to read."""
        ...


def limit_s(cell: Cell) -> float:
    """How long a run may take before it is killed: what was asked, its start, and a drain of two timeouts."""
    return cell.seconds + 3 * TIMEOUT_S


def requests(cell: Cell) -> int:
    """How many the asked rate comes to in the asked time."""
    return math.ceil(cell.rate_per_s * cell.seconds)


def nothing_to_read(name: str, output: str) -> MeasurementInvalid:
    """Quotes the line that tells most."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search("error|fail|exception", line, re.IGNORECASE)] or lines
    return MeasurementInvalid(f"{name}: no result; it said: {(telling or ['nothing'])[-1][:200]}")
