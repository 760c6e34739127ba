"""`load` over gRPC at a server that refuses calls, ends its connections, or is away for a while."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc_stubs
import pytest
from grpc import StatusCode
from load_command import Loaded, in_thread, load
from scripted import Scripted

OPTIONS = ("--protocol", "grpc", "--rate", "200", "--duration", "2s", "--warmup", "0s", "--arrivals", "constant")
CLOSED, REFUSED = "connection closed", "connection refused"
UNAVAILABLE, QUEUE_FULL = "gRPC UNAVAILABLE", "queue full or no workers"
OK = grpc_stubs.torchserve


def served(folder: Path, behaviour: grpc_stubs.Behaviour, **limits: int) -> tuple[Loaded, grpc_stubs.StubServer]:
    with in_thread(grpc_stubs.serving(behaviour, **limits)) as stub:
        return load(folder, stub.port, *OPTIONS), stub


@asynccontextmanager
async def away_for_a_while(behaviour: Scripted, after: int, seconds: float) -> AsyncIterator[grpc_stubs.StubServer]:
    """A server that is stopped after so many calls, and one on its port so many seconds later."""
    ended = asyncio.Event()
    first = grpc_stubs.serving(behaviour)
    stub = await first.__aenter__()

    async def run() -> None:
        while behaviour.did.total() < after and not ended.is_set():
            await asyncio.sleep(0.002)
        await first.__aexit__(None, None, None)
        await asyncio.sleep(seconds)
        async with grpc_stubs.serving(behaviour, stub.port):
            await ended.wait()

    running = asyncio.ensure_future(run())
    yield stub
    ended.set()
    await running


def test_calls_that_the_server_refuses_are_counted_by_cause_and_never_retried(tmp_path: Path) -> None:
    kinds = {
        "": OK,
        UNAVAILABLE: grpc_stubs.refusing(StatusCode.UNAVAILABLE, "busy"),
        QUEUE_FULL: grpc_stubs.refusing(StatusCode.INTERNAL, 'Model "m" has no worker to serve inference request.'),
    }
    server = Scripted(kinds, lambda n: {9: UNAVAILABLE, 49: QUEUE_FULL}.get(n % 50, ""))
    found, stub = served(tmp_path, server)
    assert found.causes == server.did == {"": 384, UNAVAILABLE: 8, QUEUE_FULL: 8}
    assert len(stub.methods) == 400
    statuses = dict(zip(found.rows["cause"], found.rows["status"], strict=True))
    assert statuses == {"": 200, UNAVAILABLE: 503, QUEUE_FULL: 500}
    for cause in (UNAVAILABLE, QUEUE_FULL):
        assert f"8 × {cause}" in found.errors


def test_connections_that_the_server_ends_in_order_cost_no_answer(tmp_path: Path) -> None:
    server = Scripted({"": grpc_stubs.answering(b"", after_s=0.005)}, lambda _: "")
    found, stub = served(tmp_path, server, max_connection_age_ms=300)
    assert len(stub.peers) > 4
    # A call that goes out while the server's GOAWAY comes in may be lost with the connection.
    lost = found.causes[CLOSED]
    assert lost < 20
    assert found.causes[""] == server.did[""] == 400 - lost


def test_calls_that_end_with_an_aged_connection_are_no_answer_of_the_server(tmp_path: Path) -> None:
    server = Scripted({"": grpc_stubs.answering(b"", after_s=0.2)}, lambda _: "")
    found, _ = served(tmp_path, server, max_connection_age_ms=300, max_connection_age_grace_ms=50)
    assert set(found.causes) == {"", CLOSED}
    assert found.causes[CLOSED] > 50


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> tuple[Loaded, Scripted]:
    server = Scripted({"": OK}, lambda _: "")
    with in_thread(away_for_a_while(server, after=100, seconds=0.3)) as stub:
        return load(tmp_path_factory.mktemp("away"), stub.port, *OPTIONS), server


def test_a_server_that_is_away_for_a_while_costs_what_was_sent_meanwhile(away: tuple[Loaded, Scripted]) -> None:
    found, server = away
    causes = found.causes
    assert set(causes) <= {"", CLOSED, REFUSED}
    assert causes[REFUSED] > 10
    assert server.did[""] - 5 <= causes[""] <= server.did[""]  # a few answers may have been cut off by the stop
    assert (found.rows["cause"].iloc[-20:] == "").all()  # it is found again within a second
    assert f"{causes[REFUSED]} × {REFUSED}" in found.errors


def test_grpc_itself_writes_nothing_between_the_lines_of_progress(away: tuple[Loaded, Scripted]) -> None:
    found, _ = away
    assert [line for line in found.err.splitlines() if "200/s asked" not in line] == []
