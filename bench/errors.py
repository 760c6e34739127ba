"""Every error the product raises on purpose, by whose fault it is.

BenchError
├── ScenarioError       the file or the command line is wrong         (exit 2)
├── ServerError         a server could not be built, launched or died (exit 3)
│   └── OutOfMemory     a batch did not fit into memory: most often the sizes below it can still be measured
└── MeasurementInvalid  it ran, but the figures mean nothing          (exit 4)

The command line alone turns a class into an exit code and prints the text.
"""

from __future__ import annotations

from dataclasses import dataclass


class BenchError(Exception):
    """One line for a human: where, what was expected, what was found, what to do. `detail` may follow it."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a scenario: the line (1-based, 0 when it is not in the file) and the dotted field."""

    line: int
    field: str
    expected: str
    found: str
    hint: str = ""

    def text(self, source: str) -> str:
        where = f"{source}:{self.line}" if self.line else source
        field = f" {self.field}:" if self.field else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}:{field} expected {self.expected}, found {self.found}{hint}"


class ScenarioError(BenchError):
    """A scenario or an option that cannot be run, with all its problems at once."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = (), source: str = "") -> None:
        super().__init__(message, "\n".join(p.text(source) for p in problems))
        self.problems = problems
        self.source = source


class ServerError(BenchError):
    """A server that could not be built or launched, or that died. `detail` is the tail of its log."""


class OutOfMemory(ServerError):
    """A batch of `batch_size` requests, or of at most so many, did not fit into memory; `cause`: in a few words."""

    def __init__(self, server: str, batch_size: int, cause: str, detail: str = "") -> None:
        super().__init__(f"{server}: a batch of {batch_size} did not fit into memory: {cause}", detail)
        self.batch_size = batch_size
        self.cause = cause


class MeasurementInvalid(BenchError):
    """It ran, but the figures mean nothing: wrong outputs, wrong batch sizes, a late generator."""
