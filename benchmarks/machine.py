"""What the rest of this machine does meanwhile: figures from a busy one say little."""

from __future__ import annotations

import os
import time
from pathlib import Path

QUIET_CORES = 0.2
LOOK_S = 1.0


def busy_ticks(stat: str) -> int:
    """Clock ticks that all cores were not idle for, by the first line of /proc/stat; stolen ones are among them.

    Its fields: user, nice, system, idle, iowait, irq, softirq, steal; guest time is in user already.
    """
    ticks = [int(field) for field in stat.split("\n", 1)[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4]


def busy_seconds(path: Path = Path("/proc/stat")) -> float:
    return busy_ticks(path.read_text()) / os.sysconf("SC_CLK_TCK")


def wait_until_quiet(limit_s: float) -> bool:
    """Wait, at most that long, for a second in which under 0.2 cores were busy; whether it came."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        before = busy_seconds()
        time.sleep(LOOK_S)
        if busy_seconds() - before < QUIET_CORES * LOOK_S:
            return True
    return False
