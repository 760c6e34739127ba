"""Precision, straightness, speedup and ceiling as verdicts."""

from __future__ import annotations

import math

from raw_by_hand import LESSON, calibration, judge, outcomes, repeated

from bench.analysis.verdict import exit_code


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


def test_a_hinge_beyond_the_tolerance_fails_and_says_from_where_c_and_m_hold() -> None:
    verdicts, _ = judge(repeated(lambda B: max(0.009, 0.005 + 0.001 * B)))
    precision, affine, *_ = verdicts
    assert affine.outcome == "fails"
    assert "; T(B) is no line here: T(B) is flat up to B = " in affine.why
    assert "; c and m hold from B = 4 on; look at plots/latency_vs_batch.png" in affine.why
    assert "table only" not in affine.why
    assert precision.why.startswith("95 % intervals of c and m after 90 visits from B = 4 on")
    assert exit_code(verdicts) == 1


def test_a_knee_within_the_tolerance_holds_and_is_told_all_the_same() -> None:
    verdicts, rows = judge(repeated(lambda B: 0.020 + 0.0005 * B + 0.0005 * max(0, B - 6), blocks=30))
    affine = verdicts[1]
    assert affine.outcome == "holds"
    assert isinstance(affine.measured, float)
    assert 0.02 < affine.measured < 0.05
    assert "; looked at more closely than to 5%, T(B) is two lines that meet at B = " in affine.why
    assert affine.why.endswith("; c and m are those from B = 6 on")
    assert [row.outcome for row in rows] == ["not applicable"] * 3 + ["holds"] * 4
    assert exit_code(verdicts) == 0


def test_without_a_line_the_table_is_all_there_is() -> None:
    verdicts, _ = judge(repeated(lambda B: 0.002 + 0.004 * math.ceil(B / 4)))
    precision, affine, *_ = verdicts
    assert affine.outcome == "fails"
    assert "as if each batch were padded to the next multiple of 4; table only; look at plots" in affine.why
    assert precision.outcome == "not applicable"
    assert precision.why == "T(B) is no line, so there are no c and m to know"


def test_a_throughput_that_falls_is_told_by_the_affine_verdict() -> None:
    verdicts, _ = judge(repeated(lambda B: 0.004 + 0.001 * B + 0.0001 * B**2))
    assert "; the throughput B/T(B) is highest at B = 6, " in verdicts[1].why


def test_a_speedup_above_the_ceiling_is_explained_at_the_largest_batch() -> None:
    verdicts, _ = judge(repeated(lambda B: 0.004 + 0.002 * B, serial_s=0.012))
    told = [v.subject for v in verdicts if "is above the ceiling 1 + c/m = 3: " in v.why]
    assert told == ["B=16"]
    assert "one request alone takes 12 ms where c + m is 6" in next(v for v in verdicts if v.subject == "B=16").why


def test_a_cost_per_request_that_cannot_be_told_from_0_makes_no_run_invalid() -> None:
    verdicts, _ = judge(repeated(lambda B: 0.004 + 1e-9 * B))
    precision, *_, ceiling = verdicts
    assert precision.outcome == "not applicable"
    assert "m cannot be told from 0, it is 0.00" in precision.why
    assert (ceiling.outcome, ceiling.measured) == ("not applicable", "unbounded")
    assert exit_code(verdicts) == 0


def test_disturbances_are_in_the_precision_verdict() -> None:
    samples = repeated(lambda B: 0.004 + 0.002 * B)
    hit = (samples["block"] % 5 == 0) & (samples["batch_size"] == 4) & (samples["layer"] == "compute")
    samples.loc[hit, "time_s"] *= 5
    verdicts, _ = judge(samples)
    assert "3 of 180 visits (1.7 %) were disturbed, the worst took 5" in verdicts[0].why
