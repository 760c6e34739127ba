"""Which sizes are calibrated, on how many started servers, and for how long each."""

from __future__ import annotations

import pytest

from bench.errors import OutOfMemory, ServerError
from bench.experiments.calibration import Calibration, Sample
from bench.experiments.starts import Starts, shortage_note, shortage_row
from bench.scenario.arms import exactly

SIZES = (1, 4, 8, 12)


def starts(restarts: int = 0) -> Starts:
    arms = (*(exactly("m", size) for size in SIZES), exactly("m", 1, 2), exactly("m", 12, 2))
    return Starts(arms, restarts + 1, 30.0)


def fill(taken: Calibration, blocks: int) -> None:
    taken.samples += [Sample("compute", 1, taken.blocks + b, 1, 0.01, 0, taken.start) for b in range(blocks)]
    taken.blocks += blocks


def test_starts_share_the_time_that_is_left() -> None:
    made = starts(restarts=2)
    assert made.share_s == pytest.approx(10.0)
    made.left, made.budget_s = 2, 24.0  # the first took 6 s
    assert made.share_s == pytest.approx(12.0)
    made.left, made.budget_s = 1, -0.5  # a block is finished even when the time is over
    assert made.share_s == 0.0


def test_blocks_and_starts_are_numbered_on() -> None:
    made = starts(restarts=1)
    fill(made.begin(), 5)
    second = made.begin()
    assert (second.blocks, second.start, second.samples) == (5, 1, [])


def test_a_start_without_a_sample_has_no_number_of_its_own() -> None:
    made = starts()
    made.begin()
    assert (made.begin().start, made.taken.blocks) == (0, 0)


def test_a_block_that_was_broken_off_keeps_its_number() -> None:
    made = starts()
    taken = made.begin()
    fill(taken, 3)
    taken.samples.append(Sample("compute", 1, 3, 1, 0.01, 0))  # of the fourth, before memory ran out
    assert made.begin().blocks == 4


def test_sizes_from_the_one_that_did_not_fit_are_given_up() -> None:
    made = starts()
    made.give_up_from(12)
    assert [arm.max_batch_size for arm in made.exact] == [1, 4, 8]
    assert [arm.name for arm in made.arms if arm.instances > 1] == ["m_n2_b1"]
    assert made.left == 1


def test_with_one_size_left_there_is_nothing_to_fit() -> None:
    made = starts(restarts=3)
    made.give_up_from(4)
    assert [arm.max_batch_size for arm in made.exact] == [1]
    assert made.left == 0


def test_what_did_not_fit_is_told_as_a_row_and_a_note() -> None:
    error = OutOfMemory("triton", 12, "out of resources", "CUDA out of memory")
    assert isinstance(error, ServerError)
    assert shortage_row("triton", error, "calibration") == {
        "server": "triton", "batch_size": 12, "during": "calibration", "cause": "out of resources",
    }  # fmt: skip
    assert shortage_note(error, "calibration") == (
        "triton: a batch of 12 did not fit into memory: out of resources; it and larger ones are left out, smaller "
        "ones are measured on a server started anew"
    )
    assert "asked for 6 at a time" in shortage_note(error, "answers")
