"""An estimate with its confidence interval, and Fieller's interval of a ratio."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the two ends of its interval, in the estimate's unit; an end may be infinite.

    Raises ValueError unless lo <= value <= hi.
    """

    value: float
    lo: float
    hi: float

    def __post_init__(self) -> None:
        if not self.lo <= self.value <= self.hi:
            raise ValueError(f"expected lo <= value <= hi, got {self.lo}, {self.value}, {self.hi}")

    @property
    def half_width_relative(self) -> float:
        """(hi − lo) / 2 / |value|; infinite when an end is infinite or the value is 0."""
        if math.isinf(self.lo) or math.isinf(self.hi) or self.value == 0:
            return math.inf
        return (self.hi - self.lo) / 2 / abs(self.value)

    def contains(self, x: float) -> bool:
        """Whether lo <= x <= hi."""
        return self.lo <= x <= self.hi

    def scaled(self, factor: float) -> Interval:
        """The interval of `factor` times the quantity; `factor` is above 0."""
        return Interval(self.value * factor, self.lo * factor, self.hi * factor)


def fieller(a: float, b: float, var_a: float, cov: float, var_b: float, t: float) -> Interval:
    """Fieller's interval of α/β, for two quantities that are not negative, from estimates a of α and b of β.

    `var_a`, `var_b`, `cov`: variances and covariance of the estimates; `t`: the quantile of Student's t.
    The interval holds every ρ with (a − ρ·b)² <= t²·(var_a − 2ρ·cov + ρ²·var_b). When b is not
    distinguishable from 0 that set has no upper end, and hi is infinite; the value is infinite when b <= 0.
    The lower end may fall below 0 when a is not distinguishable from 0.
    """
    value = a / b if b > 0 else math.inf
    seen_a = a * a - t * t * var_a
    seen_b = b * b - t * t * var_b
    middle = a * b - t * t * cov
    if b > 0 and seen_b > 0:
        # The roots are real: the set holds a/b and is bounded. max() only absorbs rounding.
        root = math.sqrt(max(middle * middle - seen_a * seen_b, 0.0))
        return Interval(value, min((middle - root) / seen_b, value), max((middle + root) / seen_b, value))
    lo = 0.0
    if a > 0 and seen_a > 0:
        # The same set, in β/α, is bounded here: its largest member bounds α/β from below.
        largest = (middle + math.sqrt(max(middle * middle - seen_a * seen_b, 0.0))) / seen_a
        lo = 1 / largest if largest > 0 else math.inf
    return Interval(value, min(lo, value), math.inf)
