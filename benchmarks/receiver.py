"""A server with nothing behind it: answers Triton's HTTP protocol at once and keeps when each request arrived."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter_ns
from typing import cast

from benchmarks.arrival_log import ArrivalLog
from benchmarks.null_model import MODEL, OUTPUT, TENSOR, WIDTH
from benchmarks.receiver_control import control_answer
from benchmarks.receiver_process import run_receiver

HEADS_KEPT = 1024

_INFER = f"POST /v2/models/{MODEL}/infer ".encode()
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_ID = b'"id":"'


class Connection(asyncio.Protocol):
    """Takes requests whole, in pieces or several at once; each is stamped when its first byte was read."""

    def __init__(self, log: ArrivalLog, heads: dict[bytes, tuple[bool, int]]) -> None:
        self._log, self._heads = log, heads
        self._rest = b""
        self._began_ns = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        began = perf_counter_ns()
        if self._rest:
            data = self._rest + data
            began = self._began_ns
        at = 0
        while at < len(data):
            body_at = data.find(b"\r\n\r\n", at) + 4
            if body_at < 4:
                break
            infer, length = self._head(data[at:body_at])
            end = body_at + length
            if end > len(data):
                break
            if infer:
                self._log.arrived(began)
                self._transport.write(infer_answer(data[body_at:end]))
            else:
                self._transport.write(control_answer(data[at : data.index(b"\r\n", at)], self._log.count))
            at = end
        self._rest, self._began_ns = data[at:], began

    def _head(self, head: bytes) -> tuple[bool, int]:
        """(whether it asks for an inference, length of its body); a client's heads are few, so they are kept."""
        known = self._heads.get(head)
        if known is None:
            length = _LENGTH.search(head)
            known = head.startswith(_INFER), int(length[1]) if length else 0
            if len(self._heads) < HEADS_KEPT:
                self._heads[head] = known
        return known


def infer_answer(body: bytes) -> bytes:
    """One output of zeros; the request's id comes back, by which perf_analyzer tells its answers apart."""
    at = body.find(_ID)
    if at < 0:
        return _PLAIN_ANSWER
    at += len(_ID)
    return _infer_answer(body[at : body.index(b'"', at)])


def _infer_answer(request_id: bytes) -> bytes:
    head = b'{"id":"%b",%b' % (request_id, _ANSWER_TAIL)
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nInference-Header-Content-Length: %d\r\n"
        b"Content-Length: %d\r\n\r\n%b%b"
    ) % (len(head), len(head) + len(TENSOR), head, TENSOR)


_ANSWER_TAIL = (
    b'"model_name":"%b","model_version":"1","outputs":[{"name":"%b","datatype":"FP32","shape":[1,%d],'
    b'"parameters":{"binary_data_size":%d}}]}'
) % (MODEL.encode(), OUTPUT.encode(), WIDTH, len(TENSOR))
_PLAIN_ANSWER = _infer_answer(b"")


@asynccontextmanager
async def serving(log: ArrivalLog) -> AsyncIterator[int]:
    """On a free port of 127.0.0.1, which it gives."""
    heads: dict[bytes, tuple[bool, int]] = {}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(log, heads), "127.0.0.1", 0, backlog=1024)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


if __name__ == "__main__":
    run_receiver(serving, __doc__)
