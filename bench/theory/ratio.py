"""Ratios of times measured in the same block, with intervals; from them speedups and the measured ceiling.

A block is one pass over everything to be compared, close in time, so that drift of the machine cancels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bench.theory.interval import Interval, fieller

Floats = NDArray[np.float64]

_TRIM = 0.2  # per side
_TRIM_FROM = 10  # below this a trimmed sample has too few degrees of freedom left
# Yuen's interval leaves the mean of normal samples out in 5.8 of 100 cases for n = 10 and in 5.3 for n = 25; widened by
# 0.5/n, in 4.7 to 5.1 for every n from 10 to 60.
_WIDENED = 0.5


def paired_ratio(numerators: ArrayLike, denominators: ArrayLike, confidence: float = 0.95) -> Interval:
    """The typical ratio a_i/b_i of n pairs, each measured in one block: exp of the mean of log(a_i/b_i).

    numerators, denominators: shape (n,), in the same unit. The interval is a t interval of the mean log
    ratio; from 10 pairs on the mean is trimmed by 20 % per side and its error is Yuen's, from the
    winsorised spread. One pair says nothing of its spread: its interval is 0 … ∞.

    Raises ValueError for arrays that do not match or are empty, and for values not finite or not above 0.
    """
    a, b = _pairs(numerators, denominators)
    if np.any(a <= 0) or np.any(b <= 0):
        raise ValueError(f"a ratio of times needs values above 0, got {min(a.min(), b.min())}")
    logs = np.log(a / b)
    centre, covariance, df = _location(logs[None, :])
    value = math.exp(centre[0])
    if df == 0:
        return Interval(value, 0.0, math.inf)
    half = _t(confidence, df) * math.sqrt(covariance[0, 0])
    # Not exp(centre ± half): the ends must enclose the value to the last bit.
    return Interval(value, value * math.exp(-half), value * math.exp(half))


def speedup_interval(serial_one_s: ArrayLike, batch_s: ArrayLike, B: int, confidence: float = 0.95) -> Interval:
    """S(B) = B·T1 / T(B), from T1 the time of one request without batching and T(B) that of a batch of B.

    serial_one_s, batch_s: shape (blocks,), in seconds. Raises ValueError as `paired_ratio` does,
    and for B < 1.
    """
    if B < 1:
        raise ValueError(f"a batch size must be at least 1, got {B}")
    return paired_ratio(serial_one_s, batch_s, confidence).scaled(B)


def upper_half(batch_sizes: ArrayLike) -> Floats:
    """The batch sizes, ascending, that are at least half of the largest; at least the two largest.

    Raises ValueError for fewer than 2 different sizes.
    """
    sizes = np.unique(np.asarray(batch_sizes, dtype=np.float64))
    if len(sizes) < 2:
        raise ValueError(f"a slope needs at least 2 batch sizes, got {len(sizes)}")
    return sizes[min(int(np.searchsorted(sizes, sizes[-1] / 2)), len(sizes) - 2) :]


def measured_ceiling(
    serial_s: ArrayLike, upper_batch_sizes: ArrayLike, upper_times_s: ArrayLike, confidence: float = 0.95
) -> Interval:
    """What S(B) tends to, without the fitted c: T1 / (dT/dB), the slope taken over the large batch sizes.

    serial_s: shape (blocks,), T1 in seconds; upper_batch_sizes: shape (k,), k >= 2, see `upper_half`;
    upper_times_s: shape (blocks, k), in seconds. The slope of a block is that of least squares with weights
    1/T².

    The slope is a small difference of large times, so the slope of a single block may be 0 or less.
    Dropping such blocks, or taking logs, would push the ceiling up; so the blocks are averaged first
    (trimmed as in `paired_ratio`) and the interval is Fieller's, with the covariance over blocks. hi is
    infinite when the mean slope is not distinguishable from 0, the value too when it is not above 0. One
    block gives 0 … ∞.

    Raises ValueError for shapes that do not match and for times that are not finite and above 0.
    """
    sizes = np.asarray(upper_batch_sizes, dtype=np.float64)
    times = np.asarray(upper_times_s, dtype=np.float64)
    serial = np.asarray(serial_s, dtype=np.float64)
    if times.shape != (len(serial), len(sizes)) or len(np.unique(sizes)) < 2 or not len(serial):
        raise ValueError(
            "expected times of shape (blocks, batch sizes) with at least 1 block and 2 sizes, "
            f"got {times.shape} for {len(serial)} blocks and {len(sizes)} sizes"
        )
    if not np.all(np.isfinite(times) & (times > 0)) or not np.all(np.isfinite(serial) & (serial > 0)):
        raise ValueError("times must be finite and above 0")
    serial, slopes = _pairs(serial, _slopes(sizes, times))
    centre, covariance, df = _location(np.stack([serial, slopes]))
    a, b = (float(x) for x in centre)
    if df == 0:
        return Interval(a / b if b > 0 else math.inf, 0.0, math.inf)
    (var_a, cov), (_, var_b) = covariance.tolist()
    return fieller(a, b, var_a, cov, var_b, _t(confidence, df))


def _slopes(sizes: Floats, times: Floats) -> Floats:
    weights = 1 / np.median(times, axis=0) ** 2
    centred = sizes - np.average(sizes, weights=weights)
    slopes: Floats = times @ (weights * centred) / float(np.sum(weights * centred**2))
    return slopes


def _location(samples: Floats) -> tuple[Floats, Floats, int]:
    """Means over the last axis, their covariance, and its degrees of freedom (0 for one observation).

    samples: shape (quantities, n). From 10 observations on: 20 % trimmed means and Yuen's covariance
    (n − 1)·S_w / (h·(h − 1)), S_w the winsorised covariance, h the number kept, h − 1 degrees of freedom; times
    (1 + 0.5/n)², as it is a little short for small samples.
    """
    n = samples.shape[1]
    cut = math.floor(_TRIM * n) if n >= _TRIM_FROM else 0
    kept = n - 2 * cut
    ordered = np.sort(samples, axis=1)
    centre = np.mean(ordered[:, cut : n - cut], axis=1)
    if kept < 2:
        return centre, np.zeros((len(samples), len(samples))), 0
    winsorised = np.clip(samples, ordered[:, [cut]], ordered[:, [n - 1 - cut]])
    spread = np.atleast_2d(np.cov(winsorised))
    short = (1 + _WIDENED / n) ** 2 if cut else 1.0
    return centre, short * (n - 1) * spread / (kept * (kept - 1)), kept - 1


def _t(confidence: float, df: int) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    return float(stats.t.ppf((1 + confidence) / 2, df))


def _pairs(numerators: ArrayLike, denominators: ArrayLike) -> tuple[Floats, Floats]:
    a = np.asarray(numerators, dtype=np.float64)
    b = np.asarray(denominators, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or not len(a):
        raise ValueError(f"expected two arrays of one length, not empty, got shapes {a.shape} and {b.shape}")
    if not np.all(np.isfinite(a)) or not np.all(np.isfinite(b)):
        raise ValueError("expected finite values")
    return a, b
