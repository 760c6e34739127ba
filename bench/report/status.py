"""The progress line on standard error: what is going on, how far, for how long.

Written by hand and not by a progress library: it is also written between two sends of the load engine, where a
library's redraw of some milliseconds would make the next requests late.
"""

from __future__ import annotations

import shutil
import time
from typing import TextIO

BAR = 20
SECONDS_BETWEEN_PLAIN_LINES = 5.0


class StatusLine:
    """Rewrites itself on a terminal; elsewhere a plain line for each new step, and now and then for a long one."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self._terminal = stream.isatty()
        self._began = time.monotonic()
        self._step = ""
        self._last = 0.0
        self._shown = False

    def tell(self, text: str, fraction: float | None) -> None:
        """Shows a step and the fraction of it that is done (None: not known)."""
        if self._quiet:
            return
        now = time.monotonic()
        step = text.partition(",")[0]
        if self._terminal:
            if step == self._step and now - self._last < 0.1:
                return
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[K{self._line(text, fraction, now)[:width]}")
            self._shown = True
        elif step != self._step or now - self._last > SECONDS_BETWEEN_PLAIN_LINES:
            self._stream.write(f"{self._line(text, fraction, now)}\n")
        else:
            return
        self._stream.flush()
        self._step, self._last = step, now

    def clear(self) -> None:
        """Leaves the terminal's line empty, for what is printed next."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False

    def _line(self, text: str, fraction: float | None, now: float) -> str:
        elapsed = f"{now - self._began:6.1f} s"
        if fraction is None:
            return f"{elapsed}  {text}"
        done = round(max(0.0, min(1.0, fraction)) * BAR)
        return f"{elapsed}  {'█' * done}{'░' * (BAR - done)} {fraction:4.0%}  {text}"
