"""One open-loop point: a planned schedule replayed against the model as it is configured."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.clients.outcome import Outcome
from bench.experiments.subject import Subject
from bench.load.dispatch import DoneFn, Progress, replay
from bench.load.recorder import Recorder
from bench.scenario.arms import Arm
from bench.servers.server import Statistics

CONNECTIONS_AHEAD = 32
DRAIN_S = 30.0


async def run_point(
    subject: Subject, arm: Arm, recorder: Recorder, payload_order: np.ndarray, label: str
) -> Statistics:
    """Replays `recorder.offsets_ns`; what the server counted over the whole point, warm-up included.

    payload_order (n,): which payload each request carries. The rows are in the recorder, also when this is cancelled.
    Raises ServerError when the server died.
    """
    server, client, pool = subject.server, subject.client, subject.pool
    requests = [client.request(arm.name, row[np.newaxis]) for row in subject.model.payloads]
    order: list[int] = payload_order.tolist()

    def send(index: int, done: DoneFn) -> None:
        pool.send(requests[order[index]], _told(client.executed, client.cause, done))

    def on_tick(progress: Progress) -> None:
        text = f"{server.spec.name}: {label}, {progress.sent - progress.finished} in flight, {progress.failed} failed"
        subject.tell(text, progress.sent / max(1, progress.scheduled))

    await pool.open(CONNECTIONS_AHEAD)
    before = server.statistics(arm)
    await replay(recorder.offsets_ns, send, drain_timeout_s=DRAIN_S, on_tick=on_tick, recorder=recorder)
    server.check_alive()
    return server.statistics(arm).since(before)


def _told(
    executed: Callable[[Outcome], tuple[int, float] | None], cause: Callable[[Outcome], str], done: DoneFn
) -> Callable[[Outcome, int, int], None]:
    def on_outcome(outcome: Outcome, sent_ns: int, completed_ns: int) -> None:
        batch = executed(outcome)
        size, compute_ns = (0, -1) if batch is None else (batch[0], round(batch[1] * 1e9))
        why = cause(outcome) if outcome.cause else ""
        done(outcome.status, sent_ns, completed_ns, size, compute_ns, why)

    return on_outcome
