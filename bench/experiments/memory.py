"""The most memory that each arm's process had while its batches were executed: rows of memory.csv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.experiments.calibration import Calibration
from bench.scenario.arms import Arm
from bench.servers.memory import available_bytes
from bench.servers.proc import anonymous_bytes, forget_peak, peak_resident_bytes
from bench.servers.server import RunningServer


@dataclass(frozen=True, slots=True)
class Loaded:
    """An arm's processes once it is loaded, before its first batch. load_peak_bytes: the most that loading took; None
    where the kernel cannot forget it, and what is read later has it in."""

    arm: Arm
    pids: tuple[int, ...]
    load_peak_bytes: int | None


def loaded(server: RunningServer, arms: Sequence[Arm]) -> tuple[Loaded, ...]:
    """Of arms that have just been loaded. Their peaks begin anew: reading weights takes more than most batches do."""
    found = []
    for arm in arms:
        pids = server.serving_processes(arm)
        peak = max(map(peak_resident_bytes, pids), default=0)
        forgotten = [forget_peak(pid) for pid in pids]
        found.append(Loaded(arm, pids, peak if all(forgotten) else None))
    return tuple(found)


def memory_rows(server: RunningServer, before: Sequence[Loaded], taken: Calibration) -> list[dict[str, object]]:
    """A row of memory.csv for each arm whose process can still be read, after the last block of a start.

    The limit is what the server could have if these processes were not there: they are here for the calibration, and
    production has its own.
    """
    limit = available_bytes() + sum(anonymous_bytes(pid) for one in before for pid in one.pids)
    rows: list[dict[str, object]] = []
    for one in before:
        memory = server.memory(one.arm)
        if memory.resident_bytes:
            rows.append(
                {
                    "server": server.spec.name, "batch_size": one.arm.max_batch_size, "start": taken.start,
                    "block": taken.blocks, "rss_peak_bytes": memory.resident_bytes, "gpu_bytes": memory.gpu_bytes,
                    "limit_bytes": limit, "load_peak_bytes": one.load_peak_bytes,
                }
            )  # fmt: skip
    return rows
