"""Durations and fractions as people write them, to seconds and plain fractions, and back for messages."""

from __future__ import annotations

import math
import re
from decimal import Decimal

_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"
# Both the micro sign and the Greek letter look like µ on a keyboard.
_TIME_UNITS = "us|µs|μs|ms|s|min|h"

# For editors, which know JavaScript's regular expressions; no sign, as no duration and no share is negative.
DURATION_PATTERN = rf"^{_NUMBER} *({_TIME_UNITS})?$"
FRACTION_PATTERN = rf"^{_NUMBER} *%?$"

_DURATION = re.compile(rf"([-+]?{_NUMBER})\s*({_TIME_UNITS})?")
_FRACTION = re.compile(rf"([-+]?{_NUMBER})\s*(%)?")
_LONGEST_TEXT = 60

DURATION_FORMS = "such as 5ms, 250us, 1.5s or 2min (a bare number is seconds)"
FRACTION_FORMS = "such as 2% or 0.02"

# Decimal, so that 0.3ms is the float nearest to 0.0003 and not a product of two roundings.
_SECONDS = {
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "μs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
}


def parse_duration(value: object) -> float:
    """Seconds of "5ms", "60 ms", "250µs", "2 min" or a bare number of them; ValueError for anything else."""
    number, unit = _split(value, _DURATION, f"a duration {DURATION_FORMS}")
    return _finite(number * _SECONDS[unit or "s"], f"a duration {DURATION_FORMS}")


def parse_fraction(value: object) -> float:
    """Fraction of one of "2%", "0.5 %" or a bare 0.02; ValueError for anything else."""
    number, unit = _split(value, _FRACTION, f"a fraction {FRACTION_FORMS}")
    return _finite(number / 100 if unit else number, f"a fraction {FRACTION_FORMS}")


def duration_text(seconds: float) -> str:
    """A duration the way `parse_duration` reads it: 0.005 s is "5ms"."""
    size = abs(seconds)
    if size == 0 or size >= 1:
        return f"{seconds:.6g}s"
    return f"{seconds * 1e3:.6g}ms" if size >= 1e-3 else f"{seconds * 1e6:.6g}us"


def fraction_text(fraction: float) -> str:
    """A fraction as a percentage: 0.05 is "5%"."""
    return f"{fraction * 100:.6g}%"


def _split(value: object, pattern: re.Pattern[str], expected: str) -> tuple[Decimal, str | None]:
    if isinstance(value, str):
        found = pattern.fullmatch(value.strip()) if len(value) <= _LONGEST_TEXT else None
        if found is None:
            raise ValueError(f"expected {expected}, found {value[:_LONGEST_TEXT]!r}")
        return Decimal(found[1]), found[2]
    # bool is an int to Python, and `duration: true` is a mistake.
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise ValueError(f"expected {expected}, found {type(value).__name__}")
    return Decimal(repr(value)), None


def _is_finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _finite(value: Decimal, expected: str) -> float:
    result = float(value)
    if not math.isfinite(result):
        raise ValueError(f"expected {expected}, found a number that is too large")
    return result
