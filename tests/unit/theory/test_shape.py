"""Curves of a known shape under 2 % noise, spikes of 5 × the time in 3 % of the visits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bench.theory.shape import Kind, Shape, shape_of

Floats = NDArray[np.float64]

SIZES = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])
OFF_GRID = np.array([1.0, 3, 5, 7, 10, 13, 20, 24, 32])

no_flakes = settings(deadline=None, derandomize=True, max_examples=60)


def told(
    curve: Callable[[Floats], Floats],
    rng: np.random.Generator,
    blocks: int = 10,
    sizes: Floats = SIZES,
    sd: float = 0.02,
    **options: float,
) -> Shape:
    """What is told of one simulation of curve(B), in seconds."""
    factors = 1 + sd * rng.standard_normal((blocks, len(sizes)))
    factors = np.where(rng.random(factors.shape) < 0.03, 5 * factors, factors)
    number = np.repeat(np.arange(blocks), len(sizes))
    return shape_of(np.tile(sizes, blocks), (curve(sizes) * factors).ravel(), blocks=number, **options)


def exact(curve: Callable[[Floats], Floats], visits: int = 3, sizes: Floats = SIZES, **options: float) -> Shape:
    """What is told of visits that scatter by a ten-thousandth only."""
    factors = np.linspace(0.9999, 1.0001, visits)[:, None]
    return shape_of(np.tile(sizes, visits), (curve(sizes) * factors).ravel(), **options)


def line(B: Floats) -> Floats:
    return 0.004 + 0.002 * B


def hinge(B: Floats) -> Floats:
    return np.maximum(0.009, 0.005 + 0.001 * B)


def two(B: Floats) -> Floats:
    return 0.005 + 0.001 * B + 0.002 * np.maximum(0, B - 4)


def padded(B: Floats) -> Floats:
    return 0.004 + 0.001 * 2.0 ** np.ceil(np.log2(B))


def waves(B: Floats) -> Floats:
    return 0.002 + 0.004 * np.ceil(B / 4)


def curved(B: Floats) -> Floats:
    return 0.002 + 0.001 * B + 0.0000234375 * B**2  # 6 ms of 24 ms at B = 16


def teeth(B: Floats) -> Floats:
    return line(B) * (1 + 0.1 * (-1.0) ** np.arange(len(B)))


CURVES: list[tuple[Callable[[Floats], Floats], Kind]] = [
    (line, "affine"),
    (hinge, "hinge"),
    (two, "two segments"),
    (padded, "staircase"),
    (waves, "staircase"),
    (curved, "quadratic"),
    (teeth, "no line"),
]


@pytest.mark.parametrize(("curve", "kind"), CURVES)
def test_a_curve_without_noise_is_told_for_what_it_is(curve: Callable[[Floats], Floats], kind: Kind) -> None:
    assert exact(curve).kind == kind


@pytest.mark.parametrize("sizes", [SIZES, OFF_GRID], ids=["grid", "off grid"])
@pytest.mark.parametrize(("curve", "kind"), CURVES)
def test_a_curve_is_seen_through_noise_and_spikes(curve: Callable[[Floats], Floats], kind: Kind, sizes: Floats) -> None:
    rng = np.random.default_rng(31)
    counts = Counter(told(curve, rng, sizes=sizes).kind for _ in range(40))
    assert counts[kind] >= 37, counts


def test_lines_are_called_something_else_at_most_twice_in_a_hundred() -> None:
    rng = np.random.default_rng(32)
    counts = Counter(told(line, rng).kind for _ in range(500))
    # 2 % of 500 and three standard deviations of chance.
    assert 500 - counts["affine"] <= 19, counts


def test_c_and_m_of_a_hinge_are_those_beyond_the_knee() -> None:
    shape = told(hinge, np.random.default_rng(33), blocks=30)
    assert shape.fit is not None
    assert shape.knee is not None
    assert shape.fit.c_lo_s < 0.005 < shape.fit.c_hi_s
    assert shape.fit.m_lo_s < 0.001 < shape.fit.m_hi_s
    assert shape.knee.contains(4)
    assert shape.holds_from == 4
    assert shape.words.startswith("T(B) is flat up to B = ")


def test_c_and_m_of_two_segments_are_those_of_the_upper_one() -> None:
    shape = told(two, np.random.default_rng(34), blocks=30)
    assert shape.fit is not None
    assert shape.fit.m_lo_s < 0.003 < shape.fit.m_hi_s
    assert shape.holds_from == 4
    assert "two lines that meet at B = " in shape.words


def test_a_knee_between_two_sizes_has_c_and_m_hold_from_the_larger_one_on() -> None:
    shape = exact(lambda B: np.maximum(0.010, 0.005 + 0.001 * B))  # 4 and 6 are sizes, 5 is none
    assert shape.kind == "hinge"
    assert shape.knee is not None
    assert shape.knee.contains(5)
    assert shape.holds_from == 6


def test_the_slopes_of_two_segments_are_compared_in_words() -> None:
    assert "beyond, one more request costs 3 times what it costs below" in exact(two).words


def test_a_segment_that_falls_has_no_ratio_of_slopes() -> None:
    shape = exact(lambda B: 0.010 - 0.001 * B + 0.003 * np.maximum(0, B - 4))
    assert shape.kind == "two segments"
    assert "it hardly grows below and does beyond" in shape.words


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        (padded, "T(B) is a staircase, as if each batch were padded to the next power of 2"),
        (waves, "T(B) is a staircase, as if each batch were padded to the next multiple of 4"),
        (curved, "the growth of T(B) is faster than in proportion to B: a B² term is 25 % of it"),
        (teeth, "T(B) lies off the best line by up to "),
    ],
)
def test_without_a_line_only_the_table_is_left(curve: Callable[[Floats], Floats], words: str) -> None:
    shape = exact(curve)
    assert shape.words.startswith(words)
    assert (shape.fit, shape.holds_from, shape.knee) == (None, math.inf, None)


def test_a_line_says_over_which_sizes_it_holds_and_how_well() -> None:
    shape = exact(line)
    assert shape.words.startswith("T(B) is a line from B = 1 to 16, off by at most ")
    assert shape.fit is not None
    assert (shape.fit.c_s, shape.fit.m_s) == pytest.approx((0.004, 0.002), rel=1e-3)
    assert shape.holds_from == 1


def test_a_bend_within_the_tolerance_is_a_line_however_significant() -> None:
    assert exact(hinge).kind == "hinge"
    assert exact(hinge, affine_tolerance=0.3).kind == "affine"


def test_a_misfit_that_noise_explains_is_a_line_however_large() -> None:
    rng = np.random.default_rng(35)
    shapes = [told(line, rng, blocks=4, sd=0.3) for _ in range(40)]
    assert Counter(shape.kind for shape in shapes)["affine"] >= 38


def test_levels_of_blocks_do_not_hide_a_shape_once_blocks_are_told() -> None:
    rng = np.random.default_rng(36)
    times = hinge(SIZES) * (1 + 0.01 * rng.standard_normal((10, 8))) * rng.uniform(0.5, 1.5, (10, 1))
    sizes, number = np.tile(SIZES, 10), np.repeat(np.arange(10), 8)
    assert shape_of(sizes, times.ravel()).kind == "affine"
    assert shape_of(sizes, times.ravel(), blocks=number).kind == "hinge"


def test_one_visit_to_each_size_is_judged_by_the_tolerance_alone() -> None:
    assert shape_of(SIZES, line(SIZES)).kind == "affine"
    shape = shape_of(SIZES, hinge(SIZES))
    assert shape.kind == "no line"
    assert shape.words.endswith("visited once each, the sizes do not tell the noise")


def test_three_sizes_are_a_line_or_none() -> None:
    sizes = np.array([1.0, 4, 16])
    assert exact(line, sizes=sizes).kind == "affine"
    assert exact(lambda B: line(B) + np.where(B == 4, 0.005, 0), sizes=sizes).kind == "no line"


def test_two_sizes_are_a_line() -> None:
    assert exact(hinge, sizes=np.array([1.0, 16])).kind == "affine"


def test_too_little_to_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 batch sizes and 3 observations"):
        shape_of([1, 1, 1], [0.1, 0.1, 0.1])


@given(
    c_s=st.floats(1e-4, 0.1),
    m_s=st.floats(1e-5, 0.1),
    sizes=st.sets(st.integers(1, 64), min_size=3, max_size=9),
    unit=st.sampled_from([1.0, 1e3, 1e-3]),
)
@no_flakes
def test_exact_lines_are_lines_in_any_unit(c_s: float, m_s: float, sizes: set[int], unit: float) -> None:
    B = np.array(sorted(sizes), dtype=np.float64)
    shape = exact(lambda b: unit * (c_s + m_s * b), sizes=B)
    assert shape.kind == "affine"


@given(
    times=st.lists(st.floats(1e-6, 1e3), min_size=12, max_size=12),
    order=st.permutations(range(12)),
)
@no_flakes
def test_any_times_have_a_shape_and_the_order_of_visits_does_not_matter(times: list[float], order: list[int]) -> None:
    sizes = np.repeat([1.0, 2, 4, 8], 3)
    shape = shape_of(sizes, times)
    again = shape_of(sizes[order], np.array(times)[order])
    assert shape.kind == again.kind
    assert (shape.fit is None) == math.isinf(shape.holds_from)
    assert shape.words


def test_a_size_with_two_visits_and_a_spike_among_them_is_still_told() -> None:
    sizes = np.array([1.0, 2.0, 4.0, 8.0] * 2)
    times = (0.004 + 0.002 * sizes) * np.array([1.001, 1.0, 0.999, 1.002, 1.0, 0.998, 1.001, 1.0])
    times[2] *= 5
    told = shape_of(sizes, times, blocks=np.repeat([0, 1], 4))
    assert told.kind == "affine"
    assert told.fit is not None
    assert told.fit.m_s == pytest.approx(0.002, rel=0.05)
