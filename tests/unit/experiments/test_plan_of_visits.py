"""Which batch sizes a block visits how often, how a size is warmed up, and what each batch is recorded as."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench.experiments import calibration
from bench.experiments.calibration import Calibration, Sample, Visit, calibrate, plan_visits
from bench.experiments.subject import Subject
from bench.scenario.arms import Arm, batching_off, exactly
from bench.scenario.spec import Server

OFF = batching_off("m", Server("s", "triton"))


def subject(takes_rows: bool = True) -> Subject:
    async def opened(_n: int) -> None:
        return None

    client = SimpleNamespace(takes_rows=takes_rows)
    server, pool = SimpleNamespace(spec=SimpleNamespace(name="s")), SimpleNamespace(open=opened)
    made: Any = SimpleNamespace(client=client, server=server, pool=pool)
    return Subject(made.server, made.client, made.pool, None, 0.0, lambda _text, _share: None)  # type: ignore[arg-type]


def arms(*sizes: int) -> list[Arm]:
    return [exactly("m", size) for size in sizes]


def times(*sizes: int) -> dict[int, int]:
    return {visit.batch_size: visit.times for visit in plan_visits(subject(), arms(*sizes), OFF) if not visit.variant}


@pytest.mark.parametrize(
    ("sizes", "at_the_ends"),
    [((1, 2, 3, 4, 6, 8, 12, 16), 3), ((1, 2, 3, 4, 6, 8), 2), ((1, 2, 4, 8, 16), 2), ((1, 4, 16), 1), ((1, 2), 1)],
)
def test_the_ends_together_are_visited_at_least_as_often_as_all_between(
    sizes: tuple[int, ...], at_the_ends: int
) -> None:
    found = times(*sizes)
    assert found[sizes[0]] == found[sizes[-1]] == at_the_ends
    assert all(found[size] == 1 for size in sizes[1:-1])


def test_the_ends_are_the_smallest_and_the_largest_in_whatever_order_they_are_given() -> None:
    assert times(8, 2, 16, 1, 4) == {8: 1, 2: 1, 16: 2, 1: 2, 4: 1}


def test_batching_off_is_visited_once_and_rows_only_where_they_are_taken() -> None:
    with_rows = plan_visits(subject(), arms(1, 4, 16), OFF)
    assert [(visit.variant, visit.batch_size, visit.times) for visit in with_rows if visit.variant] == [
        ("_serial", 1, 1), ("_rows", 1, 1), ("_rows", 4, 1), ("_rows", 16, 1),
    ]  # fmt: skip
    assert [visit.variant for visit in plan_visits(subject(takes_rows=False), arms(1, 4), OFF)] == ["", "", "_serial"]


class Timer:
    """In place of a batch: its time by `T(B)`, and how often each size was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: Counter[int] = Counter()
        monkeypatch.setattr(calibration, "_time_batch", self)
        monkeypatch.setattr(calibration, "DROPPED_S", 0.0)
        monkeypatch.setattr(calibration, "KEPT_S", 0.0)

    async def __call__(self, _subject: Subject, visit: Visit, _turn: int) -> dict[str, float] | None:
        self.asked[visit.batch_size] += 1
        return {"compute": self.seconds(visit.batch_size, self.asked[visit.batch_size])}

    def seconds(self, batch_size: int, _number: int) -> float:
        return 0.004 + 0.002 * batch_size


class Restless(Timer):
    """One size never settles: each batch takes a tenth longer than the one before."""

    def seconds(self, batch_size: int, number: int) -> float:
        return 1e-4 * 1.1**number if batch_size == 4 else 0.01


class Cooling(Timer):
    """The first 20 batches of a size take less from one to the next."""

    def seconds(self, _batch_size: int, number: int) -> float:
        return 0.01 * max(1.0, 1.2 ** (20 - number))


def calibrated(*sizes: int, blocks: int = 1) -> Calibration:
    into = Calibration([])

    def enough(samples: Sequence[Sample]) -> bool:
        return samples[-1].block + 1 == blocks

    visits = plan_visits(subject(takes_rows=False), arms(*sizes), OFF)
    asyncio.run(calibrate(subject(), visits, math.inf, np.random.default_rng(1), enough, into))
    return into


def test_each_visit_of_a_block_has_a_number_and_each_batch_of_a_visit_another(monkeypatch: pytest.MonkeyPatch) -> None:
    Timer(monkeypatch)
    into = calibrated(1, 2, 3, 4, 6, 8, blocks=2)
    keys = [(sample.layer, sample.batch_size, sample.block, sample.visit, sample.repeat) for sample in into.samples]
    assert len(set(keys)) == len(keys)
    numbers = {(size, block): set() for size in (1, 2, 8) for block in (0, 1)}
    for layer, size, block, visit, _ in keys:
        if layer == "compute" and size in (1, 2, 8):
            numbers[size, block].add(visit)
    assert numbers == {(size, block): {0} if size == 2 else {0, 1} for size, block in numbers}


def test_the_order_of_a_block_is_random_and_another_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    Timer(monkeypatch)
    into = calibrated(1, 2, 3, 4, 6, 8, 12, 16, blocks=2)
    first, second = (
        list(dict.fromkeys((s.layer, s.batch_size, s.visit) for s in into.samples if s.block == block))
        for block in (0, 1)
    )
    assert sorted(first) == sorted(second)
    assert first != second
    assert first != sorted(first)


def test_a_size_is_warmed_up_until_it_has_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = Timer(monkeypatch)
    assert calibrated(1, 4, 16).unsettled == []
    assert timer.asked[16] == 9 + 1 + calibration.FEWEST_KEPT  # warm-up, one dropped, those kept
    cooling = Cooling(monkeypatch)
    assert calibrated(1, 4, 16).unsettled == []
    # Batch 20 is the first at rest; 3 windows of 3 then need 9, less what lies within 5 % at the end of the fall.
    assert 26 <= cooling.asked[16] - 1 - calibration.FEWEST_KEPT <= 29


def test_a_size_that_never_settles_is_named_and_measured_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = Restless(monkeypatch)
    into = calibrated(1, 4, 16)
    assert into.unsettled == ["batches of 4"]
    assert timer.asked[4] == calibration.WARM_UP_BATCHES + 1 + calibration.FEWEST_KEPT
    assert {sample.batch_size for sample in into.samples} == {1, 4, 16}


class Long(Timer):
    """Batches of four take a tenth of a second and more."""

    def seconds(self, batch_size: int, _number: int) -> float:
        return 0.1 if batch_size == 4 else 0.01


def test_one_batch_that_takes_long_is_a_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = Long(monkeypatch)
    into = calibrated(1, 4, 16)
    assert timer.asked[4] == 9 + 1
    assert timer.asked[16] == 9 + 1 + calibration.FEWEST_KEPT
    assert into.unsettled == []
