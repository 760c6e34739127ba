"""The bytes of a scenario file, as text."""

from __future__ import annotations

from pathlib import Path

from bench.errors import Problem
from bench.scenario.wording import near_or_known

LARGEST_FILE_BYTES = 256 * 1024


class UnreadableError(Exception):
    """Nothing more can be read: the one problem says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.expected)
        self.problem = problem


def read_text(path: Path) -> str:
    """The text of the file; UnreadableError when there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise UnreadableError(Problem(0, "", "a scenario file", "no such file", _neighbours(path))) from None
    except IsADirectoryError:
        raise UnreadableError(Problem(0, "", "a scenario file", "a directory", "name the .yaml file inside")) from None
    except OSError as error:
        found = (error.strerror or type(error).__name__).lower()
        raise UnreadableError(
            Problem(0, "", "a file that can be read", found, "check its path and permissions")
        ) from None
    except ValueError:  # a NUL in the path
        raise UnreadableError(Problem(0, "", "a path", "a character that no path can have")) from None
    if len(data) > LARGEST_FILE_BYTES:
        limit = f"a file of at most {LARGEST_FILE_BYTES // 1024} KiB"
        raise UnreadableError(Problem(0, "", limit, "a larger one", "is this the scenario?"))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{error.object[error.start]:02x}"
        raise UnreadableError(Problem(line, "", "UTF-8 text", found, "save the file as UTF-8")) from None


def _neighbours(path: Path) -> str:
    try:
        names = sorted(p.name for p in path.parent.glob("*.yaml"))
    except OSError:
        names = []
    return near_or_known(path.name, names[:10]) if names else "check the path"
