"""The gRPC pool against servers that behave or misbehave, on both kinds of event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from time import perf_counter, perf_counter_ns

import grpc_stubs
import pytest
import uvloop
from grpc import StatusCode

from bench.clients.grpc_pool import GrpcPool
from bench.clients.outcome import Outcome
from bench.errors import ServerError

METHOD = "/package.Service/Method"
Run = Callable[[Callable[[], Awaitable[None]]], None]


@pytest.fixture(params=["uvloop", "asyncio"])
def run(request: pytest.FixtureRequest) -> Run:
    factory = {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}[request.param]

    def within(main: Callable[[], Awaitable[None]]) -> None:
        async def bounded() -> None:
            await asyncio.wait_for(main(), 20)

        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(bounded())

    return within


def unused_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


async def ask(behaviour: grpc_stubs.Behaviour, **options: float) -> Outcome:
    async with grpc_stubs.serving(behaviour) as stub:
        pool = GrpcPool(stub.host, stub.port, METHOD, **options)
        found = await pool.request(b"abc")
        assert pool.in_flight == 0
        await pool.close()
        return found


def test_the_bytes_of_a_message_go_to_the_method_and_back(run: Run) -> None:
    async def main() -> None:
        async with grpc_stubs.serving(grpc_stubs.echo) as stub:
            pool = GrpcPool(stub.host, stub.port, METHOD)
            for message in (b"\x00\xff", b"", bytes(5_000_000)):
                assert await pool.request(message) == Outcome(200, {}, message, "")
            assert stub.methods == [METHOD] * 3
            await pool.close()

    run(main)


def test_requests_take_turns_on_connections_of_their_own(run: Run) -> None:
    async def main() -> None:
        async with grpc_stubs.serving(grpc_stubs.echo) as stub:
            pools = [GrpcPool(stub.host, stub.port, METHOD, channels=3) for _ in range(2)]
            for pool in pools:
                await pool.open(32)
                await asyncio.gather(*(pool.request(b"a") for _ in range(6)))
            assert len(stub.peers) == 6
            for pool in pools:
                await pool.close()

    run(main)


def test_a_servers_limit_of_streams_holds_for_each_channel_alone(run: Run) -> None:
    async def main() -> None:
        inside = 0
        eight_inside = asyncio.Event()

        async def behave(request: bytes, _context: object) -> bytes:
            nonlocal inside
            inside += 1
            if inside == 8:
                eight_inside.set()
            await eight_inside.wait()
            return request

        async with grpc_stubs.serving(behave, max_concurrent_streams=2) as stub:
            pool = GrpcPool(stub.host, stub.port, METHOD, channels=4, timeout_s=5)
            await pool.open(4)
            found = await asyncio.gather(*(pool.request(b"a") for _ in range(8)))
            assert [outcome.cause for outcome in found] == [""] * 8
            await pool.close()

    run(main)


def test_done_is_called_once_after_send_with_the_times_in_order(run: Run) -> None:
    async def main() -> None:
        async with grpc_stubs.serving(grpc_stubs.answering(b"ok", after_s=0.05)) as stub:
            pool = GrpcPool(stub.host, stub.port, METHOD)
            await pool.open(1)
            told: list[tuple[Outcome, int, int]] = []
            before = perf_counter_ns()
            for _ in range(100):
                pool.send(b"", lambda *outcome: told.append(outcome))
            assert (told, pool.in_flight) == ([], 100)
            while pool.in_flight:
                await asyncio.sleep(0.01)
            assert len(told) == 100
            assert all(before <= sent <= completed - 50_000_000 for _, sent, completed in told)
            await pool.close()

    run(main)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (StatusCode.UNAVAILABLE, 503),
        (StatusCode.INTERNAL, 500),
        (StatusCode.RESOURCE_EXHAUSTED, 429),
        (StatusCode.NOT_FOUND, 404),
        (StatusCode.INVALID_ARGUMENT, 400),
        (StatusCode.UNIMPLEMENTED, 501),
    ],
)
def test_an_error_of_the_server_is_an_answer_with_its_text(run: Run, code: StatusCode, status: int) -> None:
    async def main() -> None:
        found = await ask(grpc_stubs.refusing(code, "Exceeds maximum queue size"))
        assert (found.status, found.body, found.cause) == (status, b"Exceeds maximum queue size", f"gRPC {code.name}")

    run(main)


def test_a_server_that_never_answers_is_a_timeout_and_the_next_request_is_served(run: Run) -> None:
    async def main() -> None:
        first = True

        async def behave(request: bytes, context: object) -> bytes:
            nonlocal first
            if first:
                first = False
                await asyncio.sleep(5)
            return request

        async with grpc_stubs.serving(behave) as stub:
            pool = GrpcPool(stub.host, stub.port, METHOD, timeout_s=0.3)
            began = perf_counter()
            assert await pool.request(b"a") == Outcome(0, {}, b"", "timeout")
            assert 0.3 <= perf_counter() - began < 1
            assert (await pool.request(b"b")).body == b"b"
            assert len(stub.methods) == 2
            await pool.close()

    run(main)


def test_a_server_that_goes_ends_its_requests_and_one_that_is_back_is_found(run: Run) -> None:
    async def main() -> None:
        async with grpc_stubs.serving(grpc_stubs.never) as stub:
            pool = GrpcPool(stub.host, stub.port, METHOD)
            waiting = asyncio.ensure_future(pool.request(b"a"))
            while not stub.peers:
                await asyncio.sleep(0.01)
        assert await waiting == Outcome(0, {}, b"", "connection closed")
        assert stub.methods == [METHOD]
        for _ in range(8):
            assert (await pool.request(b"b")).cause == "connection refused"
        async with grpc_stubs.serving(grpc_stubs.echo, stub.port):
            while (found := await pool.request(b"c")).cause == "connection refused":
                await asyncio.sleep(0.05)
            assert found.body == b"c"
            await pool.close()

    run(main)


def test_channels_to_nobody_are_not_opened(run: Run) -> None:
    async def main() -> None:
        pool = GrpcPool("127.0.0.1", unused_port(), METHOD)
        with pytest.raises(
            ServerError, match=r"expected to open 4 gRPC channels, found 0 open and then: connection ref"
        ):
            await pool.open(32)
        assert (await pool.request(b"")).cause == "connection refused"
        await pool.close()

    run(main)


@pytest.mark.parametrize(
    ("answer", "ends", "cause"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", False, "malformed response"),
        (b"", True, "connection failed"),
        (b"", False, "timeout"),
    ],
)
def test_a_server_that_speaks_no_grpc_is_a_failed_request(run: Run, answer: bytes, ends: bool, cause: str) -> None:
    async def main() -> None:
        async with grpc_stubs.speaking_no_grpc(answer, ends=ends) as port:
            pool = GrpcPool("127.0.0.1", port, METHOD, timeout_s=0.5)
            found = await pool.request(b"a")
            assert (found.status, found.cause) == (0, cause)
            with pytest.raises(ServerError, match=f"and then: {cause}"):
                await pool.open(2)
            await pool.close()

    run(main)


def test_an_answer_over_the_limit_is_not_taken(run: Run) -> None:
    async def main() -> None:
        assert (await ask(grpc_stubs.answering(bytes(2000)), max_response_bytes=1000)).cause == "response too large"
        assert (await ask(grpc_stubs.answering(bytes(10_000_000)))).body == bytes(10_000_000)

    run(main)


def test_closing_ends_every_request_those_handed_over_a_moment_ago_too(run: Run) -> None:
    async def main() -> None:
        async with grpc_stubs.serving(grpc_stubs.never) as stub:
            pool = GrpcPool(stub.host, stub.port, METHOD)
            causes: list[str] = []
            for _ in range(3):
                pool.send(b"", lambda outcome, _sent, _completed: causes.append(outcome.cause))
            while len(stub.methods) < 3:
                await asyncio.sleep(0.01)
            pool.send(b"", lambda outcome, _sent, _completed: causes.append(outcome.cause))
            await pool.close()
            assert (causes, pool.in_flight) == (["pool closed"] * 4, 0)
            with pytest.raises(RuntimeError, match="this GrpcPool is closed"):
                pool.send(b"", lambda *_: None)
            await pool.close()

    run(main)
