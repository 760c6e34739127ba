"""Studies of knees, of the distance from a line, and of false alarms."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.statistics_knee import alarm_studies, knee_studies, line_studies


def test_a_study_of_a_knee_finds_it_with_c_and_m_beyond() -> None:
    study = next(study for study in knee_studies() if study.noise == "normal 2 %" and study.design.startswith("30"))
    knee, c, m, ceiling = study.simulate(np.random.default_rng(1))
    assert (knee.truth, c.truth, m.truth, ceiling.truth) == (4, 5, 1, 6)
    assert all(one.lo <= one.value <= one.hi for one in (knee, c, m, ceiling))
    assert c.value < 6  # that of the whole line is 7


def test_of_a_line_the_worst_distance_holds_0() -> None:
    rng = np.random.default_rng(2)
    found = [study.simulate(rng)[0] for study in line_studies()]
    assert all(one.truth == 0 for one in found)
    assert sum(one.lo <= 0 <= one.hi for one in found) >= len(found) - 2


def test_an_alarm_leaves_out_the_truth_and_silence_does_not() -> None:
    rng = np.random.default_rng(3)
    for study in alarm_studies():
        found = study.simulate(rng)
        assert len(found) == len(study.intervals)
        assert study.same
        assert all(math.isnan(one.value) for one in found)
        assert sum(one.lo <= one.truth <= one.hi for one in found) >= 2
