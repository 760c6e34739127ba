"""What a server serves when the next batch is always waiting: the throughput at saturation, and from it the occupancy.

A closed loop on purpose: each answer is replaced by a request, so that the queue is never empty and never grows. No
latency is taken here. N instances that answer X requests per second in batches of B are each busy for N·B/X with a
batch: its occupancy, which is longer than what the server calls compute by all that it does around it.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.clients.outcome import Outcome
from bench.errors import MeasurementInvalid
from bench.experiments.subject import Subject
from bench.scenario.arms import Arm

FEWEST_CYCLES = 2  # in which every instance runs a batch; short ones fill the visit many times over
VISIT_S = 0.2
FEWEST_BLOCKS = 2
MOST_S = 120.0
NOT_FULL = 0.01


@dataclass(frozen=True, slots=True)
class Saturated:
    """One visit to a saturated arm: `requests` answered in `seconds`, whole batches where batches are full; start:
    which of the servers that were started for it, from 0.

    mean_batch_size, compute_s: of the executions of the visit, seconds a batch, as the server tells; NaN where it does
    not.
    """

    arm: Arm
    block: int
    requests: int
    seconds: float
    mean_batch_size: float
    compute_s: float
    start: int = 0

    @property
    def group(self) -> int:
        """Requests that are computed at the same time when all batches are full."""
        return _group(self.arm)

    @property
    def occupancy_s(self) -> float:
        """How long a full batch keeps its instance busy, N·B / throughput."""
        return self.group * self.seconds / self.requests


def _group(arm: Arm) -> int:
    return arm.instances * (arm.max_batch_size if arm.batching else 1)


async def saturate(subject: Subject, arm: Arm, block: int, least_s: float = VISIT_S) -> Saturated:
    """Keeps an arm saturated for `least_s` or two cycles of all instances, whichever is longer.

    Beside the running batches, each instance has a full one waiting and so has the server. The first cycle and those
    that are under way when sending ends are not counted. Raises MeasurementInvalid on a wrong answer or a failed
    request, ServerError when the server died.
    """
    batch = arm.max_batch_size if arm.batching else 1
    in_flight = (arm.instances + 2) * batch
    if arm.max_queue_size is not None:
        in_flight = min(in_flight, arm.max_queue_size)
    crowd = _Crowd(subject, arm, in_flight, batch)
    await subject.pool.open(in_flight)
    before = subject.server.statistics(arm) if subject.server.counts_batches else None
    await crowd.run(least_s)
    if before is None:
        size, compute_s = crowd.told()
    else:
        batches = subject.server.statistics(arm).since(before).batches
        executions = sum(count for count, _ in batches.values())
        size = sum(b * count for b, (count, _) in batches.items()) / executions
        compute_s = sum(seconds for _, seconds in batches.values()) / executions
    requests, seconds = crowd.counted()
    return Saturated(arm, block, requests, seconds, size, compute_s)


async def saturate_in_blocks(
    subject: Subject,
    arms: Sequence[Arm],
    max_duration_s: float,
    rng: np.random.Generator,
    precise_enough: Callable[[Sequence[Saturated]], bool],
    into: list[Saturated],
    first_block: int = 0,
    start: int = 0,
) -> None:
    """Visits every arm once a block, in random order, until `precise_enough` says so or max_duration_s has passed.

    At least two blocks, numbered from `first_block`. `into` is the caller's, so that an interrupted run keeps it.
    Raises as `saturate` does.
    """
    name, began, block = subject.server.spec.name, time.monotonic(), first_block
    while True:
        for index in rng.permutation(len(arms)):
            done = min(1.0, (time.monotonic() - began) / max_duration_s)
            subject.tell(f"{name}: saturating, {arms[index].name}, block {block + 1}", done)
            into.append(replace(await saturate(subject, arms[index], block), start=start))
        block += 1
        over = time.monotonic() - began > max_duration_s
        if block - first_block >= FEWEST_BLOCKS and (over or precise_enough(into)):
            return


def samples(visit: Saturated) -> list[dict[str, object]]:
    """A visit as rows of calibration.csv: its occupancy, and the compute time where other instances run too.

    None when its batches were not full: that is then no time of a batch of that size.
    """
    arm = visit.arm
    size = visit.group // arm.instances
    if abs(visit.mean_batch_size / size - 1) > NOT_FULL:
        return []
    own = {"batch_size": size, "block": visit.block, "repeat": 1, "start": visit.start}
    if not arm.batching:
        return [{"layer": "occupancy_serial", **own, "time_s": visit.occupancy_s}]
    if arm.instances == 1:
        return [{"layer": "occupancy", **own, "time_s": visit.occupancy_s}]
    by_n = f"n{arm.instances}"
    rows = [{"layer": f"occupancy_{by_n}", **own, "time_s": visit.occupancy_s}]
    if math.isfinite(visit.compute_s):
        rows.append({"layer": f"compute_{by_n}", **own, "time_s": visit.compute_s})
    return rows


def row(server: str, purpose: str, visit: Saturated) -> dict[str, object]:
    """A visit as a row of saturation.csv."""
    arm = visit.arm
    return {
        "server": server, "purpose": purpose, "batching": int(arm.batching), "instances": arm.instances,
        "batch_size": visit.group // arm.instances, "block": visit.block, "requests": visit.requests,
        "seconds": visit.seconds, "mean_batch_size": visit.mean_batch_size, "compute_s": visit.compute_s,
    }  # fmt: skip


class _Crowd:
    """Requests of one visit, each replaced when it is answered, sent in a number that fills the last batch."""

    def __init__(self, subject: Subject, arm: Arm, in_flight: int, batch: int) -> None:
        self._subject, self._arm = subject, arm
        self._in_flight, self._batch, self._group = in_flight, batch, _group(arm)
        payloads = subject.model.payloads
        self._requests = [subject.client.request(arm.name, payloads[i : i + 1]) for i in range(len(payloads))]
        self._sent = 0
        self._answered_ns: list[int] = []
        self._counted = 0
        self._last: deque[tuple[int, Outcome]] = deque(maxlen=in_flight)
        self._executions: list[tuple[int, float]] = []
        self._failed: Outcome | None = None
        self._over: asyncio.Future[None] | None = None
        self._ends = math.inf

    async def run(self, least_s: float) -> None:
        self._over = asyncio.get_running_loop().create_future()
        self._ends = time.monotonic() + least_s
        for _ in range(self._in_flight):
            self._send()
        try:
            await asyncio.wait_for(self._over, least_s + MOST_S)
        except TimeoutError:
            self._subject.server.check_alive()
            name = self._subject.server.spec.name
            raise MeasurementInvalid(
                f"{name}: {self._arm.name}: {self._sent} requests were sent to saturate it, "
                f"{len(self._answered_ns)} were answered in {least_s + MOST_S:.0f} s"
            ) from None
        if self._failed is not None:
            self._last.append((0, self._failed))
        rows = np.array([row for row, _ in self._last])
        self._subject.check_answers(self._arm, rows, [outcome for _, outcome in self._last])

    def _send(self) -> None:
        row = self._sent % len(self._requests)
        self._sent += 1
        self._subject.pool.send(self._requests[row], lambda outcome, _, done_ns: self._on(row, outcome, done_ns))

    def _on(self, row: int, outcome: Outcome, completed_ns: int) -> None:
        self._answered_ns.append(completed_ns)
        self._last.append((row, outcome))
        executed = self._subject.client.executed(outcome)
        if executed is not None:
            self._executions.append(executed)
        if outcome.cause and self._failed is None:
            self._failed = outcome
        answered = len(self._answered_ns)
        enough = answered >= (1 + FEWEST_CYCLES) * self._group and time.monotonic() > self._ends
        if self._failed is None and not (enough and self._sent % self._batch == 0):
            self._send()
        elif not self._counted:
            self._counted = answered
        if answered == self._sent and self._over is not None and not self._over.done():
            self._over.set_result(None)

    def counted(self) -> tuple[int, float]:
        """(requests, seconds) from the end of the first cycle to the last that ended while sending went on.

        The answers of a batch come together, so the two ends are taken where a cycle ends.
        """
        first = self._group
        last = first + (self._counted - first) // self._group * self._group
        return last - first, (self._answered_ns[last - 1] - self._answered_ns[first - 1]) * 1e-9

    def told(self) -> tuple[float, float]:
        """(mean batch size, compute seconds of a batch) by the answers; each batch of b appears in b of them."""
        if not self._executions:
            return math.nan, math.nan
        sizes, seconds = np.array(self._executions, dtype=np.float64).T
        batches = float(np.sum(1 / sizes))
        return len(sizes) / batches, float(np.sum(seconds / sizes)) / batches
