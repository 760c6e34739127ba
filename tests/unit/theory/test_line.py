from __future__ import annotations

import math

import numpy as np
import pytest

from bench.theory.interval import Interval
from bench.theory.line import fit_line

# Four points whose least squares can be done by hand: a = 1, b = 2, residuals +1, −1, −1, +1.
X, Y = [0.0, 1.0, 2.0, 3.0], [2.0, 2.0, 4.0, 8.0]


def test_the_line_and_its_intervals_are_those_of_the_textbook() -> None:
    fit = fit_line(X, Y)
    assert (fit.a.value, fit.b.value) == (pytest.approx(1.0), pytest.approx(2.0))
    # s² = 4/(4 − 2) = 2, Sxx = 5; t(2) = 4.3027.
    assert fit.scatter == pytest.approx(math.sqrt(2))
    assert fit.b.hi - fit.b.value == pytest.approx(4.302653 * math.sqrt(2 / 5), rel=1e-6)
    assert fit.a.hi - fit.a.value == pytest.approx(4.302653 * math.sqrt(2 / 4 + 1.5**2 * 2 / 5), rel=1e-6)
    assert fit.half_width(1.5) == pytest.approx(4.302653 * math.sqrt(2 / 4), rel=1e-6)
    assert (fit.points, fit.largest_x) == (4, 3.0)
    assert not fit.grows


def test_the_intervals_cover_at_their_level() -> None:
    rng = np.random.default_rng(5)
    x = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])
    hits = []
    for _ in range(400):
        fit = fit_line(x, 250e6 + 1e6 * x + 2e6 * rng.standard_normal(8))
        hits.append((fit.a.contains(250e6), fit.b.contains(1e6), fit.reaches(280e6).contains(30.0)))
    assert np.mean(hits, axis=0) == pytest.approx([0.95, 0.95, 0.95], abs=0.03)


def test_where_the_line_comes_to_a_limit() -> None:
    fit = fit_line([1, 2, 3, 4], [102.0, 104.0, 106.0, 108.0])
    assert fit.grows
    assert fit.reaches(200.0).value == pytest.approx(50.0)
    assert fit.reaches(90.0) == Interval(0.0, 0.0, 0.0)


def test_a_line_that_does_not_grow_never_does() -> None:
    fit = fit_line([1, 2, 3, 4], [100.0, 101.0, 101.0, 100.0])
    assert not fit.grows
    assert fit.reaches(200.0).hi == math.inf


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        ([1, 2], [1, 2], "at least 3 points"),
        ([1, 1, 1], [1, 2, 3], "2 different x"),
        ([1, 2, 3], [1, 2], "one length"),
        ([1, 2, 3], [1, 2, math.nan], "finite"),
    ],
)
def test_what_is_no_line_is_refused(x: list[float], y: list[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fit_line(x, y)
