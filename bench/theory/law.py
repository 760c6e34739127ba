"""The law of batching: a batch of B requests takes T(B) = c + B·m.

c is the overhead paid once per batch, m the marginal time of one more request, λ the arrival rate, N the
number of instances. Times in seconds, rates per second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

# One batch size or an array of them; the answer has the same form.
Size = TypeVar("Size", float, NDArray[np.float64])

Regime = Literal["overhead-bound", "balanced", "compute-bound"]

# At c = 4m a lone request spends 80 % of its time on overhead, and batching can make it 5 times faster.
OVERHEAD_BOUND_FROM = 4.0
# At c = m/2 no batch, however large, gains more than half.
COMPUTE_BOUND_UP_TO = 0.5

_WORTHWHILE_SHARE = 0.8

# A capacity that is used up to within rounding is used up.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class CostModel:
    """T(B) = c + B·m with c_s = c, m_s = m in seconds.

    Raises ValueError when c or m is negative or not finite, or when both are 0. The methods raise it for a
    batch size that is not above 0. B may be an array, and need not be whole: it may be an expected size.
    """

    c_s: float
    m_s: float

    def __post_init__(self) -> None:
        for name, value in (("c_s", self.c_s), ("m_s", self.m_s)):
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{name} must be a finite number of seconds >= 0, got {value}")
        if self.c_s == 0 and self.m_s == 0:
            raise ValueError("c_s and m_s are both 0: a batch would take no time")

    def batch_time_s(self, B: Size) -> Size:
        """T(B) = c + B·m, the time of one batch of B requests, in seconds."""
        return self.c_s + _sizes(B) * self.m_s

    def serial_time_s(self, B: Size) -> Size:
        """B·(c + m), the time of B requests one after the other, in seconds."""
        return _sizes(B) * (self.c_s + self.m_s)

    def speedup(self, B: Size) -> Size:
        """S(B) = B·(c + m) / (c + B·m), what one batch of B gains over B requests one after the other."""
        return self.serial_time_s(B) / self.batch_time_s(B)

    def throughput_per_s(self, B: Size, instances: int = 1) -> Size:
        """N·B / (c + B·m), requests per second of N instances that always run full batches of B."""
        return capacity_per_s(self, B, instances)

    @property
    def overhead_ratio(self) -> float:
        """c/m; infinite when m is 0."""
        return self.c_s / self.m_s if self.m_s else math.inf

    @property
    def ceiling(self) -> float:
        """1 + c/m, what S(B) tends to as B grows; infinite when m is 0."""
        return 1 + self.overhead_ratio

    @property
    def regime(self) -> Regime:
        """Where the time goes: overhead-bound when c/m >= 4, compute-bound when c/m <= 1/2, else balanced."""
        if self.overhead_ratio >= OVERHEAD_BOUND_FROM:
            return "overhead-bound"
        if self.overhead_ratio <= COMPUTE_BOUND_UP_TO:
            return "compute-bound"
        return "balanced"

    def share_of_ceiling(self, B: Size) -> Size:
        """S(B) / (1 + c/m) = B·m / (c + B·m), between 0 and 1; 0 when m is 0."""
        return _sizes(B) * self.m_s / self.batch_time_s(B)

    def batch_for_share_of_ceiling(self, f: float) -> float:
        """B = f/(1 − f) · c/m, the size at which S(B) is the share f of the ceiling; not rounded.

        Infinite when m is 0 and f is above 0. Raises ValueError unless 0 <= f < 1.
        """
        if not 0 <= f < 1:
            raise ValueError(f"a share of the ceiling lies in 0 <= f < 1, got {f}")
        return f / (1 - f) * self.overhead_ratio if f else 0.0


def expected_arrivals(rate_per_s: float, delay_s: float) -> float:
    """λ·d, the mean number of requests that arrive during a delay of d seconds."""
    return rate_per_s * delay_s


def delay_to_fill_s(rate_per_s: float, B: float) -> float:
    """B/λ, the delay in seconds during which B requests arrive on average. Raises ValueError unless λ > 0."""
    if not rate_per_s > 0:
        raise ValueError(f"rate_per_s must be above 0, got {rate_per_s}")
    return B / rate_per_s


def capacity_per_s(model: CostModel, B: Size, N: int) -> Size:
    """N·B / (c + B·m), the arrival rate per second below which N instances with batches up to B keep up.

    Raises ValueError unless N >= 1.
    """
    return _instances(N) * _sizes(B) / model.batch_time_s(B)


def smallest_stable_batch(rate_per_s: float, model: CostModel, N: int) -> int | None:
    """The smallest whole B with λ·(c + B·m) < N·B, that is B > λ·c / (N − λ·m).

    None when λ·m >= N: then no batch size keeps up. Raises ValueError unless λ >= 0 and N >= 1.
    """
    if not rate_per_s >= 0:
        raise ValueError(f"rate_per_s must be at least 0, got {rate_per_s}")
    left = _instances(N) - rate_per_s * model.m_s
    if left <= N * _ROUNDING:
        return None
    return math.floor(rate_per_s * model.c_s / left * (1 + _ROUNDING)) + 1


def plain_sentence(model: CostModel, max_batch: int, alone_s: float | None = None) -> str:
    """One sentence without a full stop: what batching can gain, why, and what to do or which size to use.

    `max_batch` is the largest batch size in use. `alone_s`: what a request takes alone, in seconds, where that is not
    c + m because c and m hold for larger batches only; S(B) then tends to alone/m. Raises ValueError unless max_batch
    is at least 1.
    """
    if max_batch < 1:
        raise ValueError(f"max_batch must be at least 1, got {max_batch}")
    alone_s = model.batch_time_s(1) if alone_s is None else alone_s
    if model.m_s == 0:
        gain = _times(max_batch * alone_s / model.batch_time_s(max_batch))
        return (
            "batching has no ceiling here: overhead-bound, one more request costs nothing; "
            f"a batch of {max_batch} is {gain} times faster"
        )
    reached = math.floor(100 * model.share_of_ceiling(max_batch))
    largest = f"the largest batch of {max_batch} reaches {reached} %"
    gain = _times(alone_s / model.m_s)
    if model.regime == "compute-bound":
        remedy = "use more instances or quantization, not larger batches"
        if gain == "1":
            return f"batching cannot make this faster: compute-bound; {remedy}"
        return f"batching can at most make this {gain} times faster: compute-bound, {largest} of that; {remedy}"
    opening = f"batching can make this up to {gain} times faster: {model.regime}"
    # Rounded first: 4·c/m of a fitted model that is 36.000000001 is 36.
    enough = math.ceil(round(model.batch_for_share_of_ceiling(_WORTHWHILE_SHARE), 6))
    if max_batch >= enough:
        return f"{opening}; the largest batch of {max_batch} already reaches {reached} % of that"
    return f"{opening}; a batch of {enough} reaches 80 % of that, {largest}"


def _sizes(B: Size) -> Size:
    if not np.all(np.greater(B, 0)):
        raise ValueError(f"a batch size must be above 0, got {B}")
    return B


def _instances(N: int) -> int:
    if N < 1:
        raise ValueError(f"the number of instances must be at least 1, got {N}")
    return N


def _times(x: float) -> str:
    digits = 0 if x >= 10 else 1 if x >= 2 else 2
    text = f"{x:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
