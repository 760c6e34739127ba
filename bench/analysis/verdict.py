"""A verdict: what was expected, what was measured, within what, and what that means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from bench.measure.gates import Gate
from bench.theory.interval import Interval

Outcome = Literal["holds", "fails", "invalid", "not applicable"]
Value = float | str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of verdicts.csv. Numbers are in SI units, shares are fractions; `why` gives intervals and what to do."""

    check: str
    server: str
    subject: str
    expected: Value
    measured: Value
    tolerance: Value
    outcome: Outcome
    why: str


def judge(error: Interval, tolerance: float) -> tuple[Outcome, str]:
    """Outcome and words for a relative error with its 95 % interval.

    fails: all of the interval lies beyond the tolerance. holds: the error is within it, or cannot be told from being
    so while the interval is narrow enough to tell twice the tolerance apart. invalid: too wide to say anything.
    """
    text = f"off by {error.value:+.1%} [{error.lo:+.1%}, {error.hi:+.1%}]"
    if abs(error.value) <= tolerance:
        return "holds", text
    if error.lo > tolerance or error.hi < -tolerance:
        return "fails", text
    if (error.hi - error.lo) / 2 <= tolerance:
        return "holds", f"{text}: cannot be told from {tolerance:.0%}"
    return "invalid", f"{text}: too wide for a tolerance of {tolerance:.0%}; raise calibration.max_duration"


def relative(measured: Interval, expected: float) -> Interval:
    """measured / expected − 1, `expected` above 0."""
    return Interval(measured.value / expected - 1, measured.lo / expected - 1, measured.hi / expected - 1)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """0 all hold, 4 one is invalid, 1 one fails: a figure that means nothing comes before one that is too small."""
    outcomes = {verdict.outcome for verdict in verdicts}
    return 4 if "invalid" in outcomes else 1 if "fails" in outcomes else 0


def from_gate(gate: Gate, server: str, subject: str) -> Verdict:
    """A validity gate as a verdict: one that does not hold makes its point invalid."""
    outcome: Outcome = "holds" if gate.holds else "invalid"
    return Verdict(
        gate.name,
        server,
        subject,
        gate.expected,
        gate.measured,
        "",
        outcome,
        "" if gate.holds else gate.remedy,
    )
