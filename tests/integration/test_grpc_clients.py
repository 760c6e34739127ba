"""The clients of both servers over gRPC, as `make` gives them, against stubs that speak the same protocols."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import grpc_stubs
import numpy as np
import pytest
import uvloop
from grpc import StatusCode

from bench.clients import PROTOCOLS, make
from bench.clients.outcome import Outcome
from bench.scenario.kinds import LIMITS

METHODS = {
    "triton": "/inference.GRPCInferenceService/ModelInfer",
    "torchserve": "/org.pytorch.serve.grpc.inference.InferenceAPIsService/Predictions",
}


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await main()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(within())


@pytest.mark.parametrize("kind", ["triton", "torchserve"])
def test_rows_go_out_and_answers_come_back(kind: str) -> None:
    async def main() -> None:
        async with grpc_stubs.serving(getattr(grpc_stubs, kind)) as stub:
            ports = {name: stub.port if name in ("grpc", "grpc_inference") else 1 for name in LIMITS[kind].ports}
            client, pool = make(kind, "grpc", stub.host, ports, "IN", "OUT")
            rows = np.array([[1.5, -2.0, 3.0]], np.float32)
            outcome = await pool.request(client.request("m", rows))
            assert np.array_equal(client.answers(outcome), rows)
            assert (client.executed(outcome), client.cause(outcome)) == (None, "")
            assert stub.methods == [METHODS[kind]]
            await pool.close()

    run(main)


@pytest.mark.parametrize(
    ("kind", "code", "text", "cause"),
    [
        ("triton", StatusCode.UNAVAILABLE, "Exceeds maximum queue size", "queue full"),
        (
            "torchserve",
            StatusCode.INTERNAL,
            'Model "m" has no worker to serve inference request.\nInternalServerException.()',
            "queue full or no workers",
        ),
    ],
)
def test_a_full_queue_is_told_as_such(kind: str, code: StatusCode, text: str, cause: str) -> None:
    async def main() -> None:
        async with grpc_stubs.serving(grpc_stubs.refusing(code, text)) as stub:
            client, pool = make(kind, "grpc", stub.host, {PROTOCOLS[kind]["grpc"].port: stub.port}, "IN", "OUT")
            assert client.cause(await pool.request(client.request("m", np.zeros((1, 3), np.float32)))) == cause
            await pool.close()

    run(main)


def test_both_protocols_of_a_kind_take_as_many_rows() -> None:
    for kind, protocols in PROTOCOLS.items():
        clients = [spoken.client("127.0.0.1", 1, "IN", "OUT") for spoken in protocols.values()]
        assert len({client.takes_rows for client in clients}) == 1
        assert {spoken.port for spoken in protocols.values()} <= set(LIMITS[kind].ports)
        assert all(client.cause(Outcome(0, {}, b"", "timeout")) == "timeout" for client in clients)
