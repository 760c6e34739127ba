"""Two runs in one folder must not meet: an artifact that a run uses is locked against being built anew under it."""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path


class Hold:
    """An open lock file beside an artifact (flock(2)): exclusive while it is built, shared while it is used. The kernel
    lets go of it when the process ends, however it ends."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)  # not inherited: a server must not keep it
        weakref.finalize(self, os.close, self._lock)

    def exclusive(self) -> bool:
        """Whether nobody else uses or builds it; then nobody will until `share`."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def share(self) -> None:
        """From now on others may use it and not build it; waits until who builds it has ended. Not one step with
        `exclusive` before it: another build may come between, so look at what is there afterwards."""
        fcntl.flock(self._lock, fcntl.LOCK_SH)
