"""Every held-out payload through the server as it is configured, batched by the server itself."""

from __future__ import annotations

import asyncio

import numpy as np

from bench.errors import MeasurementInvalid
from bench.experiments.subject import Subject
from bench.models.model import Floats
from bench.scenario.arms import Arm


async def prove_ready(subject: Subject, arm: Arm, together: int | None = None) -> None:
    """One batch answered rightly, a full one if nothing else is said. Raises MeasurementInvalid when an answer is
    wrong, OutOfMemory when the batch does not fit, ServerError when the server died."""
    rows = subject.payload_rows(0, together or arm.max_batch_size if arm.batching else 1)
    requests = [subject.client.request(arm.name, subject.model.payloads[i : i + 1]) for i in rows]
    outcomes = await asyncio.gather(*(subject.pool.request(request) for request in requests))
    subject.check_answers(arm, rows, outcomes)


async def collect_answers(subject: Subject, arm: Arm, together: int | None = None) -> Floats:
    """The server's answer (n, outputs) to each of the n payloads, so many of them asked together: by default enough to
    keep full batches forming. Raises MeasurementInvalid when one is no answer, OutOfMemory when a batch does not fit.
    """
    name, model, client = subject.server.spec.name, subject.model, subject.client
    shape = (1, *model.output.shape)
    answers = np.full(model.expected.shape, np.nan, dtype=np.float32)
    together = together or 2 * arm.max_batch_size
    for first in range(0, len(model.payloads), together):
        rows = range(first, min(first + together, len(model.payloads)))
        requests = [client.request(arm.name, model.payloads[i : i + 1]) for i in rows]
        outcomes = await asyncio.gather(*(subject.pool.request(request) for request in requests))
        subject.check_memory(min(len(rows), arm.max_batch_size), outcomes)
        for row, outcome in zip(rows, outcomes, strict=True):
            try:
                answer = client.answers(outcome)
            except MeasurementInvalid as error:
                subject.server.check_alive()
                raise MeasurementInvalid(f"{name}: payload {row}: {error.message}", error.detail) from error
            if answer.shape != shape:
                raise MeasurementInvalid(
                    f"{name}: payload {row}: expected outputs of shape {shape}, got {answer.shape}"
                )
            answers[row] = answer[0, : model.expected.shape[1]]
        subject.tell(f"{name}: answering every held-out payload", rows[-1] / len(model.payloads))
    return answers
