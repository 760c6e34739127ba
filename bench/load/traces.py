"""Arrivals as they were recorded: CSV files of times, and their replay."""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TextIO

import numpy as np

from bench.errors import Problem, ScenarioError

SCALES = ("time", "thin", "recorded")
MOST_PROBLEMS = 20
FORMATS = (
    "one column of seconds, or the columns end_timestamp and duration (Azure Functions 2021) or Timestamp (BurstGPT)"
)
_LONGEST_FOUND = 40


def trace(rate_per_s: float, window_s: float, seed: int, *, file: str, scale: str = "time") -> np.ndarray:
    """The recorded arrivals from the first on, which comes at 0. A trace that ends before the window ends it early.

    scale 'time': those that the window asks for (rate × window, or all there are) stretched or pressed together
    until their mean rate is the asked one. 'thin': in recorded time, each kept with the probability that makes
    the expected rate the asked one over what the trace has of the window; patterns in time stay as they are.
    'recorded': as they are, whatever the rate.
    """
    seconds = read_trace(file)
    if scale == "time":
        gaps = min(round(rate_per_s * window_s), len(seconds) - 1)
        if not seconds[gaps] > 0:
            raise _unusable(file, f"different times among the first {gaps + 1}", "the same time in all of them")
        stretched: np.ndarray = seconds[: gaps + 1] * (gaps / rate_per_s / seconds[gaps])
        return stretched[stretched < window_s]
    if scale not in SCALES:
        raise ValueError(f"arrivals: trace: scale: expected one of {', '.join(SCALES)}, got {scale!r}")
    within = seconds[seconds < window_s]
    if scale == "recorded":
        return within
    kept = rate_per_s * min(window_s, float(seconds[-1])) / len(within)
    if kept > 1:
        found = f"{rate_per_s / kept:.6g}/s in its first {min(window_s, float(seconds[-1])):.6g} s"
        hint = "lower the rate or use scale: time"
        raise _unusable(file, f"at least {rate_per_s:g} arrivals/s to thin out", found, hint)
    return within[np.random.default_rng(seed).uniform(size=len(within)) < kept]


def read_trace(file: str | Path) -> np.ndarray:
    """Seconds after the first arrival, sorted. Raises ScenarioError with every row that is not as it should be.

    Azure Functions 2021 records ends: an arrival is end_timestamp - duration. Empty lines are passed over.
    """
    path = Path(file)
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise _unusable(path, "a trace that can be read", (error.strerror or type(error).__name__).lower()) from None


# One point after another replays the same file.
@lru_cache(maxsize=2)
def _read(path: Path, _changed_ns: int, _size: int) -> np.ndarray:
    problems: list[Problem] = []
    seconds = array("d")
    wrong = 0
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as text:
        for found in _arrivals(_rows(text)):
            if isinstance(found, float):
                seconds.append(found)
                continue
            wrong += 1
            if wrong <= MOST_PROBLEMS:
                problems.append(found)
    if problems:
        count = "1 problem" if wrong == 1 else f"{wrong} problems"
        only = f", of which the first {MOST_PROBLEMS}" if wrong > MOST_PROBLEMS else ""
        raise ScenarioError(f"{path} cannot be replayed: {count}{only}", tuple(problems), str(path))
    times = np.sort(np.array(seconds))
    if len(times) == 0:
        raise _unusable(path, "at least two arrivals", "none")
    if times[0] == times[-1]:
        raise _unusable(path, "at least two different times", f"only {times[0]:g}")
    times -= times[0]
    times.flags.writeable = False  # it is shared by all who read the same file
    return times


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the numbers stand in a row. duration: None where a time is the arrival itself."""

    names: tuple[str, ...]
    time: int = 0
    duration: int | None = None

    def arrival(self, line: int, row: list[str]) -> float | Problem:
        if len(row) != len(self.names):
            many = "1 column" if len(self.names) == 1 else f"{len(self.names)} columns"
            return Problem(line, "", many, f"{len(row)}: {_shown(','.join(row))}")
        time = _seconds(row[self.time], least=-math.inf)
        if time is None:
            return self._no_number(line, row, self.time, "a number of seconds")
        if self.duration is None:
            return time
        lasted = _seconds(row[self.duration], least=0.0)
        if lasted is None:
            return self._no_number(line, row, self.duration, "a number of seconds, 0 or more")
        return time - lasted

    def _no_number(self, line: int, row: list[str], column: int, expected: str) -> Problem:
        return Problem(line, self.names[column], expected, _shown(row[column]))


def _arrivals(rows: Iterator[tuple[int, list[str]]]) -> Iterator[float | Problem]:
    columns: _Columns | None = None
    for line, row in rows:
        if columns is not None:
            yield columns.arrival(line, row)
            continue
        columns = _header(row)
        if columns is None:
            hint = "is this the trace?"
            yield Problem(line, "", FORMATS, _shown(",".join(row)), hint)
            return
        if columns == _NO_HEADER:
            yield columns.arrival(line, row)


def _header(row: list[str]) -> _Columns | None:
    names = tuple(cell.strip().lower() for cell in row)
    if "end_timestamp" in names and "duration" in names:
        return _Columns(names, names.index("end_timestamp"), names.index("duration"))
    if "timestamp" in names:
        return _Columns(names, names.index("timestamp"))
    if len(row) > 1:
        return None
    return _Columns(names) if _seconds(row[0], least=-math.inf) is None else _NO_HEADER


_NO_HEADER = _Columns(("",))


def _rows(text: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not empty, with the line on which each ends."""
    reader = csv.reader(text)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        problem = Problem(reader.line_num, "", "CSV", str(error), "is this the trace?")
        raise ScenarioError(f"{text.name} cannot be replayed: 1 problem", (problem,), text.name) from None


def _seconds(cell: str, least: float) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= least else None


def _shown(text: str) -> str:
    cut = text if len(text) <= _LONGEST_FOUND else text[: _LONGEST_FOUND - 1] + "…"
    return repr(cut) if text.strip() else "nothing"


def _unusable(path: str | Path, expected: str, found: str, hint: str = "") -> ScenarioError:
    return ScenarioError(f"{path} cannot be replayed", (Problem(0, "", expected, found, hint),), str(path))
