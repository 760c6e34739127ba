"""Load from worker processes, each with a client of its own, on stub servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import numpy as np
import pytest
import stubs
import uvloop

from bench.clients.http_pool import HttpPool
from bench.clients.outcome import Outcome
from bench.clients.torchserve_http import error_cause, executed, predict_request
from bench.load.arrivals import schedule
from bench.load.dispatch import DoneFn, SendFn
from bench.load.records import Records
from bench.load.workers import replay_in_workers


@asynccontextmanager
async def sender(port: int, order: np.ndarray, timeout_s: float, _share: range) -> AsyncIterator[SendFn]:
    requests = [predict_request("m", b"payload %d" % k, "stub") for k in range(int(order.max()) + 1)]
    pool = HttpPool("127.0.0.1", port, timeout_s=timeout_s)
    await pool.open(5)

    def send(index: int, done: DoneFn) -> None:
        def told(outcome: Outcome, sent_ns: int, completed_ns: int) -> None:
            size, seconds = executed(outcome) or (0, -1e-9)
            done(outcome.status, sent_ns, completed_ns, size, round(seconds * 1e9), error_cause(outcome))

        pool.send(requests[order[index]], told)

    try:
        yield send
    finally:
        await pool.close()


class Listening:
    """Notes what it is sent, and behaves as another does."""

    def __init__(self, behaviour: stubs.Behaviour) -> None:
        self.behaviour = behaviour
        self.bodies: list[bytes] = []

    def __call__(self, connection: stubs.StubConnection, request: stubs.Request) -> None:
        self.bodies.append(request.body)
        self.behaviour(connection, request)


def play(
    behaviour: stubs.Behaviour, offsets_ns: np.ndarray, workers: int, order: np.ndarray | None = None
) -> tuple[Records, list[bytes]]:
    listening = Listening(behaviour)
    order = np.zeros(len(offsets_ns), dtype=np.int64) if order is None else order

    async def main() -> Records:
        async with stubs.serving(listening) as stub:
            make_sender = partial(sender, stub.port, order, 0.3)
            return await replay_in_workers(offsets_ns, make_sender, workers, drain_timeout_s=5.0)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main()), listening.bodies


def test_two_workers_send_what_one_sends_and_the_accounting_closes() -> None:
    offsets = schedule("poisson", 500, 1.0, seed=3)
    order = np.random.default_rng(4).integers(20, size=len(offsets))
    for workers in (1, 2):
        records, bodies = play(stubs.torchserve(), offsets, workers, order)
        assert records.accounting().ok == records.accounting().scheduled == len(offsets)
        assert np.array_equal(records.scheduled_ns, offsets)
        assert (records.dispatch_delays_ns() >= 0).all()
        assert sorted(bodies) == sorted(b"payload %d" % k for k in order)


@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        (stubs.answering(stubs.REFUSED), "queue full or no workers"),
        (stubs.closing, "connection closed"),
        (stubs.never, "timeout"),
        (stubs.answering(stubs.CLOSE_EACH), ""),
    ],
    ids=["503", "closed", "never answers", "close after each"],
)
def test_the_accounting_closes_whatever_the_server_does_to_two_workers(behaviour: stubs.Behaviour, cause: str) -> None:
    records, bodies = play(behaviour, schedule("constant", 200, 0.5, seed=0), 2)
    found = records.accounting()
    assert (found.scheduled, found.sent, found.in_flight) == (100, 100, 0)
    assert found.sent == found.ok + found.errors + found.timed_out
    assert records.having(cause).all()
    assert len(bodies) == 100
