"""Simulations counted: how often the truth was in the interval, and whether that is what was promised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.statistics_shapes import ShapeStudy
from benchmarks.statistics_studies import Found, Study

Floats = NDArray[np.float64]

HOLDS, UNDER, OVER, FAILS = "holds", "under", "over", "fails"
# Of an interval that says 95 %.
LEAST, MOST = 0.93, 0.97
MOST_ALARMS = 0.05


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of`, with the 95 % interval of Clopper and Pearson for the chance of the simulation."""

    count: int
    of: int

    @property
    def value(self) -> float:
        return self.count / self.of if self.of else math.nan

    @property
    def lo(self) -> float:
        return float(stats.beta.ppf(0.025, self.count, self.of - self.count + 1)) if self.count else 0.0

    @property
    def hi(self) -> float:
        return float(stats.beta.ppf(0.975, self.count + 1, self.of - self.count)) if self.count < self.of else 1.0


@dataclass(frozen=True, slots=True)
class Row:
    """One interval under one noise. covered: by those that were given; alarms for two arms that are alike.

    bias: the median of value / truth − 1, of value − truth where the truth is 0. given, bounded: of all
    simulations, those with an interval, and those with one that has an upper end.
    """

    interval: str
    noise: str
    design: str
    covered: Share
    bias: float
    given: Share
    bounded: Share
    verdict: str
    promised: bool

    @property
    def fails(self) -> bool:
        return self.promised and self.verdict != HOLDS


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """How often one curve was told for what it is; `others`: what else was told, most often first."""

    study: ShapeStudy
    right: Share
    others: str

    @property
    def verdict(self) -> str:
        return FAILS if self.right.hi < self.study.curve.promised else HOLDS

    @property
    def fails(self) -> bool:
        return self.verdict == FAILS


def rows_of(study: Study, found: Sequence[Sequence[Found]]) -> list[Row]:
    """found: for each simulation a Found for each interval of the study."""
    return [
        _row(study, name, [simulation[place] for simulation in found]) for place, name in enumerate(study.intervals)
    ]


def shape_row(study: ShapeStudy, told: Sequence[str]) -> ShapeRow:
    """told: the kind of each simulation."""
    counts = {kind: told.count(kind) for kind in dict.fromkeys(told)}
    right = counts.pop(study.curve.kind, 0)
    others = sorted(counts, key=lambda kind: -counts[kind])
    return ShapeRow(study, Share(right, len(told)), ", ".join(f"{counts[kind]} × {kind}" for kind in others))


def coverage_verdict(covered: Share) -> str:
    """Under or over when not even the interval of the simulation's chance reaches 93 … 97 %."""
    return UNDER if covered.hi < LEAST else OVER if covered.lo > MOST else HOLDS


def _row(study: Study, name: str, found: Sequence[Found]) -> Row:
    value, lo, hi, truth = np.array([(one.value, one.lo, one.hi, one.truth) for one in found]).T
    given = ~np.isnan(lo)
    inside = int(np.count_nonzero((lo <= truth) & (truth <= hi)))
    shown = int(np.count_nonzero(given))
    covered = Share(shown - inside if study.same else inside, shown)
    verdict = coverage_verdict(covered)
    if study.same:
        verdict = FAILS if covered.lo > MOST_ALARMS else HOLDS
    return Row(
        name,
        study.noise,
        study.design,
        covered,
        float(np.median(value / truth - 1 if np.all(truth != 0) else value - truth)),
        Share(shown, len(found)),
        Share(int(np.count_nonzero(given & np.isfinite(hi))), len(found)),
        verdict,
        name in study.promised,
    )
