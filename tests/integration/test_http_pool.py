"""The pool against servers that behave or misbehave: one outcome for each request, never a second try."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter_ns

import pytest
import stubs
import uvloop

from bench.clients.http_pool import HttpPool
from bench.clients.outcome import Outcome
from bench.clients.torchserve_http import error_cause, executed, predict_request
from bench.errors import ServerError

REQUEST = predict_request("m", b"abc", "stub")


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await main()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(within())


def ask(behaviour: stubs.Behaviour, n: int = 1, **options: float) -> tuple[list[Outcome], stubs.StubServer]:
    """`n` requests, one after the other, over one pool."""
    found: list[Outcome] = []
    servers: list[stubs.StubServer] = []

    async def main() -> None:
        async with stubs.serving(behaviour) as stub:
            servers.append(stub)
            pool = HttpPool(stub.host, stub.port, **options)
            found.extend([await pool.request(REQUEST) for _ in range(n)])
            assert pool.in_flight == 0
            await pool.close()
            assert not pool._connections

    run(main)
    return found, servers[0]


def test_requests_one_after_the_other_share_one_connection() -> None:
    found, stub = ask(stubs.torchserve(overhead_s=0.001), n=5)
    assert [(o.status, o.body, o.cause) for o in found] == [(200, b"abc", "")] * 5
    assert found[0].headers["x-request-id"] == "1"
    assert executed(found[0]) == (1, 0.001)
    assert (stub.requests, stub.connections) == (5, 1)


def test_a_server_that_closes_after_each_answer_costs_a_connection_each_and_nothing_else() -> None:
    found, stub = ask(stubs.answering(stubs.CLOSE_EACH), n=3)
    assert [o.cause for o in found] == [""] * 3
    assert stub.connections == 3


@pytest.mark.parametrize(
    ("behaviour", "body"),
    [
        (stubs.chunked, b"abcde"),
        (stubs.slow(0.001), b"ok"),
        (stubs.answering(stubs.CONTINUED), b"ok"),
        (stubs.answering(stubs.UNTIL_CLOSE, then_close=True), b"all of it"),
        (stubs.answering(stubs.SURPLUS), b"ok"),
    ],
    ids=["chunked", "byte by byte", "after 100 Continue", "ended by the close", "followed by another"],
)
def test_an_unusual_but_whole_answer_is_read(behaviour: stubs.Behaviour, body: bytes) -> None:
    found, _ = ask(behaviour, n=2)
    assert [(o.status, o.body, o.cause) for o in found] == [(200, body, "")] * 2


@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        (stubs.answering(stubs.GARBAGE), "malformed response"),
        (stubs.answering(stubs.CUT, then_close=True), "response cut short"),
        (stubs.closing, "connection closed"),
        (stubs.never, "timeout"),
        (stubs.slow(0.02), "timeout"),
        (stubs.answering(stubs.response(200, b"x" * 5000)), "response too large"),
        (stubs.answering(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1000), "response too large"),
    ],
    ids=["garbage", "cut short", "closed", "never answers", "too slow", "large body", "endless headers"],
)
def test_no_whole_answer_is_an_outcome_with_its_cause_and_no_second_try(behaviour: stubs.Behaviour, cause: str) -> None:
    found, stub = ask(behaviour, n=2, timeout_s=0.2, max_response_bytes=4000)
    assert [(o.status, o.cause) for o in found] == [(0, cause)] * 2
    assert stub.requests == 2


def test_a_503_is_an_outcome_and_never_sent_again() -> None:
    found, stub = ask(stubs.answering(stubs.REFUSED), n=3)
    assert [(o.status, o.cause, error_cause(o)) for o in found] == [(503, "HTTP 503", "queue full or no workers")] * 3
    assert (stub.requests, stub.connections) == (3, 1)


def test_a_request_written_to_a_connection_that_is_going_is_lost_and_the_next_one_is_well() -> None:
    async def main() -> None:
        async with stubs.serving(stubs.torchserve()) as stub:
            pool = HttpPool(stub.host, stub.port)
            await pool.open(1)
            await asyncio.sleep(0.02)
            next(iter(stub.open)).transport.close()
            # No turn of the loop in between: the pool cannot know yet.
            lost = await pool.request(REQUEST)
            well = await pool.request(REQUEST)
            assert (lost.cause, well.cause, stub.requests) == ("connection closed", "", 1)
            await pool.close()

    run(main)


def test_an_idle_connection_that_the_server_closed_is_not_used() -> None:
    async def main() -> None:
        async with stubs.serving(stubs.torchserve()) as stub:
            pool = HttpPool(stub.host, stub.port)
            await pool.open(3)
            await asyncio.sleep(0.02)
            for connection in tuple(stub.open):
                connection.transport.close()
            await asyncio.sleep(0.02)
            assert (await pool.request(REQUEST)).cause == ""
            assert stub.connections == 4
            await pool.close()

    run(main)


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one() -> None:
    async def main() -> None:
        async with stubs.serving(stubs.torchserve()) as stub:
            pool = HttpPool(stub.host, stub.port)
            await pool.open(1)
            await asyncio.sleep(0.02)
            next(iter(stub.open)).write(stubs.response(200, b"stale"))
            await asyncio.sleep(0.02)
            assert (await pool.request(REQUEST)).body == b"abc"
            await pool.close()

    run(main)


def test_open_opens_ahead_and_requests_in_flight_each_have_a_connection() -> None:
    async def main() -> None:
        async with stubs.serving(stubs.torchserve(overhead_s=0.05, max_batch=200)) as stub:
            pool = HttpPool(stub.host, stub.port)
            await pool.open(100)
            assert len(pool._connections) == 100
            answers = [asyncio.ensure_future(pool.request(REQUEST)) for _ in range(120)]
            await asyncio.sleep(0)
            assert pool.in_flight == 120
            assert [o.cause for o in await asyncio.gather(*answers)] == [""] * 120
            assert stub.requests == 120
            assert 100 <= stub.connections <= 120
            await pool.close()

    run(main)


def test_a_refused_connection_is_an_outcome_of_each_request_and_an_error_of_open() -> None:
    async def main() -> None:
        async with stubs.serving(stubs.never) as stub:
            port = stub.port
        pool = HttpPool("127.0.0.1", port)
        found = await asyncio.gather(*(pool.request(REQUEST) for _ in range(5)))
        assert [(o.status, o.cause) for o in found] == [(0, "connection refused")] * 5
        with pytest.raises(
            ServerError, match="expected to open 4 connections, found 0 open and then: connection refused"
        ):
            await pool.open(4)
        await pool.close()

    run(main)


def test_closing_the_pool_ends_what_is_in_flight_once() -> None:
    calls: list[str] = []

    async def main() -> None:
        async with stubs.serving(stubs.never) as stub:
            pool = HttpPool(stub.host, stub.port)
            await pool.open(1)
            for _ in range(3):  # one is written, two wait for a connection
                pool.send(REQUEST, lambda outcome, _sent, _completed: calls.append(outcome.cause))
            await pool.close()
            await pool.close()
            with pytest.raises(RuntimeError, match="closed"):
                pool.send(REQUEST, lambda *_: None)

    run(main)
    assert calls == ["pool closed"] * 3


@pytest.mark.parametrize("turns", range(12))
def test_the_pool_closes_whatever_stage_its_connects_are_in(turns: int) -> None:
    calls: list[str] = []

    async def main() -> None:
        async with stubs.serving(stubs.never) as stub:
            pool = HttpPool(stub.host, stub.port)
            for _ in range(100):
                pool.send(REQUEST, lambda outcome, _sent, _completed: calls.append(outcome.cause))
            for _ in range(turns):
                await asyncio.sleep(0)
            async with asyncio.timeout(5):
                await pool.close()

    run(main)
    assert calls == ["pool closed"] * 100


def test_done_may_send_again_at_once_and_times_are_in_order() -> None:
    times: list[int] = []

    async def main() -> None:
        async with stubs.serving(stubs.torchserve()) as stub:
            pool = HttpPool(stub.host, stub.port)
            await pool.open(1)
            over = asyncio.get_running_loop().create_future()

            def done(_outcome: Outcome, sent_ns: int, completed_ns: int) -> None:
                times.extend((sent_ns, completed_ns))
                if len(times) < 20:
                    pool.send(REQUEST, done)
                else:
                    over.set_result(None)

            times.append(perf_counter_ns())
            pool.send(REQUEST, done)
            await over
            assert (stub.requests, stub.connections) == (10, 1)
            await pool.close()

    run(main)
    assert times == sorted(times)


def test_a_large_body_goes_out_whole() -> None:
    async def main() -> None:
        body = bytes(range(256)) * 20_000
        async with stubs.serving(stubs.torchserve()) as stub:
            pool = HttpPool(stub.host, stub.port)
            found = await asyncio.gather(*(pool.request(predict_request("m", body, stub.address)) for _ in range(3)))
            assert all(o.body == body for o in found)
            await pool.close()

    run(main)
