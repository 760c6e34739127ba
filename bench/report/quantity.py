"""The one place that turns numbers into text for people: milliseconds, shares, rates."""

from __future__ import annotations

import math


def milliseconds(seconds: float) -> str:
    """'4.35 ms', three significant digits; '–' for what was not measured."""
    return f"{ms(seconds)} ms" if math.isfinite(seconds) else "–"


def ms(seconds: float) -> str:
    """'4.35', for a column that says ms."""
    return significant(seconds * 1000) if math.isfinite(seconds) else "–"


def ms_with_interval(value_s: float, lo_s: float, hi_s: float) -> str:
    """'4.35 [4.33, 4.36]', for a column that says ms."""
    return f"{ms(value_s)} [{significant(lo_s * 1000)}, {significant(hi_s * 1000)}]"


def ms_known(value_s: float, lo_s: float, hi_s: float) -> str:
    """As `ms_with_interval`, the value alone where no interval is known, '–' where nothing is."""
    return ms(value_s) if math.isnan(lo_s) else ms_with_interval(value_s, lo_s, hi_s)


def with_interval(value: float, lo: float, hi: float) -> str:
    """'3.14 [3.12, 3.16]', 'unbounded' for an infinite value."""
    if not math.isfinite(value):
        return "unbounded"
    return f"{value:.3g} [{lo:.3g}, {'∞' if math.isinf(hi) else format(hi, '.3g')}]"


def share(fraction: float) -> str:
    """'2.3 %'."""
    return "–" if not math.isfinite(fraction) else f"{fraction * 100:.3g} %"


def number(value: float) -> str:
    """Up to four significant digits; '–' for what was not measured."""
    return "–" if not math.isfinite(value) else f"{value:.4g}"


def significant(value: float) -> str:
    """Three significant digits without an exponent where a person reads it as a time in ms."""
    if not math.isfinite(value):
        return "∞"
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(decimals, 4)}f}"
