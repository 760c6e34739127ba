"""T(B) at exactly B: batch sizes in random order, block after block, until c and m are known well enough.

A block visits every batch size, and once the model with batching off. Where to look for a line that is known to be one
is its two ends (D-optimal: half of the visits at each); what a line is not shows between them. So the smallest and the
largest size together get as many visits as all that lie between. The first batches of a visit are dropped: they pay for
the switch, a network on two cores some 10 % for its first few milliseconds. Two layers are timed: compute, what the
server says it spent on the batch, with the executed batch size proven for each sample; path, what the client sees from
its first write to the last answer. A model with a clock of its own tells a third: own_clock.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.errors import MeasurementInvalid
from bench.experiments.subject import Subject, send_together
from bench.measure.settling import settled
from bench.scenario.arms import Arm
from bench.servers.server import Statistics

WARM_UP_BATCHES = 60  # at most, and
WARM_UP_S = 1.0
FEWEST_TO_SETTLE = 9
DROPPED_S = 0.015  # and one batch at the least
KEPT_S = 0.025
FEWEST_KEPT = 3
LONG_S = 0.1  # one batch of such a time is enough for a visit: what a switch costs is nothing beside it
ROWS_EVERY = 3  # beside the curve that counts; the time is better spent on that
STATISTICS_PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed batch. block: the round in which it was taken; layer: compute, path, own_clock, or a variant of one;
    start: which of the servers that were started for it, from 0.

    Variants: *_rows, one request of B rows; *_serial, requests one at a time with batching off (batch_size 1).
    visit: which visit of the block to this batch size, repeat: which batch of the visit.
    """

    layer: str
    batch_size: int
    block: int
    repeat: int
    time_s: float
    visit: int
    start: int = 0


@dataclass(frozen=True, slots=True)
class Visit:
    """What to time: `rows_each` rows in each of `requests` requests sent together to an arm.

    In every n-th block, `times` times.
    """

    variant: str
    arm: Arm
    requests: int
    rows_each: int
    every: int = 1
    times: int = 1

    @property
    def batch_size(self) -> int:
        return self.requests * self.rows_each


@dataclass(slots=True)
class Calibration:
    """What one started server gives. Grows while it is measured, and is the caller's, so that an interrupted run keeps
    it. blocks: the number of the next one, they are numbered on from start to start; seconds: spent on the blocks.

    unproven: batches whose executed size was not the asked one, left out of the samples. long: visits whose
    batches take so long that one of them is enough. unsettled: what had not settled when its warm-up ended.
    """

    samples: list[Sample]
    blocks: int = 0
    unproven: int = 0
    start: int = 0
    seconds: float = 0.0
    unsettled: list[str] = field(default_factory=list)
    long: set[Visit] = field(default_factory=set)


def plan_visits(subject: Subject, arms: Sequence[Arm], off: Arm) -> tuple[Visit, ...]:
    """The visits of one block: every exact arm, upwards in size, as it is not known yet how large a batch may be; the
    same sizes as rows where they are taken; and batching off."""
    arms = sorted(arms, key=lambda arm: arm.max_batch_size)
    sizes = [arm.max_batch_size for arm in arms]
    at_each_end = max(1, math.ceil((len(sizes) - 2) / 2))
    visits = [
        Visit("", arm, size, 1, times=at_each_end if size in (min(sizes), max(sizes)) else 1)
        for arm, size in zip(arms, sizes, strict=True)
    ]
    visits.append(Visit("_serial", off, 1, 1))
    if subject.client.takes_rows:
        visits += [Visit("_rows", off, 1, size, ROWS_EVERY) for size in sizes]
    return tuple(visits)


async def calibrate(
    subject: Subject,
    visits: Sequence[Visit],
    max_duration_s: float,
    rng: np.random.Generator,
    precise_enough: Callable[[Sequence[Sample]], bool],
    into: Calibration,
) -> None:
    """Fills `into`, block by block, until `precise_enough` says so or max_duration_s has passed, of which the warm-up
    takes half at most.

    Raises MeasurementInvalid on a wrong answer, or when the executed batch sizes cannot be had; OutOfMemory when a
    batch does not fit; ServerError when the server dies.
    """
    began = time.monotonic()
    await subject.pool.open(max(visit.requests for visit in visits))
    for done, visit in enumerate(visits):
        subject.tell(f"{subject.server.spec.name}: warming up, batches of {visit.batch_size}", done / len(visits))
        await _warm_up(subject, visit, into)
    first, warm_up_s = into.blocks, time.monotonic() - began
    began = time.monotonic() - min(warm_up_s, max_duration_s / 2)
    while True:
        made: Counter[int] = Counter()
        for index in rng.permutation(np.repeat(np.arange(len(visits)), [visit.times for visit in visits])).tolist():
            if into.blocks % visits[index].every:
                continue
            await _visit(subject, visits[index], made[index], into)
            made[index] += 1
            into.seconds = time.monotonic() - began
            subject.tell(
                f"{subject.server.spec.name}: calibrating, block {into.blocks + 1}",
                min(1.0, into.seconds / max_duration_s),
            )
        into.blocks += 1
        taken = len(into.samples)
        if into.blocks - first >= 3 and into.unproven > taken:
            raise MeasurementInvalid(
                f"{subject.server.spec.name}: {into.unproven} batches were not executed at the asked size, "
                f"{taken // 2} were"
            )
        if into.seconds > max_duration_s or precise_enough(into.samples):
            return


async def _warm_up(subject: Subject, visit: Visit, into: Calibration) -> None:
    """Batches of one size until their times have settled, or WARM_UP_BATCHES or WARM_UP_S are over."""
    times_s: list[float] = []
    began = time.monotonic()
    for turn in range(WARM_UP_BATCHES):
        timed = await _time_batch(subject, visit, turn)
        if timed is not None:
            times_s.append(timed["compute"])
        if settled(times_s):
            break
        if time.monotonic() - began > WARM_UP_S and turn > 0:
            break
    if times_s and times_s[-1] >= LONG_S:
        into.long.add(visit)
    if len(times_s) >= FEWEST_TO_SETTLE and not settled(times_s):  # a second may hold too few to tell
        into.unsettled.append(f"batches of {visit.batch_size}{' as rows' if visit.variant == '_rows' else ''}")


async def _visit(subject: Subject, visit: Visit, number: int, into: Calibration) -> None:
    turn = 0
    began = time.monotonic()
    long = visit in into.long
    while not long and (turn == 0 or time.monotonic() - began < DROPPED_S):
        await _time_batch(subject, visit, into.blocks + turn)
        turn += 1
    kept_from = time.monotonic()
    repeat = 0
    while repeat < (1 if long else FEWEST_KEPT) or time.monotonic() - kept_from < KEPT_S:
        repeat += 1
        timed = await _time_batch(subject, visit, into.blocks + turn + repeat)
        if timed is None:
            into.unproven += 1
            continue
        for layer, seconds in timed.items():
            name = f"{layer}{visit.variant}"
            sample = Sample(name, visit.batch_size, into.blocks, repeat, seconds, number, into.start)
            into.samples.append(sample)


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
