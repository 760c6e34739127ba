"""What an experiment works on: a ready server, the client that speaks to it, the model, and where to tell progress."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from bench.analysis.answers import difference_text, worst_difference
from bench.clients.client import Client, Pool
from bench.clients.outcome import OUT_OF_RESOURCES, WORKER_DIED, WORKER_KILLED, Outcome
from bench.errors import MeasurementInvalid, OutOfMemory
from bench.models.model import ServedModel
from bench.progress import Tell
from bench.scenario.arms import Arm
from bench.servers.server import RunningServer


@dataclass(frozen=True, slots=True)
class Subject:
    """One server under test. tolerance: largest allowed difference of an output from the in-process answer."""

    server: RunningServer
    client: Client
    pool: Pool
    model: ServedModel
    tolerance: float
    tell: Tell

    def payload_rows(self, first: int, count: int) -> np.ndarray:
        """Indices (count,) of the next payloads, round and round."""
        return np.arange(first, first + count) % len(self.model.payloads)

    def check_memory(self, batch_size: int, outcomes: Iterable[Outcome]) -> None:
        """Raises OutOfMemory when that is why a batch of at most so many has failed, and the server itself lives.

        A worker that died of its own accord, or by another signal than the one that the kernel sends, is no such case.
        """
        failed = {self.client.cause(outcome): outcome for outcome in outcomes if outcome.status != 200}
        cause = next((why for why in (OUT_OF_RESOURCES, WORKER_KILLED) if why in failed), "")
        if not cause and WORKER_DIED in failed and self.server.process.worker_was_killed():
            cause = WORKER_KILLED
        if cause:
            self.server.process.check_leader_alive()
            told = failed.get(cause, failed.get(WORKER_DIED))
            text = told.body[:500].decode("utf-8", "replace") if told is not None else ""
            raise OutOfMemory(self.server.spec.name, batch_size, cause, text)

    def check_answers(self, arm: Arm, rows: np.ndarray, outcomes: Iterable[Outcome]) -> float | None:
        """The longest that the model held a batch of these, seconds by its own clock; None where it has none.

        Raises MeasurementInvalid naming the output that differs most from the in-process answer, and by how much;
        OutOfMemory as `check_memory` does.
        """
        name = self.server.spec.name
        outcomes = tuple(outcomes)
        together = min(len(rows), arm.max_batch_size) if arm.batching else len(rows) // max(1, len(outcomes))
        self.check_memory(together, outcomes)
        try:
            answers = np.concatenate([self.client.answers(outcome) for outcome in outcomes])
        except MeasurementInvalid as error:
            self.server.check_alive()  # a dead server explains a failed request better than the request does
            raise MeasurementInvalid(f"{name}: {arm.name}: {error.message}", error.detail) from error
        expected = self.model.expected[rows]
        shape = (len(rows), *self.model.output.shape)
        if answers.shape != shape:
            raise MeasurementInvalid(f"{name}: {arm.name}: expected answers of shape {shape}, got {answers.shape}")
        worst = worst_difference(answers[:, : expected.shape[1]], expected)
        if not worst.within(self.tolerance):
            worst = replace(worst, payload=int(rows[worst.payload]))
            raise MeasurementInvalid(f"{name}: {arm.name} answers wrongly: {difference_text(worst, self.tolerance)}")
        return float(answers[:, -1].max()) if self.model.has_clock else None


async def send_together(pool: Pool, requests: Iterable[bytes]) -> tuple[list[Outcome], float]:
    """Sends all at once; the outcomes in order, and the seconds from the first write to the last answer."""
    loop = asyncio.get_running_loop()
    answered: list[asyncio.Future[tuple[Outcome, int, int]]] = []
    for request in requests:
        future: asyncio.Future[tuple[Outcome, int, int]] = loop.create_future()
        answered.append(future)

        def done(
            outcome: Outcome, sent: int, completed: int, f: asyncio.Future[tuple[Outcome, int, int]] = future
        ) -> None:
            if not f.done():
                f.set_result((outcome, sent, completed))

        pool.send(request, done)
    results = await asyncio.gather(*answered)
    elapsed_ns = max(completed for _, _, completed in results) - min(sent for _, sent, _ in results)
    return [outcome for outcome, _, _ in results], elapsed_ns * 1e-9
