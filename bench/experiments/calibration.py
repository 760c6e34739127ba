"""T(B) at exactly B: batch sizes in random order, block after block, until c and m are known well enough.

A block visits every batch size once, and once the model with batching off. The first batches of a visit are dropped:
they pay for the switch, a network on two cores some 10 % for its first few milliseconds. Two layers are timed:
compute, what the server says it spent on the batch, with the executed batch size proven for each sample; path, what
the client sees from its first write to the last answer. A model with a clock of its own tells a third: own_clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.errors import MeasurementInvalid
from bench.experiments.subject import Subject, send_together
from bench.scenario.arms import Arm
from bench.servers.server import Statistics

WARM_UP_BATCHES = 8
DROPPED_S = 0.015  # and one batch at the least
KEPT_S = 0.025
FEWEST_KEPT = 3
ROWS_EVERY = 3  # beside the curve that counts; the time is better spent on that
STATISTICS_PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed batch. block: the round in which it was taken; layer: compute, path, own_clock, or a variant of one.

    Variants: *_rows, one request of B rows; *_serial, requests one at a time with batching off (batch_size 1).
    """

    layer: str
    batch_size: int
    block: int
    repeat: int
    time_s: float


@dataclass(frozen=True, slots=True)
class Visit:
    """What to time: `rows_each` rows in each of `requests` requests sent together to an arm, in every n-th block."""

    variant: str
    arm: Arm
    requests: int
    rows_each: int
    every: int = 1

    @property
    def batch_size(self) -> int:
        return self.requests * self.rows_each


@dataclass(slots=True)
class Calibration:
    """Grows while it is measured, and is the caller's, so that an interrupted run keeps it. unproven: batches whose
    executed size was not the asked one, left out of the samples."""

    samples: list[Sample]
    blocks: int = 0
    unproven: int = 0


def plan_visits(subject: Subject, arms: Sequence[Arm], off: Arm) -> tuple[Visit, ...]:
    """The visits of one block: every exact arm, the same sizes as rows where they are taken, and batching off."""
    visits = [Visit("", arm, arm.max_batch_size, 1) for arm in arms]
    visits.append(Visit("_serial", off, 1, 1))
    if subject.client.takes_rows:
        visits += [Visit("_rows", off, 1, arm.max_batch_size, ROWS_EVERY) for arm in arms]
    return tuple(visits)


async def calibrate(
    subject: Subject,
    visits: Sequence[Visit],
    max_duration_s: float,
    rng: np.random.Generator,
    precise_enough: Callable[[Sequence[Sample]], bool],
    into: Calibration,
) -> None:
    """Fills `into`, block by block, until `precise_enough` says so or max_duration_s has passed.

    Raises MeasurementInvalid on a wrong answer, or when the executed batch sizes cannot be had; ServerError when the
    server dies.
    """
    await subject.pool.open(max(visit.requests for visit in visits))
    for done, visit in enumerate(visits):
        subject.tell(f"{subject.server.spec.name}: warming up, batches of {visit.batch_size}", done / len(visits))
        for repeat in range(WARM_UP_BATCHES):
            await _time_batch(subject, visit, repeat)
    began = time.monotonic()
    while True:
        for index in rng.permutation(len(visits)):
            if into.blocks % visits[index].every:
                continue
            await _visit(subject, visits[index], into)
            subject.tell(
                f"{subject.server.spec.name}: calibrating, block {into.blocks + 1}",
                min(1.0, (time.monotonic() - began) / max_duration_s),
            )
        into.blocks += 1
        taken = len(into.samples)
        if into.blocks >= 3 and into.unproven > taken:
            raise MeasurementInvalid(
                f"{subject.server.spec.name}: {into.unproven} batches were not executed at the asked size, "
                f"{taken // 2} were"
            )
        if time.monotonic() - began > max_duration_s or precise_enough(into.samples):
            return


async def _visit(subject: Subject, visit: Visit, into: Calibration) -> None:
    turn = 0
    began = time.monotonic()
    while turn == 0 or time.monotonic() - began < DROPPED_S:
        await _time_batch(subject, visit, into.blocks + turn)
        turn += 1
    kept_from = time.monotonic()
    repeat = 0
    while repeat < FEWEST_KEPT or time.monotonic() - kept_from < KEPT_S:
        repeat += 1
        timed = await _time_batch(subject, visit, into.blocks + turn + repeat)
        if timed is None:
            into.unproven += 1
            continue
        for layer, seconds in timed.items():
            into.samples.append(Sample(f"{layer}{visit.variant}", visit.batch_size, into.blocks, repeat, seconds))


async def _time_batch(subject: Subject, visit: Visit, turn: int) -> dict[str, float] | None:
    """Layer -> seconds of one batch; None when it was not executed as one batch of the asked size."""
    server, client, arm = subject.server, subject.client, visit.arm
    rows = subject.payload_rows(turn * visit.batch_size, visit.batch_size)
    payloads = subject.model.payloads[rows]
    requests = [client.request(arm.name, part) for part in np.split(payloads, visit.requests)]
    counted = server.statistics(arm) if server.counts_batches else None
    outcomes, path_s = await send_together(subject.pool, requests)
    own_s = subject.check_answers(arm, rows, outcomes)
    if counted is None:
        told = {client.executed(outcome) for outcome in outcomes}
        executed = told.pop() if len(told) == 1 else None
    else:
        executed = _counted_since(subject, arm, counted, visit.requests)
    if executed is None or executed[0] != visit.batch_size:
        return None
    layers = {"compute": executed[1], "path": path_s}
    return layers if own_s is None else layers | {"own_clock": own_s}


def _counted_since(subject: Subject, arm: Arm, before: Statistics, requests: int) -> tuple[int, float] | None:
    """(batch size, compute seconds) when exactly one execution was counted; the counters follow the answers."""
    deadline = time.monotonic() + STATISTICS_PATIENCE_S
    while True:
        since = subject.server.statistics(arm).since(before)
        if since.requests >= requests:
            break
        if time.monotonic() > deadline:
            raise MeasurementInvalid(
                f"{subject.server.spec.name}: {requests} requests to {arm.name} were answered, "
                f"its statistics count {since.requests}"
            )
    if len(since.batches) != 1:
        return None
    ((batch_size, (executions, seconds)),) = since.batches.items()
    return (batch_size, seconds) if executions == 1 else None
