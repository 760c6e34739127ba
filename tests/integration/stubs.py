"""Stub servers on 127.0.0.1: which answer as Triton and TorchServe do, or misbehave in a known way.

A stub runs in the event loop of its test. What it does with a request is a `Behaviour`; it counts what it is
sent.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from httptools import HttpRequestParser

REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
QUEUE_FULL = (
    b'{"code":503,"type":"ServiceUnavailableException",'
    b'"message":"Model \\"m\\" has no worker to serve inference request."}'
)


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes


Behaviour = Callable[["StubConnection", Request], None]
Answer = Callable[[Request, int, int], bytes]
"""(request, batch size, execution time in ns) -> the bytes of the whole response."""


class StubServer:
    """A listening stub. `requests` counts whole requests, `connections` those ever accepted."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.requests = self.connections = 0
        self.open: set[StubConnection] = set()
        self.host, self.port = "127.0.0.1", 0

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


@asynccontextmanager
async def serving(behaviour: Behaviour) -> AsyncIterator[StubServer]:
    stub = StubServer(behaviour)
    server = await asyncio.get_running_loop().create_server(lambda: StubConnection(stub), stub.host, 0, backlog=1024)
    stub.port = server.sockets[0].getsockname()[1]
    try:
        yield stub
    finally:
        server.close()
        for connection in tuple(stub.open):
            connection.transport.abort()
        await server.wait_closed()
        await asyncio.sleep(0.01)


class StubConnection(asyncio.Protocol):
    def __init__(self, stub: StubServer) -> None:
        self.stub = stub
        self.parser = HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.stub.open.add(self)
        self.stub.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.stub.open.discard(self)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_begin(self) -> None:
        self.path, self.headers, self.body = "", {}, []

    def on_url(self, url: bytes) -> None:
        self.path += url.decode()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode().lower()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self.body.append(body)

    def on_message_complete(self) -> None:
        self.stub.requests += 1
        self.stub.behaviour(self, Request(self.path, self.headers, b"".join(self.body)))

    def write(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)


def response(status: int, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    lines = {"Content-Length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} {REASONS.get(status, 'Other')}\r\n{head}\r\n".encode() + body


# ---- servers that behave


class Batching:
    """One instance that executes all that waits, up to `max_batch`, in `overhead_s + batch · per_sample_s`.

    Batches form from backlog alone, as Triton's do at delay 0. More than `queue_size` waiting: `refusal`.
    """

    def __init__(
        self,
        answer: Answer,
        *,
        overhead_s: float = 0.0,
        per_sample_s: float = 0.0,
        max_batch: int = 8,
        queue_size: int = 1_000_000,
        refusal: bytes = b"",
    ) -> None:
        self.answer, self.overhead_s, self.per_sample_s = answer, overhead_s, per_sample_s
        self.max_batch, self.queue_size, self.refusal = max_batch, queue_size, refusal
        self.batches: list[int] = []
        self._queue: deque[tuple[StubConnection, Request]] = deque()
        self._running = False

    def __call__(self, connection: StubConnection, request: Request) -> None:
        if len(self._queue) >= self.queue_size:
            connection.write(self.refusal)
            return
        self._queue.append((connection, request))
        if not self._running:
            self._execute()

    def _execute(self) -> None:
        batch = [self._queue.popleft() for _ in range(min(self.max_batch, len(self._queue)))]
        self._running = bool(batch)
        if batch:
            self.batches.append(len(batch))
            seconds = self.overhead_s + self.per_sample_s * len(batch)
            if seconds:
                asyncio.get_running_loop().call_later(seconds, self._reply, batch, int(seconds * 1e9))
            else:
                self._reply(batch, 0)

    def _reply(self, batch: list[tuple[StubConnection, Request]], ns: int) -> None:
        for connection, request in batch:
            connection.write(self.answer(request, len(batch), ns))
        self._execute()


def triton_answer(request: Request, _batch: int, _ns: int) -> bytes:
    """Each input comes back under the name of the output asked for at its place."""
    length = int(request.headers["inference-header-content-length"])
    asked = json.loads(request.body[:length])
    outputs = [{**given, "name": out["name"]} for given, out in zip(asked["inputs"], asked["outputs"], strict=True)]
    head = json.dumps({"model_name": request.path.split("/")[3], "model_version": "1", "outputs": outputs}).encode()
    headers = {"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(len(head))}
    return response(200, head + request.body[length:], headers)


def torchserve_answer(request: Request, batch: int, ns: int) -> bytes:
    return response(200, request.body, {"x-request-id": "1", "X-Batch-Size": str(batch), "X-Handler-Time-Ns": str(ns)})


def triton(**service: float) -> Batching:
    return Batching(triton_answer, refusal=response(503, b'{"error":"Exceeds maximum queue size"}'), **service)


def torchserve(**service: float) -> Batching:
    return Batching(torchserve_answer, refusal=response(503, QUEUE_FULL), **service)


class Stalling:
    """Answers at once, but for one freeze of `stall_s` from the first request after `begin_s` on."""

    def __init__(self, begin_s: float, stall_s: float) -> None:
        self.begin_s, self.stall_s = begin_s, stall_s
        self.first_s = self.until_s = 0.0

    def __call__(self, connection: StubConnection, request: Request) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        self.first_s = self.first_s or now
        if not self.until_s and now >= self.first_s + self.begin_s:
            self.until_s = now + self.stall_s
        answer = torchserve_answer(request, 1, 0)
        if now < self.until_s:
            loop.call_later(self.until_s - now, connection.write, answer)
        else:
            connection.write(answer)


# ---- servers that misbehave


def answering(raw: bytes, *, then_close: bool = False) -> Behaviour:
    """Always these bytes, whole responses or not."""

    def behave(connection: StubConnection, request: Request) -> None:
        connection.write(raw)
        if then_close:
            connection.transport.close()

    return behave


def never(connection: StubConnection, request: Request) -> None:
    """No answer, and the connection stays."""


def closing(connection: StubConnection, request: Request) -> None:
    """No answer, and the connection goes."""
    connection.transport.close()


def slow(byte_s: float) -> Behaviour:
    """A right answer, one byte at a time."""

    def behave(connection: StubConnection, request: Request) -> None:
        def write_from(at: int) -> None:
            connection.write(raw[at : at + 1])
            if at + 1 < len(raw):
                asyncio.get_running_loop().call_later(byte_s, write_from, at + 1)

        raw = response(200, b"ok")
        write_from(0)

    return behave


def chunked(connection: StubConnection, request: Request) -> None:
    connection.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    asyncio.get_running_loop().call_later(0.005, connection.write, b"2\r\nde\r\n0\r\n\r\n")


OK = response(200, b"ok")
CUT = response(200, b"0123456789")[:-4]
GARBAGE = b"\x00\x01 this is no HTTP\r\n\r\n"
REFUSED = response(503, QUEUE_FULL)
CLOSE_EACH = response(200, b"ok", {"Connection": "close"})
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\n\r\nall of it"
SURPLUS = OK + b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold"
CONTINUED = b"HTTP/1.1 100 Continue\r\n\r\n" + OK
