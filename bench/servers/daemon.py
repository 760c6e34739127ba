"""Why Docker's daemon cannot be asked, by what its client said: the command's and the library's alike."""

from __future__ import annotations


def daemon_fault(said: str) -> tuple[str, str]:
    """What is wrong, and what to do, in half a line each."""
    if "permission denied" in said.lower() or "PermissionError" in said:
        return "no rights to Docker's socket", "join the group docker, or run as root"
    return "no Docker daemon answers", "start it (systemctl start docker), or use runtime: process"
