"""A saturated server: whole batches only, the first cycle left out, and no request left behind in its own batch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench.clients.outcome import Outcome
from bench.errors import MeasurementInvalid
from bench.experiments import saturation
from bench.experiments.saturation import Saturated, samples, saturate
from bench.experiments.subject import Subject
from bench.scenario.arms import Arm

TIME_S = 0.004


class Batcher:
    """A pool whose server takes full batches only, each for TIME_S, on so many instances."""

    def __init__(self, size: int, instances: int) -> None:
        self.size, self.free = size, instances
        self.waiting: list[Callable[..., None]] = []
        self.batches: list[int] = []
        self.status = 200

    async def open(self, n: int) -> None:
        assert n == (self.free + 2) * self.size

    def send(self, _request: bytes, done: Callable[..., None]) -> None:
        self.waiting.append(done)
        self._start()

    def _start(self) -> None:
        while self.free and len(self.waiting) >= self.size:
            batch, self.waiting = self.waiting[: self.size], self.waiting[self.size :]
            self.free -= 1
            self.batches.append(self.size)
            asyncio.get_running_loop().call_later(TIME_S, self._answer, batch)

    def _answer(self, batch: Sequence[Callable[..., None]]) -> None:
        self.free += 1
        now_ns = int(asyncio.get_running_loop().time() * 1e9)
        for done in batch:
            done(Outcome(self.status, {}, b"", "" if self.status == 200 else "HTTP 500"), 0, now_ns)
        self._start()


def subject_on(pool: Batcher, *, told: bool = True) -> Subject:
    def answers(outcome: Outcome) -> np.ndarray:
        if outcome.status != 200:
            raise MeasurementInvalid("expected HTTP 200, got 500")
        return np.ones((1, 1), np.float32)

    client = SimpleNamespace(
        request=lambda _arm, _rows: b"",
        executed=lambda _outcome: (pool.size, 0.003) if told else None,
        answers=answers,
        cause=lambda outcome: outcome.cause,
    )
    model = SimpleNamespace(
        payloads=np.ones((7, 2), np.float32), expected=np.ones((7, 1), np.float32),
        output=SimpleNamespace(shape=(1,)), has_clock=False,
    )  # fmt: skip
    server = SimpleNamespace(spec=SimpleNamespace(name="s"), counts_batches=False, check_alive=lambda: None)
    made: Any = SimpleNamespace(client=client, model=model, server=server, tell=lambda *_: None)
    return Subject(made.server, made.client, pool, made.model, 1e-6, made.tell)  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "instances"), [(1, 1), (4, 1), (4, 2), (5, 3)])
def test_occupancy_is_the_time_that_a_batch_keeps_an_instance(size: int, instances: int) -> None:
    pool = Batcher(size, instances)
    arm = Arm("a", size, 5.0, True, instances)
    visit = asyncio.run(saturate(subject_on(pool), arm, 3, least_s=0.05))
    assert pool.waiting == []
    assert visit.block == 3
    assert visit.requests % (size * instances) == 0
    assert visit.requests >= saturation.FEWEST_CYCLES * size * instances
    assert TIME_S * 0.95 <= visit.occupancy_s < 3 * TIME_S  # a timer is never early by more than its grain
    assert visit.mean_batch_size == pytest.approx(size)
    assert visit.compute_s == pytest.approx(0.003)


def test_without_batching_every_request_is_a_batch() -> None:
    pool = Batcher(1, 1)
    visit = asyncio.run(saturate(subject_on(pool), Arm("off", 16, 0.0, False, 1), 0, least_s=0.02))
    assert set(pool.batches) == {1}
    assert visit.group == 1
    assert visit.occupancy_s >= TIME_S * 0.95


def test_a_failed_request_ends_it_with_the_reason() -> None:
    pool = Batcher(4, 1)
    pool.status = 500
    with pytest.raises(MeasurementInvalid, match="expected HTTP 200, got 500"):
        asyncio.run(saturate(subject_on(pool), Arm("a", 4, 5.0, True, 1), 0, least_s=0.02))


def test_a_server_that_says_nothing_of_its_batches_gives_none() -> None:
    visit = asyncio.run(saturate(subject_on(Batcher(2, 1), told=False), Arm("a", 2, 5.0, True, 1), 0, least_s=0.02))
    assert np.isnan(visit.mean_batch_size)
    assert samples(visit)[0]["layer"] == "occupancy"


def visit_of(instances: int, size: int, *, batching: bool = True, executed: float | None = None) -> Saturated:
    arm = Arm("a", size, 5.0, batching, instances)
    return Saturated(arm, 2, 80, 0.4, executed if executed is not None else size, 0.03)


def test_a_visit_becomes_rows_of_its_layers() -> None:
    (alone,) = samples(visit_of(1, 8))
    own = {"batch_size": 8, "block": 2, "repeat": 1, "start": 0}
    assert alone == {"layer": "occupancy", **own, "time_s": pytest.approx(0.04)}
    busy, computed = samples(visit_of(2, 8))
    assert (busy["layer"], busy["time_s"]) == ("occupancy_n2", pytest.approx(0.08))
    assert (computed["layer"], computed["time_s"]) == ("compute_n2", 0.03)
    (serial,) = samples(visit_of(1, 8, batching=False, executed=1))
    assert (serial["layer"], serial["batch_size"], serial["time_s"]) == ("occupancy_serial", 1, pytest.approx(0.005))


def test_batches_that_were_not_full_are_no_time_of_that_size() -> None:
    assert samples(visit_of(1, 8, executed=7.5)) == []
