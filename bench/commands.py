"""Running another program to its end, line by line, and never leaving it behind."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

TAIL_LINES = 20


@dataclass(frozen=True, slots=True)
class Ended:
    """Exit status (negative: the signal that killed it) and everything it printed, errors among it."""

    status: int
    output: str

    @property
    def tail(self) -> str:
        return "\n".join(self.output.splitlines()[-TAIL_LINES:])


def run_command(command: Sequence[str | Path], on_line: Callable[[str], None] | None = None) -> Ended:
    """Runs it without a shell; `on_line` sees each line as it comes. On any exception, Ctrl-C too, it is killed.

    Raises OSError when it cannot be started.
    """
    lines: list[str] = []
    with subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in process.stdout or ():
                lines.append(line)
                if on_line is not None:
                    on_line(line.strip())
        except BaseException:
            process.kill()
            raise
    return Ended(process.returncode, "".join(lines))
