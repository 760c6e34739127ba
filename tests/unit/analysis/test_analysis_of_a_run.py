from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from raw_by_hand import calibration, point, rows, scenario, steady

from bench.analysis.run import Analysis, Answers, RawRun, analyse
from bench.analysis.verdict import Outcome, Verdict, exit_code, from_gate
from bench.measure.gates import Gate
from bench.scenario.spec import External

EXPECTED = np.arange(12, dtype=np.float32).reshape(6, 2)


def verdict(outcome: Outcome) -> Verdict:
    return Verdict("speedup", "triton", "B=2", 1.5, 1.5, 0.05, outcome, "")


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([], 0),
        (["holds", "not applicable"], 0),
        (["holds", "fails"], 1),
        (["invalid", "holds"], 4),
        (["fails", "invalid", "fails"], 4),
        (["not applicable"], 0),
    ],
)
def test_an_invalid_figure_comes_before_a_failed_check(found: list[Outcome], code: int) -> None:
    assert exit_code(verdict(outcome) for outcome in found) == code


def test_a_gate_that_does_not_hold_is_invalid_and_says_what_to_do() -> None:
    gate = Gate("all sent", False, "10 sent", "9 sent", "lower the rate")
    assert from_gate(gate, "triton", "50/s") == Verdict(
        "all sent", "triton", "50/s", "10 sent", "9 sent", "", "invalid", "lower the rate"
    )


def test_a_gate_that_holds_has_nothing_to_advise() -> None:
    found = from_gate(Gate("all sent", True, "10 sent", "10 sent", "lower the rate"), "triton", "50/s")
    assert (found.outcome, found.why) == ("holds", "")


def whole() -> RawRun:
    both = pd.concat([calibration(server="triton"), calibration(server="torchserve")])
    points = tuple(point(server=s, replication=r) for s in ("triton", "torchserve") for r in (1, 2))
    answers = Answers({"triton": EXPECTED, "torchserve": EXPECTED}, EXPECTED, None)
    return RawRun(scenario(replications=2), both, points, answers, {"triton": 0, "torchserve": 0})


def checks(analysis: Analysis) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in analysis.verdicts:
        found[one.check] = found.get(one.check, 0) + 1
    return found


def test_a_whole_run_that_keeps_the_law_exits_with_0() -> None:
    analysis = analyse(whole())
    assert {v.outcome for v in analysis.verdicts} == {"holds"}
    assert analysis.exit_code == 0
    assert checks(analysis) == {
        "answers": 2, "agreement": 1, "batch sizes": 2, "precision": 2, "affine": 2, "speedup": 6, "ceiling": 2,
        "generator": 2, "steady": 4, "Little's law": 4, "errors": 4, "objective": 2,
    }  # fmt: skip
    assert len(analysis.speedups) == 6
    assert len(analysis.load) == 4
    assert list(analysis.fits) == ["triton", "torchserve"]
    # c/m = 2: four fifths of the ceiling of 3 are reached at B = 4·2 = 8, and a batch of 16 reaches 16/18.
    assert set(analysis.sentences) == {"triton", "torchserve"}
    assert "batching can make this up to 3 times faster: balanced" in analysis.sentences["triton"]


def missing(analysis: Analysis) -> list[tuple[str, str, str]]:
    found = [v for v in analysis.verdicts if v.measured == "nothing"]
    for one in found:
        assert (one.expected, one.outcome) == ("measured", "invalid")
        assert one.why == "nothing was measured, or its file cannot be read"
    return [(v.check, v.server, v.subject) for v in found]


def test_a_run_of_which_nothing_was_measured_is_invalid_and_says_what_is_missing() -> None:
    empty = pd.DataFrame(columns=["server", "layer", "batch_size", "repeat", "time_s", "block"])
    analysis = analyse(RawRun(scenario(), empty, (), None))
    assert missing(analysis) == [
        ("calibration", "triton", "T(B)"), ("calibration", "torchserve", "T(B)"),
        ("load", "triton", "100/s"), ("load", "torchserve", "100/s"),
    ]  # fmt: skip
    assert len(analysis.verdicts) == 4
    assert analysis.exit_code == 4
    assert analysis.speedups == ()
    assert analysis.load.empty
    assert analysis.fits == {"triton": {}, "torchserve": {}}
    assert analysis.sentences == {}


def test_each_planned_rate_without_a_point_is_missing_and_the_measured_one_is_not() -> None:
    planned = scenario("triton")
    planned = replace(planned, load=replace(planned.load, rates_per_s=(50.0, 100.0, 200.5)))
    analysis = analyse(RawRun(planned, calibration(), (point(),), None))
    assert missing(analysis) == [("load", "triton", "50/s"), ("load", "triton", "200.5/s")]
    assert analysis.exit_code == 4


def test_a_model_of_somebody_elses_server_is_never_calibrated() -> None:
    made = replace(scenario("triton", objective_s=None), model=External("theirs"))
    analysis = analyse(RawRun(made, calibration().iloc[:0], (point(),), None))
    assert "calibration" not in checks(analysis)
    assert {v.outcome for v in analysis.verdicts} == {"holds"}
    assert analysis.exit_code == 0
    nothing = analyse(RawRun(made, calibration().iloc[:0], (), None))
    assert missing(nothing) == [("load", "triton", "100/s")]
    assert nothing.exit_code == 4


def test_a_run_that_only_answered_is_judged_by_its_answers() -> None:
    empty = pd.DataFrame(columns=["server", "layer", "batch_size", "repeat", "time_s", "block"])
    wrong = EXPECTED.copy()
    wrong[4, 1] += 0.5
    analysis = analyse(RawRun(scenario(), empty, (), Answers({"triton": wrong}, EXPECTED, None)))
    only, *others = analysis.verdicts
    assert len(others) == len(missing(analysis)) == 4
    assert (only.check, only.outcome) == ("answers", "invalid")
    assert "output [1] for payload 4 is 9.5, in process it is 9: off by 0.5" in only.why
    assert analysis.exit_code == 4


def test_a_run_that_ended_after_its_first_server_is_judged_by_that_one() -> None:
    analysis = analyse(RawRun(scenario(), calibration(), (point(),), None))
    assert missing(analysis) == [("calibration", "torchserve", "T(B)"), ("load", "torchserve", "100/s")]
    assert {v.outcome for v in analysis.verdicts if v.server == "triton"} == {"holds"}
    assert len([v for v in analysis.verdicts if v.server == "torchserve"]) == 2
    assert {row.server for row in analysis.speedups} == {"triton"}
    assert list(analysis.sentences) == ["triton"]
    assert analysis.exit_code == 4


def test_one_block_of_calibration_is_too_little_to_judge() -> None:
    analysis = analyse(RawRun(scenario("triton"), calibration(blocks=1), (), None))
    assert missing(analysis) == [("calibration", "triton", "T(B)"), ("load", "triton", "100/s")]
    assert len(analysis.verdicts) == 2


def test_without_an_objective_none_is_judged() -> None:
    analysis = analyse(RawRun(scenario(objective_s=None), calibration(), (point(),), None))
    assert "objective" not in checks(analysis)


def test_a_missed_objective_ends_the_run_with_1() -> None:
    analysis = analyse(RawRun(scenario("triton", objective_s=0.019), calibration(), (point(),), None))
    assert [v.check for v in analysis.verdicts if v.outcome == "fails"] == ["objective"]
    assert analysis.load["goodput_per_s"].tolist() == [0.0]
    assert analysis.exit_code == 1


def test_a_late_generator_ends_the_run_with_4_although_a_speedup_fails_too() -> None:
    late = point(rows(steady(), response_s=0.100, late_s=0.050))
    analysis = analyse(RawRun(scenario(), calibration(serial_s=0.0108), (late,), None))
    assert {"fails", "invalid"} <= {v.outcome for v in analysis.verdicts}
    assert analysis.exit_code == 4


def test_a_run_that_ended_before_its_last_replication_is_invalid() -> None:
    analysis = analyse(RawRun(scenario("triton", replications=2), calibration(), (point(),), None))
    (found,) = (v for v in analysis.verdicts if v.outcome == "invalid")
    assert (found.check, found.subject, found.expected, found.measured) == ("generator", "100/s", 2, 1)
    assert found.why == "the run ended before"
    assert analysis.exit_code == 4


def test_batches_of_another_size_than_asked_make_the_run_invalid_from_a_twentieth_on() -> None:
    # 12 blocks of 4 sizes and 1 serial, 3 repeats each: 180 proven, so 9 may be left out.
    samples = calibration()
    assert len(samples) == 180
    for unproven, outcome in ((9, "holds"), (10, "invalid")):
        analysis = analyse(RawRun(scenario("triton"), samples, (), None, {"triton": unproven}))
        found = next(v for v in analysis.verdicts if v.check == "batch sizes")
        assert (found.outcome, found.measured) == (outcome, float(unproven))
        assert found.why == f"180 batches were executed at the asked size, {unproven} were not and are left out"


def test_the_order_of_the_servers_is_that_of_the_scenario() -> None:
    swapped = RawRun(scenario("torchserve", "triton", replications=2), whole().samples, whole().points, whole().answers)
    analysis = analyse(swapped)
    assert list(analysis.fits) == ["torchserve", "triton"]
    assert [row.server for row in analysis.speedups] == ["torchserve"] * 3 + ["triton"] * 3
