"""Memory: what a model's processes take, and what this machine, or the limits set on us, have left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Memory:
    """Peaks of one process in bytes: resident, and on a GPU (None: not read, nvidia-ml-py would have to tell)."""

    resident_bytes: int
    gpu_bytes: int | None = None


def available_bytes(own_cgroups: str = "/proc/self/cgroup", root: Path = CGROUPS) -> int:
    """Bytes that a new process could take: free on the machine, or less where a control group leaves less."""
    try:
        lines = Path(own_cgroups).read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    return min([psutil.virtual_memory().available, *_left_in_groups(lines, root)])


def _left_in_groups(lines: list[str], root: Path) -> Iterator[int]:
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _left(root, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _left(root / "memory", path, *names)


def _left(root: Path, path: str, limit: str, usage: str, reclaimable: str) -> Iterator[int]:
    """Of the group and of each above it: all of their limits hold. In a container the path may be the host's."""
    group = root / path.lstrip("/")
    for folder in [group, *group.parents]:
        if not folder.is_relative_to(root):
            return
        try:
            most = (folder / limit).read_text(encoding="ascii").strip()
            used = int((folder / usage).read_text(encoding="ascii"))
            statistics = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
        except (OSError, ValueError):
            continue  # the root has no limit
        if most == "max":
            continue
        files = next((int(line.split()[1]) for line in statistics if line.split()[0] == reclaimable), 0)
        yield max(0, int(most) - used + files)
