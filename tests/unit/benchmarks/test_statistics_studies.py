"""What is simulated has the truth that it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.statistics import main
from benchmarks.statistics_noise import NOISES, RESPONSES, centre, percentile_of, queue_run
from benchmarks.statistics_shapes import CURVES, shape_studies
from benchmarks.statistics_studies import SIZES, studies


@pytest.mark.parametrize("name", list(RESPONSES))
@pytest.mark.parametrize("q", [50.0, 99.0])
def test_the_true_percentile_is_that_of_many_short_runs(name: str, q: float) -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([RESPONSES[name](rng, 5) for _ in range(20_000)])
    beyond = float(np.mean(values > percentile_of(name, q)))
    assert beyond == pytest.approx(1 - q / 100, rel=0.2)


@pytest.mark.parametrize("noise", list(NOISES))
def test_noise_of_visits_has_the_shape_asked_for_and_its_median_near_1(noise: str) -> None:
    factors = NOISES[noise](np.random.default_rng(2), (400, 8))
    assert factors.shape == (400, 8)
    assert np.median(factors) == pytest.approx(centre(noise), abs=0.01)
    assert np.all(factors > 0)


def test_the_centre_of_one_sided_noise_lies_between_its_median_and_its_mean() -> None:
    assert 1 + 0.02 * math.log(2) < centre("one-sided 2 %") < 1.02


def test_an_overloaded_queue_grows_as_the_law_says() -> None:
    due, response = queue_run(np.random.default_rng(3), 20_000, 1.5, steady=False)
    assert response[-1] / due[-1] == pytest.approx(0.5, abs=0.05)


def test_every_study_gives_an_interval_for_each_of_its_names() -> None:
    rng = np.random.default_rng(4)
    for study in studies():
        if "until" in study.design:
            continue
        found = study.simulate(rng)
        assert len(found) == len(study.intervals)
        assert set(study.promised) <= set(study.intervals)
        assert all(one.lo <= one.value <= one.hi or math.isnan(one.lo) for one in found), study


def test_a_stopped_fit_has_the_precision_that_was_asked_for() -> None:
    (study,) = [one for one in studies() if "until" in one.design]
    c = study.simulate(np.random.default_rng(5))[0]
    assert (c.hi - c.lo) / 2 / c.value <= 0.02


def test_curves_are_times_above_0_and_each_kind_is_simulated() -> None:
    assert {curve.kind for curve in CURVES} == {"affine", "hinge", "two segments", "staircase", "quadratic"}
    assert all(np.all(curve.times(SIZES) > 0) for curve in CURVES)
    square = next(curve for curve in CURVES if curve.name == "B² term of 10 %, c/m = 2")
    assert 1 - 18 / float(square.times(SIZES)[-1]) == pytest.approx(0.1)


def test_a_study_of_a_shape_says_what_was_told() -> None:
    assert shape_studies()[0].told(np.random.default_rng(6)) == "affine"


def test_help_is_given_without_a_simulation(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "--quick" in capsys.readouterr().out
