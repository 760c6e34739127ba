"""A promise and what became of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.report.quantity import significant

HOLDS, FAILS, NOT_RUN, OUT_OF_REACH = "holds", "fails", "not run", "out of reach"


@dataclass(frozen=True, slots=True)
class Check:
    """One promise: the bound, what was measured, and whether that is within it.

    by_ratio: both sides of it were measured in the same run, beside each other, so the machine's speed is in both.
    """

    name: str
    expected: str
    measured: str
    verdict: str
    by_ratio: bool = False


def judged(name: str, expected: str, measured: str, holds: bool | None, *, by_ratio: bool = False) -> Check:
    """`holds` is None where there was nothing to judge."""
    verdict = NOT_RUN if holds is None else HOLDS if holds else FAILS
    return Check(name, expected, measured, verdict, by_ratio)


def finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def microseconds_range(values_s: Sequence[float]) -> str:
    """'38.2 µs (36.0 to 41.5)': the median, and the extremes of more than one."""
    if not values_s:
        return "–"
    middle = f"{significant(median(values_s) * 1e6)} µs"
    ends = f" ({significant(min(values_s) * 1e6)} to {significant(max(values_s) * 1e6)})"
    return middle + (ends if len(values_s) > 1 else "")


def megabytes(count: float) -> str:
    """'361 MB', of 10⁶ bytes each."""
    return f"{count / 1e6:.3g} MB" if count else "–"
