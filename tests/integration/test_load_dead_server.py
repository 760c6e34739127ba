"""`load` where no server is, where it dies meanwhile, and where it never answers."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc_stubs
import pytest
import stubs
from load_command import finish, in_thread, load, start
from scripted import Scripted, resetting

TIMEOUT_S = 3
CLOSED, REFUSED, TIMEOUT = "connection closed", "connection refused", "timeout"


class Mortal:
    """Answers so many requests, keeps the next ten waiting, and then listens no more and resets every connection."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.port = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        stub = stubs.StubServer(self)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: stubs.StubConnection(stub), stub.host, 0, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]
        yield
        self._server.close()
        await self._server.wait_closed()

    def __call__(self, connection: stubs.StubConnection, request: stubs.Request) -> None:
        if connection.stub.requests <= self.answers:
            connection.write(stubs.OK)
        elif connection.stub.requests == self.answers + 10:
            self._server.close()
            for each in tuple(connection.stub.open):
                resetting(each, request)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_that_dies_meanwhile_leaves_every_row_and_a_cause_for_each(tmp_path: Path, workers: str) -> None:
    server = Mortal(answers=300)
    options = ("--rate", "200", "--duration", "3s", "--warmup", "0s", "--arrivals", "constant", "--workers", workers)
    with in_thread(server.serving()):
        found = load(tmp_path, server.port, *options)
    causes = found.causes
    assert set(causes) == {"", CLOSED, REFUSED}
    assert causes[""] == 300
    assert 10 <= causes[CLOSED] < 50  # a connection is found closed when it is next used, or before
    assert causes.total() == 600
    assert found.rows["cause"].iloc[-1] == REFUSED
    assert found.code in (1, 4)  # 4 where the machine was too busy to send in time
    for cause in (CLOSED, REFUSED):
        assert f"{causes[cause]} × {cause}" in found.errors
    assert found.told["response_p99_s"] > 0
    assert found.seconds < 3 + 15


def nobodys_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port: int = unused.getsockname()[1]
    return port


@pytest.mark.parametrize("workers", ["1", "2"])
def test_without_a_server_it_ends_with_3_and_one_line_says_why(tmp_path: Path, workers: str) -> None:
    process = start(tmp_path, nobodys_port(), "--rate", "200", "--duration", "1s", "--workers", workers)
    out, err = process.communicate(timeout=60)
    told = json.loads(out)
    assert process.returncode == told["exit_code"] == 3
    assert REFUSED in told["verdict"]
    assert err == f"Error: {told['verdict']}\n"


def test_without_a_server_no_run_is_left_that_cannot_be_read(tmp_path: Path) -> None:
    process = start(tmp_path, nobodys_port(), "--rate", "200", "--duration", "1s")
    process.communicate(timeout=60)
    assert process.returncode == 3
    runs = list((tmp_path / "results").glob("*/*"))
    assert [run for run in runs if not (run / "manifest.json").exists()] == []


def test_a_server_that_never_answers_is_given_up_with_a_cause_for_each_request(tmp_path: Path) -> None:
    lost = Scripted(
        {"": grpc_stubs.torchserve, TIMEOUT: grpc_stubs.never}, lambda n: TIMEOUT if n % 10 == 9 and n < 50 else ""
    )
    silent = Scripted({TIMEOUT: stubs.never}, lambda _: TIMEOUT)
    plan = ("--rate", "50", "--duration", "2s", "--warmup", "0s", "--arrivals", "constant")
    options = (*plan, "--timeout", f"{TIMEOUT_S}s")
    with in_thread(stubs.serving(silent)) as http, in_thread(grpc_stubs.serving(lost)) as grpc:
        both = start(tmp_path, http.port, *options), start(tmp_path, grpc.port, *options, "--protocol", "grpc")
        by_http, by_grpc = (finish(tmp_path, process) for process in both)
    assert lost.did == by_grpc.causes == {"": 95, TIMEOUT: 5}
    assert by_grpc.errors == f"5 × {TIMEOUT}"

    assert silent.did == {TIMEOUT: 100}  # each was sent once
    causes = by_http.causes
    assert causes == {TIMEOUT: 100}
    assert f"{causes[TIMEOUT]} × {TIMEOUT}" in by_http.errors
    assert (by_http.told["completed"], by_http.told["errors"]) == (0, 100)
    assert by_http.told["response_p50_s"] is None
    for found in (by_http, by_grpc):
        waited_s = (found.rows["completed_s"] - found.rows["sent_s"])[found.rows["cause"] == TIMEOUT]
        assert waited_s.between(TIMEOUT_S - 0.01, TIMEOUT_S + 1).all()
        assert found.code in (1, 4)
        assert found.seconds < 2 + TIMEOUT_S + 5
