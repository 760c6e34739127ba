"""The shape of T(B): a line, a line from some batch size on, or no line at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bench.theory.fit import AffineFit, fit_affine
from bench.theory.interval import Interval
from bench.theory.levels import Levels, levels_by_size
from bench.theory.shape_models import (
    Curve,
    bends_up_p,
    hinge,
    line,
    misfit_p,
    quadratic,
    score,
    staircase,
    two_segments,
    worst_miss,
)
from bench.theory.sizes import visits_by_size

Kind = Literal["affine", "hinge", "two segments", "staircase", "quadratic", "no line"]

# Together they call a line in a hundred something else.
_MISFIT_BY_CHANCE = 0.003
_BEND_BY_CHANCE = 0.004
# No curve is exact to the last permille: so much of the tolerance is granted to each size as its error.
_GRANTED = 0.25

# From the fewest parameters to the most.
_CURVES: tuple[tuple[Kind, Callable[[Levels], Curve | None]], ...] = (
    ("hinge", hinge),
    ("quadratic", quadratic),
    ("staircase", staircase),
    ("two segments", two_segments),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What T(B) looks like. `fit`: c and m where they hold, from `holds_from` on; None and infinite where nowhere.

    `knee`: where a hinge or two segments bend, with its 95 % interval; `holds_from` is then the visited size nearest to
    it in that interval, else the first one beyond. `words`: one sentence without a full stop.
    """

    kind: Kind
    fit: AffineFit | None
    holds_from: float
    knee: Interval | None
    words: str


def shape_of(
    batch_sizes: ArrayLike,
    times_s: ArrayLike,
    affine_tolerance: float = 0.01,
    blocks: ArrayLike | None = None,
    starts: ArrayLike | None = None,
) -> Shape:
    """The simplest curve that the typical times at the batch sizes do not contradict.

    batch_sizes, times_s, blocks, starts: shape (n,), as for `fit_affine`; with blocks, what the visits of a block
    share is no noise here. A curve is adequate unless it misses a size by more than `affine_tolerance` and by more than
    the scatter of the visits explains, by an F test at 0.3 %. T(B) is a line where that is adequate and does not bend
    upwards, by a test at 0.4 %. Else that adequate curve is told whose Schwarz criterion, with a little more for each
    parameter, is least. c and m of a hinge or two segments are fitted to the sizes beyond the upper end of the knee's
    interval.

    A bend that misses the sizes by less than the tolerance is not told, and one that is lost in the noise cannot be.
    Where no size was visited twice nothing tells the noise, and only the tolerance decides between a line and none.

    Raises ValueError as `fit_affine` does.
    """
    visits = visits_by_size(batch_sizes, times_s)
    whole = fit_affine(batch_sizes, times_s, affine_tolerance=affine_tolerance, blocks=blocks, starts=starts)
    numbers = None if blocks is None else np.asarray(blocks, dtype=np.intp)
    levels = levels_by_size(visits, numbers)
    if levels.df == 0:
        return _without_noise(replace(levels, errors=np.ones_like(levels.errors)), whole, affine_tolerance)
    straight, bent = line(levels), quadratic(levels)
    if _adequate(straight, levels, affine_tolerance) and (
        worst_miss(straight, levels) <= affine_tolerance or bends_up_p(straight, bent, levels) >= _BEND_BY_CHANCE
    ):
        return _line_everywhere(straight, levels, whole)
    levels = replace(levels, errors=np.hypot(levels.errors, _GRANTED * affine_tolerance))
    curves = [(kind, curve) for kind, fitted in _CURVES if (curve := fitted(levels)) is not None]
    adequate = [(kind, curve) for kind, curve in curves if _adequate(curve, levels, affine_tolerance)]
    if not adequate:
        return Shape("no line", None, math.inf, None, _no_line_words(straight, levels))
    kind, curve = min(adequate, key=lambda found: score(found[1], levels))
    if curve.knee is None:
        words = _staircase_words(curve) if kind == "staircase" else _quadratic_words(curve, levels)
        return Shape(kind, None, math.inf, None, words)
    beyond = visits.sizes >= curve.knee.hi
    upper = fit_affine(
        visits.sizes[beyond],
        visits.times[beyond],
        affine_tolerance=affine_tolerance,
        blocks=None if numbers is None else numbers[beyond],
        starts=None if starts is None else np.asarray(starts)[beyond],
    )
    words = _hinge_words(curve.knee) if kind == "hinge" else _segments_words(curve.knee, curve.coefficients)
    return Shape(kind, upper, _first_beyond(curve.knee, levels.sizes), curve.knee, words)


def _first_beyond(knee: Interval, sizes: NDArray[np.float64]) -> float:
    """The first size that is not below the knee, as far as one knows where that is."""
    inside = sizes[(sizes >= knee.lo) & (sizes <= knee.hi)]
    if not len(inside):
        return float(sizes[sizes > knee.hi][0])
    return float(inside[np.argmin(np.abs(inside - knee.value))])


def _adequate(curve: Curve, levels: Levels, tolerance: float) -> bool:
    return worst_miss(curve, levels) <= tolerance or misfit_p(curve, levels) >= _MISFIT_BY_CHANCE


def _without_noise(levels: Levels, whole: AffineFit, tolerance: float) -> Shape:
    straight = line(levels)
    if worst_miss(straight, levels) <= tolerance:
        return _line_everywhere(straight, levels, whole)
    words = f"{_no_line_words(straight, levels)}; visited once each, the sizes do not tell the noise"
    return Shape("no line", None, math.inf, None, words)


def _line_everywhere(straight: Curve, levels: Levels, whole: AffineFit) -> Shape:
    first, last = levels.sizes[0], levels.sizes[-1]
    words = f"T(B) is a line from B = {first:g} to {last:g}, off by at most {_percent(worst_miss(straight, levels))}"
    return Shape("affine", whole, float(first), None, words)


def _hinge_words(knee: Interval) -> str:
    return f"T(B) is flat up to {_near(knee)} and a line from there on"


def _segments_words(knee: Interval, coefficients: NDArray[np.float64]) -> str:
    _, below, change = coefficients.tolist()
    costs = "it hardly grows below and does beyond"
    if below > 0 and below + change > 0:
        costs = f"beyond, one more request costs {(below + change) / below:.2g} times what it costs below"
    return f"T(B) is two lines that meet at {_near(knee)}: {costs}"


def _staircase_words(curve: Curve) -> str:
    return f"T(B) is a staircase, as if each batch were padded to {curve.note}"


def _quadratic_words(curve: Curve, levels: Levels) -> str:
    part = float(curve.coefficients[2] * levels.sizes[-1] ** 2 / curve.curve_s[-1])
    return (
        "the growth of T(B) is faster than in proportion to B: "
        f"a B² term is {_percent(part)} of it at B = {levels.sizes[-1]:g}"
    )


def _no_line_words(straight: Curve, levels: Levels) -> str:
    return f"T(B) lies off the best line by up to {_percent(worst_miss(straight, levels))}"


def _near(knee: Interval) -> str:
    return f"B = {knee.value:.2g} [{knee.lo:.2g}, {knee.hi:.2g}]"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
