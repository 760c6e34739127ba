"""Stub gRPC servers on 127.0.0.1, in the event loop of their test: what a method does is a `Behaviour`.

Messages are the bytes as they came. Any method of any service is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

import grpc
import grpc.aio
from tritonclient.grpc import service_pb2 as pb

from bench.clients import torchserve_grpc

Behaviour = Callable[[bytes, grpc.aio.ServicerContext], Awaitable[bytes]]


class StubServer(grpc.GenericRpcHandler):
    """`methods` are those that were called, in order; `peers` the connections that they came over."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.methods: list[str] = []
        self.peers: set[str] = set()
        self.host, self.port = "127.0.0.1", 0

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        self.methods.append(details.method)
        return grpc.unary_unary_rpc_method_handler(self._answer)

    async def _answer(self, request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        self.peers.add(context.peer())
        return await self.behaviour(request, context)


@asynccontextmanager
async def serving(behaviour: Behaviour, port: int = 0, **limits: int) -> AsyncIterator[StubServer]:
    """limits: of gRPC's server, such as max_concurrent_streams, which holds for one connection."""
    stub = StubServer(behaviour)
    arguments = {"so_reuseport": 0, "max_receive_message_length": -1, "max_send_message_length": -1, **limits}
    server = grpc.aio.server(options=[(f"grpc.{name}", value) for name, value in arguments.items()])
    server.add_generic_rpc_handlers((stub,))
    stub.port = server.add_insecure_port(f"{stub.host}:{port}")
    await server.start()
    try:
        yield stub
    finally:
        await server.stop(None)


class Plain(asyncio.Protocol):
    """A connection of a server that speaks no HTTP/2: `answer` to whatever comes first, then the end if `ends`."""

    def __init__(self, answer: bytes, ends: bool) -> None:
        self.answer, self.ends = answer, ends

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, _data: bytes) -> None:
        self.transport.write(self.answer)
        if self.ends:
            self.transport.close()


@asynccontextmanager
async def speaking_no_grpc(answer: bytes, *, ends: bool) -> AsyncIterator[int]:
    """Gives the port."""
    opened: list[Plain] = []

    def accept() -> Plain:
        opened.append(Plain(answer, ends))
        return opened[-1]

    server = await asyncio.get_running_loop().create_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for plain in opened:
            plain.transport.abort()
        await server.wait_closed()
        await asyncio.sleep(0.01)


async def echo(request: bytes, _context: grpc.aio.ServicerContext) -> bytes:
    return request


async def never(_request: bytes, _context: grpc.aio.ServicerContext) -> bytes:
    await asyncio.Event().wait()
    raise AssertionError


def answering(message: bytes, after_s: float = 0.0) -> Behaviour:
    async def behave(_request: bytes, _context: grpc.aio.ServicerContext) -> bytes:
        await asyncio.sleep(after_s)
        return message

    return behave


def refusing(code: grpc.StatusCode, text: str) -> Behaviour:
    async def behave(_request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        await context.abort(code, text)
        raise AssertionError

    return behave


async def triton(request: bytes, _context: grpc.aio.ServicerContext) -> bytes:
    """Each input comes back under the name of the output asked for at its place."""
    asked = pb.ModelInferRequest.FromString(request)
    response = pb.ModelInferResponse(model_name=asked.model_name, raw_output_contents=asked.raw_input_contents)
    for given, wanted in zip(asked.inputs, asked.outputs, strict=True):
        response.outputs.add(name=wanted.name, datatype=given.datatype, shape=given.shape)
    message: bytes = response.SerializeToString()
    return message


async def torchserve(request: bytes, _context: grpc.aio.ServicerContext) -> bytes:
    asked = torchserve_grpc.PredictionsRequest.FromString(request)
    message: bytes = torchserve_grpc.PredictionResponse(prediction=asked.input["data"]).SerializeToString()
    return message
