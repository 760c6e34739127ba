"""What the kernel tells of one process in /proc: its memory, the most it had, its start, its ids, how it ended."""

from __future__ import annotations

import signal
from pathlib import Path

KIB = 1024


def peak_resident_bytes(pid: int) -> int:
    """The most resident memory that it had since it started, or since `forget_peak`: VmHWM. 0 when it is gone."""
    return _bytes(pid, "VmHWM")


def anonymous_bytes(pid: int) -> int:
    """Resident memory that is its own, and free once it ends: no file that others may share is in it. 0 when gone."""
    return _bytes(pid, "RssAnon")


def forget_peak(pid: int) -> bool:
    """Sets the peak to what is resident now; False where the kernel does not let us (proc(5), clear_refs)."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def ended_by(pid: int) -> int:
    """The signal that ended a process whose parent has not asked yet; 0 for any other end, and while it lives."""
    fields = _stat(pid)
    return int(fields[-1]) & 0x7F if fields[:1] == ["Z"] else 0


def was_killed(pid: int) -> bool:
    """Whether SIGKILL ended it: what the kernel sends to the process that it takes memory from."""
    return ended_by(pid) == signal.SIGKILL


def is_zombie(pid: int) -> bool:
    """Whether it has ended and its parent has not asked yet."""
    return _stat(pid)[:1] == ["Z"]


def start_ticks(pid: int) -> int:
    """When it started, in clock ticks since the machine did, whatever becomes of the clock; 0 when there is none."""
    fields = _stat(pid)
    return int(fields[19]) if fields else 0


def inner_pid(pid: int) -> int:
    """Its id in the innermost namespace, as a container has it (proc(5), NSpid); 0 when it is gone."""
    ids = _status(pid, "NSpid")
    return int(ids[-1]) if ids else 0


def _stat(pid: int) -> list[str]:
    """The fields of proc(5), stat, from the third on, the state; the last is the exit status. None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name, in parentheses, may hold anything


def _status(pid: int, name: str) -> list[str]:
    """The words of one line of proc(5), status; none when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return next((line.split()[1:] for line in lines if line.startswith(f"{name}:")), [])


def _bytes(pid: int, name: str) -> int:
    size = _status(pid, name)
    return int(size[0]) * KIB if size else 0
