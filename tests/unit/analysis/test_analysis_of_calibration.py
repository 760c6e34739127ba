from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from raw_by_hand import LESSON, calibration

from bench.analysis.calibration import (
    Speedup,
    ceiling,
    fit_all,
    fit_layer,
    law_verdicts,
    precise_enough,
    speedups,
    visits,
)
from bench.analysis.verdict import Verdict, exit_code

TOLERANCES = {
    "precision": 0.02,
    "affine_tolerance": 0.05,
    "speedup_tolerance": 0.05,
    "ceiling_tolerance": 0.06,
}


def judge(samples: pd.DataFrame, **tolerances: float) -> tuple[list[Verdict], list[Speedup]]:
    asked = TOLERANCES | tolerances
    fit = fit_layer(samples, "compute", asked["affine_tolerance"])
    assert fit is not None
    measured = speedups("triton", samples, fit, asked["speedup_tolerance"])
    return law_verdicts("triton", samples, fit, measured, **asked), measured


def outcomes(verdicts: list[Verdict]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.check, []).append(verdict.outcome)
    return found


def test_a_visit_is_the_median_of_its_repeats_and_a_spike_does_not_move_it() -> None:
    samples = pd.DataFrame(
        {
            "server": "triton",
            "layer": "compute",
            "batch_size": [1, 1, 1, 2, 2, 2, 1, 1, 1],
            "repeat": [1, 2, 3] * 3,
            "time_s": [0.001, 0.002, 0.900, 0.004, 0.005, 0.006, 0.003, 0.003, 0.003],
            "block": [0, 0, 0, 0, 0, 0, 1, 1, 1],
        }
    )
    table = visits(samples, "compute")
    assert list(table.columns) == [1, 2]
    assert table.loc[0].tolist() == [0.002, 0.005]
    assert table.loc[1, 1] == 0.003
    assert math.isnan(table.loc[1, 2])
    assert visits(samples, "path").empty


def test_the_fit_gives_back_the_lessons_c_and_m() -> None:
    fit = fit_layer(calibration(), "compute", 0.05)
    assert fit is not None
    assert fit.c_s == pytest.approx(0.006, rel=2e-3)
    assert fit.m_s == pytest.approx(0.003, rel=2e-3)
    assert fit.ceiling == pytest.approx(3.0, rel=3e-3)
    assert fit.c_lo_s < 0.006 < fit.c_hi_s
    assert fit.m_lo_s < 0.003 < fit.m_hi_s
    # What a block does to all its times cancels in c/m, and here there is nothing else.
    assert fit.ceiling_lo - 1e-9 <= 3.0 <= fit.ceiling_hi + 1e-9
    assert fit.shape == "affine"
    assert fit.samples == 48  # 12 blocks of 4 sizes, and not each of the 3 repeats


def test_there_is_no_fit_of_one_block_or_of_one_batch_size() -> None:
    assert fit_layer(calibration(blocks=1), "compute", 0.05) is None
    assert fit_layer(calibration({4: 0.018}), "compute", 0.05) is None
    assert fit_layer(calibration(), "path", 0.05) is None
    assert fit_layer(calibration().iloc[:0], "compute", 0.05) is None


def test_there_is_no_fit_while_two_blocks_have_seen_one_batch_size_each() -> None:
    samples = calibration({1: 0.009, 2: 0.012}, blocks=2)
    first = (samples["block"] == 0) & (samples["batch_size"] == 1)
    second = (samples["block"] == 1) & (samples["batch_size"] == 2)
    assert fit_layer(samples[first | second], "compute", 0.05) is None


def test_every_layer_with_more_than_one_batch_size_is_fitted() -> None:
    path = calibration({1: 0.010, 2: 0.014, 5: 0.026, 10: 0.046}, layer="path", serial_s=None)
    fits = fit_all(pd.concat([calibration(), path]), 0.05)
    assert list(fits) == ["compute", "path"]  # compute_serial is one batch size
    assert fits["path"].c_s == pytest.approx(0.006, rel=5e-3)
    assert fits["path"].m_s == pytest.approx(0.004, rel=5e-3)


def test_nine_blocks_are_never_precise_enough_and_ten_alike_are() -> None:
    assert not precise_enough(calibration(blocks=9, noise=0.0), 0.01)
    assert precise_enough(calibration(blocks=10, noise=0.0), 0.01)


def test_blocks_that_scatter_by_a_fifth_are_not_precise_enough() -> None:
    samples = calibration(blocks=12, noise=0.2)
    assert not precise_enough(samples, 0.02)
    assert precise_enough(samples, 0.5)


def test_nothing_measured_is_not_precise_enough() -> None:
    assert not precise_enough(pd.DataFrame(), 0.5)
    assert not precise_enough(calibration().iloc[:0], 0.5)
    assert not precise_enough(calibration(layer="path"), 0.5)


def test_the_speedups_of_the_lesson_come_out() -> None:
    _, measured = judge(calibration())
    assert [(row.server, row.batch_size) for row in measured] == [("triton", 2), ("triton", 5), ("triton", 10)]
    assert [row.measured for row in measured] == pytest.approx([1.5, 2.142857, 2.5], rel=1e-4)
    assert [row.predicted for row in measured] == pytest.approx([1.5, 2.142857, 2.5], rel=2e-3)
    assert all(row.measured_lo <= row.measured <= row.measured_hi for row in measured)
    assert all(row.holds for row in measured)


def test_only_blocks_that_hold_both_times_count_for_a_speedup() -> None:
    samples = calibration()
    # In the odd blocks the serial request was never proven, and the batch of 10 took twice as long.
    odd = samples["block"] % 2 == 1
    samples.loc[odd & (samples["batch_size"] == 10), "time_s"] *= 2
    samples = samples[~(odd & (samples["layer"] == "compute_serial"))]
    fit = fit_layer(calibration(), "compute", 0.05)
    assert fit is not None
    assert speedups("triton", samples, fit, 0.05)[-1].measured == pytest.approx(2.5, rel=1e-6)


def test_without_serial_times_there_is_no_speedup_and_no_ceiling() -> None:
    samples = calibration(serial_s=None)
    verdicts, measured = judge(samples)
    assert measured == []
    assert ceiling(samples) is None
    assert outcomes(verdicts) == {"precision": ["holds"], "affine": ["holds"], "ceiling": ["not applicable"]}
    assert exit_code(verdicts) == 0


def test_the_ceiling_is_the_serial_time_over_the_slope_of_the_larger_batches() -> None:
    # From B = 5 to B = 10 it takes 15 ms more, 3 ms for each; one at a time takes 9 ms.
    found = ceiling(calibration())
    assert found is not None
    assert found.value == pytest.approx(3.0, rel=1e-6)
    # With a slope of 1 ms from 5 to 10, whatever happens below.
    found = ceiling(calibration({1: 0.009, 2: 0.012, 5: 0.021, 10: 0.026}))
    assert found is not None
    assert found.value == pytest.approx(9.0, rel=1e-6)


def test_a_run_that_keeps_the_law_has_every_check_hold() -> None:
    verdicts, _ = judge(calibration())
    assert outcomes(verdicts) == {
        "precision": ["holds"],
        "affine": ["holds"],
        "speedup": ["holds", "holds", "holds"],
        "ceiling": ["holds"],
    }
    assert [v.subject for v in verdicts] == ["c and m", "T(B) = c + Bm", "B=2", "B=5", "B=10", "1 + c/m"]
    assert {v.server for v in verdicts} == {"triton"}
    assert exit_code(verdicts) == 0


def test_a_knee_in_the_curve_fails_the_affine_check_and_points_to_the_plot() -> None:
    # Twice the time at B = 10: the ceiling of the larger batches is then far off too.
    verdicts, _ = judge(calibration(LESSON | {10: 0.072}))
    affine = next(v for v in verdicts if v.check == "affine")
    assert affine.outcome == "fails"
    assert isinstance(affine.measured, float)
    assert affine.measured > 0.05
    assert "T(B) is no line here" in affine.why
    assert "plots/latency_vs_batch.png" in affine.why
    assert exit_code(verdicts) == 1


def test_serial_requests_that_are_slower_than_a_batch_of_one_fail_the_speedup() -> None:
    # 10.8 ms in place of 9: S(10) = 10 × 10.8 / 36 = 3.0 where the law says 2.5.
    verdicts, measured = judge(calibration(serial_s=0.0108))
    assert measured[-1].measured == pytest.approx(3.0, rel=1e-3)
    assert measured[-1].relative_error == pytest.approx(0.2, abs=3e-3)
    assert not measured[-1].holds
    assert outcomes(verdicts)["speedup"] == ["fails", "fails", "fails"]
    last = next(v for v in verdicts if v.subject == "B=10")
    assert last.expected == pytest.approx(2.5, rel=2e-3)
    assert last.measured == pytest.approx(3.0, rel=1e-3)
    assert last.tolerance == 0.05
    assert last.why.startswith(("off by +20.0% [", "off by +19.9% [", "off by +20.1% ["))
    assert exit_code(verdicts) == 1


def test_one_wrong_batch_size_fails_alone() -> None:
    # 5 % allowed; T(5) is 8 % too long, S(5) so 7.4 % too small.
    verdicts, _ = judge(calibration(LESSON | {5: 0.02268}), affine_tolerance=0.5)
    failed = [v.subject for v in verdicts if v.check == "speedup" and v.outcome == "fails"]
    assert failed == ["B=5"]


def test_a_ceiling_beyond_its_tolerance_fails() -> None:
    # One at a time takes 9.9 ms in place of 9: measured 3.3, fitted 3.0.
    verdicts, _ = judge(calibration(serial_s=0.0099), speedup_tolerance=0.5)
    found = verdicts[-1]
    assert (found.check, found.outcome) == ("ceiling", "fails")
    assert found.expected == pytest.approx(3.0, rel=3e-3)
    assert found.measured == pytest.approx(3.3, rel=1e-3)
    assert exit_code(verdicts) == 1


def test_a_ceiling_that_the_largest_batch_does_not_come_near_is_said_to_be_an_extrapolation() -> None:
    # c/m = 20, so 80 % of the ceiling of 21 are reached at B = 80; B = 10 reaches 10/30 of it.
    verdicts, _ = judge(calibration({1: 0.021, 2: 0.022, 5: 0.025, 10: 0.030}, serial_s=0.021))
    assert "an extrapolation: B = 10 reaches 33% of it" in verdicts[-1].why
    near, _ = judge(calibration())  # 4·c/m = 8
    assert "extrapolation" not in near[-1].why


def test_a_model_without_a_cost_per_request_has_no_ceiling_to_compare() -> None:
    # Exactly balanced, so that the fitted slope is 0 or below.
    flat = calibration({1: 0.0061, 2: 0.006, 5: 0.006, 10: 0.0059}, serial_s=0.006)
    verdicts, _ = judge(flat)
    found = verdicts[-1]
    assert (found.check, found.outcome, found.measured) == ("ceiling", "not applicable", "unbounded")
    assert "m cannot be told from 0" in found.why


def test_a_slope_within_the_noise_has_no_ceiling_to_compare_either() -> None:
    rng = np.random.default_rng(1)
    samples = calibration({1: 0.006, 2: 0.006, 5: 0.006, 10: 0.00602}, serial_s=0.006)
    samples["time_s"] *= 1 + 0.05 * rng.standard_normal(len(samples))
    fit = fit_layer(samples, "compute", 0.05)
    assert fit is not None
    assert fit.m_s > 0
    assert math.isinf(fit.ceiling_hi)
    verdicts, _ = judge(samples)
    assert verdicts[-1].outcome == "not applicable"


def test_an_interval_wider_than_asked_stands_and_one_beyond_a_quarter_is_invalid() -> None:
    wide, _ = judge(calibration(noise=0.05))
    assert wide[0].check == "precision"
    assert wide[0].outcome == "not applicable"
    assert "max_duration was over" in wide[0].why
    assert "48 visits" in wide[0].why
    useless, _ = judge(calibration(noise=0.5))
    assert useless[0].outcome == "invalid"
    assert "raise calibration.max_duration" in useless[0].why
    assert exit_code(useless) == 4
