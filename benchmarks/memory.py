"""Resident memory of a process, from /proc, and how much of it came while a load ran."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.cpu import PROC, Sample

START_SHARE = 0.1


def status_bytes(status: str, field: str) -> int:
    """Of /proc/PID/status, in which they are kB: VmRSS is what is resident now, VmHWM the most that ever was."""
    found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    return 1024 * int(found[1]) if found else 0


def resident_bytes(pid: int, proc: Path = PROC) -> int:
    """0 of a process that is gone."""
    try:
        return status_bytes((proc / str(pid) / "status").read_text(), "VmRSS")
    except OSError:
        return 0


def own_peak_bytes() -> int:
    """The most that was ever resident of this process.

    Not by getrusage: its figure includes what the parent had when it started this process.
    """
    return status_bytes((PROC / "self" / "status").read_text(), "VmHWM")


@dataclass(frozen=True, slots=True)
class Resident:
    """A generator's resident memory under load: bytes after a tenth of the arrivals' span, and the most after that."""

    early_bytes: int = 0
    most_bytes: int = 0

    @property
    def growth(self) -> float:
        """most / early - 1; NaN where not measured."""
        return self.most_bytes / self.early_bytes - 1 if self.early_bytes else math.nan


NOT_SAMPLED = Resident()


def resident(samples: Sequence[Sample], arrivals_ns: np.ndarray) -> Resident:
    """From the samples between a tenth of the arrivals' span and its end; NOT_SAMPLED with under two."""
    if len(arrivals_ns) < 2:
        return NOT_SAMPLED
    first, last = int(arrivals_ns[0]), int(arrivals_ns[-1])
    from_ns = first + START_SHARE * (last - first)
    within = [sample.resident_bytes for sample in samples if from_ns <= sample.at_ns <= last and sample.resident_bytes]
    return Resident(within[0], max(within)) if len(within) > 1 else NOT_SAMPLED
