"""S(B) at every batch size and the ceiling, measured beside what follows from c and m."""

from __future__ import annotations

import math

import numpy as np
import pytest
from raw_by_hand import LESSON, calibration, judge, outcomes, repeated

from bench.analysis.law import fit_layer
from bench.analysis.speedups import ceiling, speedups
from bench.analysis.verdict import exit_code


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


def knee_at_4(B: float) -> float:
    return max(0.009, 0.005 + 0.001 * B)


def test_below_a_knee_a_speedup_is_listed_and_not_judged() -> None:
    verdicts, rows = judge(repeated(knee_at_4))
    assert [(row.batch_size, row.outcome) for row in rows] == [
        (2, "not applicable"), (3, "not applicable"),
        (4, "holds"), (6, "holds"), (8, "holds"), (12, "holds"), (16, "holds"),
    ]  # fmt: skip
    # 2 of 9 ms for 2, but c + 2m is 7 ms.
    assert rows[0].measured == pytest.approx(2, rel=0.02)
    assert rows[0].predicted == pytest.approx(18 / 7, rel=0.03)
    assert not rows[0].holds
    below = next(v for v in verdicts if v.subject == "B=2")
    assert below.outcome == "not applicable"
    assert below.why.startswith("c and m hold from B = 4 on; with them it would be off by -2")


def test_beyond_a_knee_the_ceiling_is_that_of_a_request_alone() -> None:
    verdicts, _ = judge(repeated(knee_at_4))
    found = verdicts[-1]
    assert (found.check, found.subject, found.outcome) == ("ceiling", "T(1)/m", "holds")
    assert (found.expected, found.measured) == (pytest.approx(9, rel=0.03), pytest.approx(9, rel=0.03))
    assert "so it is T(1)/m and not 1 + c/m = 5.93" in found.why


def test_the_slope_of_the_ceiling_is_taken_where_the_line_holds() -> None:
    # Of the sizes from 5 on only; below, T(B) falls.
    samples = calibration({1: 0.030, 4: 0.020, 5: 0.010, 6: 0.011, 8: 0.013})
    whole, beyond = ceiling(samples), ceiling(samples, smallest=5)
    assert whole is not None
    assert beyond is not None
    assert beyond.value == pytest.approx(9.0, rel=1e-3)
    assert whole.value != pytest.approx(9.0, rel=0.1)


def test_without_a_line_nothing_is_predicted() -> None:
    verdicts, rows = judge(repeated(lambda B: 0.004 + 0.001 * 2 ** math.ceil(math.log2(B))))
    assert {row.outcome for row in rows} == {"not applicable"}
    assert all(math.isnan(row.predicted) and not row.holds for row in rows)
    assert rows[-1].measured == pytest.approx(4, rel=0.02)
    assert outcomes(verdicts) == {
        "precision": ["not applicable"], "affine": ["fails"], "speedup": ["not applicable"] * 7,
        "ceiling": ["not applicable"],
    }  # fmt: skip
    assert {v.expected for v in verdicts if v.check == "speedup"} == {"none"}
    assert exit_code(verdicts) == 1
