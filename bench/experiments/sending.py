"""What sends a point's requests: made once, carried into worker processes where there are several.

Knows how a server is spoken to, and nothing of when a request is due.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.clients import PROTOCOLS
from bench.clients.outcome import Outcome
from bench.load.dispatch import DoneFn, SendFn

CONNECTIONS_AHEAD = 32


@dataclass(frozen=True, slots=True)
class Sending:
    """Picklable. requests: prebuilt ones, different from each other; order (n,): which of them request i is."""

    kind: str
    protocol: str
    host: str
    port: int
    requests: tuple[bytes, ...]
    order: NDArray[np.uint32]
    timeout_s: float = 30.0
    connections_ahead: int = CONNECTIONS_AHEAD

    @asynccontextmanager
    async def open(self, share: range) -> AsyncIterator[SendFn]:
        """Sends the requests of `share` by their index in the whole schedule."""
        spoken = PROTOCOLS[self.kind][self.protocol]
        client = spoken.client(self.host, self.port, "", "")
        pool = spoken.pool(self.host, self.port, self.timeout_s)
        requests, executed, started_ns, cause = self.requests, client.executed, client.started_ns, client.cause
        mine = self.order[share.start : share.stop : share.step].tolist()
        first, step = share.start, share.step

        def send(index: int, done: DoneFn) -> None:
            pool.send(requests[mine[(index - first) // step]], _telling(executed, started_ns, cause, done))

        try:
            await pool.open(self.connections_ahead)
            yield send
        finally:
            await pool.close()


def _telling(
    executed: Callable[[Outcome], tuple[int, float] | None],
    started_ns: Callable[[Outcome], int],
    cause: Callable[[Outcome], str],
    done: DoneFn,
) -> Callable[[Outcome, int, int], None]:
    """What the pool calls with an outcome: the engine's record of it."""

    def on_outcome(outcome: Outcome, sent_ns: int, completed_ns: int) -> None:
        batch = executed(outcome)
        why = cause(outcome) if outcome.cause else ""
        if batch is None:
            done(outcome.status, sent_ns, completed_ns, 0, -1, why)
        else:
            size, compute_ns = batch[0], round(batch[1] * 1e9)
            done(outcome.status, sent_ns, completed_ns, size, compute_ns, why, started_ns(outcome))

    return on_outcome
