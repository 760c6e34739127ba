from __future__ import annotations

import math

import numpy as np
import pytest

from bench.analysis.answers import accuracy, answer_verdicts, difference_text, worst_difference

EXPECTED = np.array([[0.0, 1.0, 2.0], [3.0, 5.0, 4.0], [8.0, 6.0, 7.0], [9.0, 10.0, 11.0]], dtype=np.float32)
LABELS = np.array([2, 1, 0, 0])  # three of the four answers are right


def changed(payload: int, output: int, value: float) -> np.ndarray:
    answers = EXPECTED.copy()
    answers[payload, output] = value
    return answers


def test_an_output_that_is_off_by_a_half_is_named_with_its_payload_and_by_how_much() -> None:
    found = worst_difference(changed(2, 1, 6.5), EXPECTED)
    assert (found.payload, found.output, found.expected, found.found, found.size) == (2, 1, 6.0, 6.5, 0.5)
    assert (
        difference_text(found, 1e-4)
        == "output [1] for payload 2 is 6.5, in process it is 6: off by 0.5, allowed 0.0001"
    )


def test_the_largest_of_several_differences_is_named() -> None:
    answers = changed(0, 0, 0.25)
    answers[3, 2] = 10.0
    found = worst_difference(answers, EXPECTED)
    assert (found.payload, found.output, found.size) == (3, 2, 1.0)


def test_a_nan_is_worse_than_any_difference_and_within_no_tolerance() -> None:
    answers = changed(0, 0, 1e6)
    answers[1, 2] = math.nan
    found = worst_difference(answers, EXPECTED)
    assert (found.payload, found.output) == (1, 2)
    assert not found.within(math.inf)


def test_an_infinite_output_is_within_no_tolerance() -> None:
    assert not worst_difference(changed(1, 1, math.inf), EXPECTED).within(1e30)


def test_a_difference_within_the_tolerance_holds() -> None:
    (verdict,) = answer_verdicts({"triton": changed(2, 1, 6.5)}, EXPECTED, None, 0.5)
    assert verdict.outcome == "holds"
    assert verdict.measured == 0.5
    assert verdict.why == "largest difference over 12 outputs"


def test_a_wrong_output_makes_the_run_invalid_and_is_named() -> None:
    (verdict,) = answer_verdicts({"triton": changed(2, 1, 6.5)}, EXPECTED, None, 1e-4)
    assert (verdict.check, verdict.server, verdict.subject) == ("answers", "triton", "in process")
    assert verdict.outcome == "invalid"
    assert (verdict.expected, verdict.measured, verdict.tolerance) == (0.0, 0.5, 1e-4)
    assert "output [1] for payload 2 is 6.5" in verdict.why
    assert "off by 0.5" in verdict.why


def test_a_nan_makes_the_run_invalid_and_is_named() -> None:
    (verdict,) = answer_verdicts({"triton": changed(3, 0, math.nan)}, EXPECTED, None, 1e-4)
    assert verdict.outcome == "invalid"
    assert "output [0] for payload 3 is nan" in verdict.why


def test_two_servers_that_answer_alike_agree() -> None:
    verdicts = answer_verdicts({"triton": EXPECTED, "torchserve": EXPECTED.copy()}, EXPECTED, None, 1e-4)
    assert [(v.check, v.server, v.subject, v.outcome) for v in verdicts] == [
        ("answers", "triton", "in process", "holds"),
        ("answers", "torchserve", "in process", "holds"),
        ("agreement", "torchserve", "triton", "holds"),
    ]


def test_two_servers_on_either_side_of_the_truth_disagree() -> None:
    # Each within 0.5 of the in-process answer, and 0.8 apart.
    served = {"triton": changed(2, 1, 6.4), "torchserve": changed(2, 1, 5.6)}
    *alone, agreement = answer_verdicts(served, EXPECTED, None, 0.5)
    assert [v.outcome for v in alone] == ["holds", "holds"]
    assert agreement.outcome == "invalid"
    assert agreement.measured == pytest.approx(0.8)
    assert "output [1] for payload 2 is 5.6, triton it is 6.4" in agreement.why


def test_three_servers_are_each_compared_with_the_first() -> None:
    verdicts = answer_verdicts(dict.fromkeys("abc", EXPECTED), EXPECTED, None, 0.0)
    assert [(v.server, v.subject) for v in verdicts if v.check == "agreement"] == [("b", "a"), ("c", "a")]


def test_no_answers_make_no_verdicts() -> None:
    assert answer_verdicts({}, EXPECTED, LABELS, 0.0) == []


def test_accuracy_is_the_share_of_answers_that_point_to_the_label() -> None:
    assert accuracy(EXPECTED, LABELS) == 0.75


def test_the_same_accuracy_holds_and_another_one_is_invalid() -> None:
    right, wrong = EXPECTED, changed(0, 0, 5.0)  # payload 0 is now taken for a 0
    verdicts = answer_verdicts({"triton": right, "torchserve": wrong}, EXPECTED, LABELS, 10.0)
    found = {v.server: v for v in verdicts if v.check == "accuracy"}
    assert (found["triton"].outcome, found["triton"].expected, found["triton"].measured) == ("holds", 0.75, 0.75)
    assert (found["torchserve"].outcome, found["torchserve"].measured) == ("invalid", 0.5)
    assert found["torchserve"].why == "served 50.00%, in process 75.00%"
    assert found["torchserve"].subject == "4 held-out payloads"
