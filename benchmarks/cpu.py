"""Processor time of a process and all that it started, from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PROC = Path("/proc")
EDGE_SHARE = 0.1


def ticks_of(stat: str) -> int:
    """User and system time in clock ticks, that of children already waited for included, by /proc/PID/stat.

    Fields 14 to 17; they are counted from the last ')', because a process may have spaces in its name.
    """
    fields = stat.rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15])


def tree_seconds(pid: int, proc: Path = PROC) -> float:
    """CPU seconds of `pid` and its descendants so far; one that ends meanwhile is counted by its parent."""
    return _tree_ticks(pid, proc) / os.sysconf("SC_CLK_TCK")


def _tree_ticks(pid: int, proc: Path) -> int:
    try:
        ticks = ticks_of((proc / str(pid) / "stat").read_text())
        threads = list((proc / str(pid) / "task").iterdir())
    except OSError:
        return 0
    for thread in threads:
        try:
            children = (thread / "children").read_text().split()
        except OSError:
            continue
        ticks += sum(_tree_ticks(int(child), proc) for child in children)
    return ticks


@dataclass(frozen=True, slots=True)
class Sample:
    """CPU seconds so far of the generator's processes, the receiver and the whole machine, at a `perf_counter_ns`.

    `resident_bytes` is that of the generator's first process alone.
    """

    at_ns: int
    generator_s: float
    receiver_s: float
    machine_s: float = 0.0
    resident_bytes: int = 0


def others_cores(samples: list[Sample]) -> float:
    """How many cores all else kept busy from the first sample to the last; NaN with under two."""
    if len(samples) < 2:
        return float("nan")
    first, last = samples[0], samples[-1]
    ours_s = last.generator_s - first.generator_s + last.receiver_s - first.receiver_s
    return max(0.0, last.machine_s - first.machine_s - ours_s) * 1e9 / (last.at_ns - first.at_ns)


def per_request_s(samples: list[Sample], arrivals_ns: np.ndarray) -> tuple[float, float]:
    """CPU seconds per request of (generator, receiver), between two samples amid the load; NaN without two.

    (CPU at the later - CPU at the earlier) / arrivals between them. A tenth of the load's span is left out at
    either end, so that starting a program and ending it is nobody's cost of a request.
    """
    none = (float("nan"), float("nan"))
    if len(arrivals_ns) < 2:
        return none
    first, last = int(arrivals_ns[0]), int(arrivals_ns[-1])
    edge = EDGE_SHARE * (last - first)
    within = [sample for sample in samples if first + edge <= sample.at_ns <= last - edge]
    if len(within) < 2:
        return none
    begin, end = within[0], within[-1]
    requests = int(np.count_nonzero((arrivals_ns >= begin.at_ns) & (arrivals_ns < end.at_ns)))
    if not requests:
        return none
    return (end.generator_s - begin.generator_s) / requests, (end.receiver_s - begin.receiver_s) / requests
