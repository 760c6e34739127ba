"""What the kernel tells of one process in /proc: its memory, the most it had, and how it ended."""

from __future__ import annotations

import signal
from pathlib import Path

KIB = 1024


def peak_resident_bytes(pid: int) -> int:
    """The most resident memory that it had since it started, or since `forget_peak`: VmHWM. 0 when it is gone."""
    return _status(pid, "VmHWM")


def anonymous_bytes(pid: int) -> int:
    """Resident memory that is its own, and free once it ends: no file that others may share is in it. 0 when gone."""
    return _status(pid, "RssAnon")


def forget_peak(pid: int) -> bool:
    """Sets the peak to what is resident now; False where the kernel does not let us (proc(5), clear_refs)."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def ended_by(pid: int) -> int:
    """The signal that ended a process whose parent has not asked yet; 0 for any other end, and while it lives."""
    try:
        # The name, in parentheses, may hold anything; the exit status is the last field (proc(5), stat).
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[-1]) & 0x7F if fields[0] == "Z" else 0


def was_killed(pid: int) -> bool:
    """Whether SIGKILL ended it: what the kernel sends to the process that it takes memory from."""
    return ended_by(pid) == signal.SIGKILL


def _status(pid: int, name: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * KIB for line in lines if line.startswith(f"{name}:")), 0)
