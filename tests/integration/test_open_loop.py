"""Engine and client together, against stubs: accounting that closes, response times from the schedule."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
import pytest
import stubs
import uvloop

from bench.clients.http_pool import HttpPool
from bench.clients.outcome import Outcome
from bench.clients.torchserve_http import error_cause, executed, predict_request
from bench.load.arrivals import schedule
from bench.load.dispatch import DoneFn, replay
from bench.load.recorder import Recorder
from bench.load.records import Accounting, Records

REQUEST = predict_request("m", b"abc", "stub")


def sender(pool: HttpPool) -> Callable[[int, DoneFn], None]:
    def send(_index: int, done: DoneFn) -> None:
        def told(outcome: Outcome, sent_ns: int, completed_ns: int) -> None:
            size, seconds = executed(outcome) or (0, -1e-9)
            done(outcome.status, sent_ns, completed_ns, size, round(seconds * 1e9), error_cause(outcome))

        pool.send(REQUEST, told)

    return send


def play(
    behaviour: stubs.Behaviour,
    offsets_ns: np.ndarray,
    *,
    timeout_s: float = 5.0,
    drain_timeout_s: float = 5.0,
    in_flight_cap: int = 10_000,
    ahead: int = 10,
) -> tuple[Records, stubs.StubServer]:
    async def main() -> tuple[Records, stubs.StubServer]:
        async with stubs.serving(behaviour) as stub:
            pool = HttpPool(stub.host, stub.port, timeout_s=timeout_s)
            await pool.open(ahead)
            try:
                records = await replay(
                    offsets_ns, sender(pool), drain_timeout_s=drain_timeout_s, in_flight_cap=in_flight_cap
                )
            finally:
                await pool.close()
            return records, stub

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def assert_closes(found: Accounting) -> None:
    assert found.scheduled == found.sent + found.shed + found.never_sent
    assert found.sent == found.ok + found.errors + found.timed_out + found.in_flight


def test_each_arrival_is_sent_once_in_order_and_never_before_its_deadline() -> None:
    offsets = schedule("poisson", 1000, 1.0, seed=3)
    records, stub = play(stubs.torchserve(), offsets)
    assert records.accounting() == Accounting(len(offsets), len(offsets), 0, 0, len(offsets), 0, 0, 0)
    assert stub.requests == len(offsets)
    assert np.array_equal(records.scheduled_ns, offsets)
    assert (records.dispatch_delays_ns() >= 0).all()
    assert (records.completed_ns >= records.sent_ns).all()


def test_lateness_does_not_add_up_over_the_run() -> None:
    # 2,000 sleeps of 0.5 ms, each late by 100 µs in the median here, would end 200 ms late.
    records, _ = play(stubs.torchserve(), schedule("constant", 2000, 1.0, seed=0))
    assert np.median(records.dispatch_delays_ns()[-200:]) < 50e6


def test_response_time_counts_from_the_schedule_while_the_server_stalls() -> None:
    records, _ = play(stubs.Stalling(begin_s=0.5, stall_s=0.5), schedule("constant", 200, 1.5, seed=0))
    assert records.accounting().ok == 300
    waits_s = records.response_times_ns() / 1e9
    # Arrivals in the stall find 0.5 s, 0.495 s, … of it left: a hundred, evenly spread.
    stalled = np.sort(waits_s[100:200])
    expected = np.arange(1, 101) * 0.005
    assert np.abs(stalled - expected).mean() < 0.05
    assert 60 <= (waits_s > 0.1).sum() <= 100
    assert waits_s.max() > 0.4


def test_batch_sizes_and_execution_times_come_from_the_server() -> None:
    server = stubs.torchserve(overhead_s=0.02, per_sample_s=0.001, max_batch=4)
    records, _ = play(server, schedule("poisson", 100, 1.0, seed=1))
    assert sorted(records.batch_size) == sorted(size for size in server.batches for _ in range(size))
    assert np.array_equal(records.compute_ns, 20_000_000 + 1_000_000 * records.batch_size.astype(np.int64))


MISBEHAVIOURS: dict[str, stubs.Behaviour] = {
    "byte by byte": stubs.slow(0.001),
    "too slow": stubs.slow(0.02),
    "garbage": stubs.answering(stubs.GARBAGE),
    "cut short": stubs.answering(stubs.CUT, then_close=True),
    "closed": stubs.closing,
    "close after each": stubs.answering(stubs.CLOSE_EACH),
    "503": stubs.answering(stubs.REFUSED),
    "never answers": stubs.never,
    "stall": stubs.Stalling(begin_s=0.1, stall_s=0.2),
}
EXPECTED_CAUSE = {
    "byte by byte": "",
    "too slow": "timeout",
    "garbage": "malformed response",
    "cut short": "response cut short",
    "closed": "connection closed",
    "close after each": "",
    "503": "queue full or no workers",
    "never answers": "timeout",
    "stall": "",
}


@pytest.mark.parametrize("name", MISBEHAVIOURS)
def test_the_accounting_closes_whatever_the_server_does(name: str) -> None:
    offsets = schedule("constant", 200, 0.5, seed=0)
    records, stub = play(MISBEHAVIOURS[name], offsets, timeout_s=0.3)
    found = records.accounting()
    assert_closes(found)
    assert (found.scheduled, found.sent, found.in_flight) == (100, 100, 0)
    assert records.having(EXPECTED_CAUSE[name]).all()
    assert stub.requests == 100  # each once


def test_what_is_in_flight_after_the_drain_is_recorded_as_such() -> None:
    records, _ = play(stubs.never, schedule("constant", 200, 0.2, seed=0), drain_timeout_s=0.1)
    found = records.accounting()
    assert_closes(found)
    assert found.in_flight == 40
    assert (records.completed_ns == -1).all()
    assert (records.sent_ns >= records.scheduled_ns).all()


def test_beyond_the_cap_a_request_is_shed_and_never_reaches_the_server() -> None:
    records, stub = play(stubs.never, schedule("constant", 200, 0.2, seed=0), drain_timeout_s=0.1, in_flight_cap=7)
    found = records.accounting()
    assert_closes(found)
    assert (found.sent, found.shed, found.in_flight, stub.requests) == (7, 33, 7, 7)
    assert (records.status[records.having("shed")] == -1).all()


def test_a_full_queue_refuses_and_the_rest_is_served() -> None:
    server = stubs.torchserve(overhead_s=0.05, max_batch=2, queue_size=4)
    records, stub = play(server, schedule("constant", 200, 0.5, seed=0))
    found = records.accounting()
    assert_closes(found)
    assert found.errors == records.having("queue full or no workers").sum() > 0
    assert found.ok == sum(server.batches) > 0
    assert stub.requests == 100


def test_a_refused_connection_is_a_row() -> None:
    async def main() -> Records:
        async with stubs.serving(stubs.never) as stub:
            port = stub.port
        pool = HttpPool("127.0.0.1", port)
        records = await replay(schedule("constant", 200, 0.1, seed=0), sender(pool), drain_timeout_s=2.0)
        await pool.close()
        return records

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        records = runner.run(main())
    assert records.having("connection refused").all()
    assert_closes(records.accounting())


def test_cancellation_keeps_the_rows_so_far() -> None:
    offsets = schedule("constant", 200, 10.0, seed=0)
    recorder = Recorder(offsets)

    async def main() -> None:
        async with stubs.serving(stubs.torchserve()) as stub:
            pool = HttpPool(stub.host, stub.port)
            await pool.open(10)
            running = asyncio.ensure_future(replay(offsets, sender(pool), drain_timeout_s=1.0, recorder=recorder))
            await asyncio.sleep(0.5)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await pool.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
    found = recorder.records().accounting()
    assert_closes(found)
    assert found.ok > 0
    assert found.never_sent > 1000
