"""A server with nothing behind it: answers Triton's HTTP protocol at once and keeps when each request arrived.

A process of its own, so that its CPU is apart from the generator's. It prints `{"port": …}`, serves until its
standard input ends or SIGTERM comes, then writes the arrival times (int64, `perf_counter_ns`, which all processes
of a Linux machine share) to the file it was given.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import re
import signal
import sys
import time
from array import array
from pathlib import Path
from time import perf_counter_ns
from typing import cast

import uvloop

MODEL = "null"
INPUT, OUTPUT, WIDTH = "INPUT0", "OUTPUT0", 16
HEADS_KEPT = 1024

_INFER = f"POST /v2/models/{MODEL}/infer ".encode()
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_ID = b'"id":"'
_TENSOR = bytes(4 * WIDTH)


class Log:
    """Arrival times in an array laid out before; `count` goes on when it is full."""

    def __init__(self, capacity: int, freeze_after_s: float = 0.0, freeze_s: float = 0.0) -> None:
        self.times = array("q", [0]) * capacity
        self.count = 0
        self._freeze_after_s, self._freeze_s = freeze_after_s, freeze_s

    def arrived(self, now_ns: int) -> None:
        if self.count < len(self.times):
            self.times[self.count] = now_ns
        if not self.count and self._freeze_s:
            # The whole process stands still, as under a stop-the-world collection: nothing is read or answered.
            asyncio.get_running_loop().call_later(self._freeze_after_s, time.sleep, self._freeze_s)
        self.count += 1

    def write(self, path: Path) -> None:
        with path.open("wb") as file:
            self.times[: self.count].tofile(file)


class Connection(asyncio.Protocol):
    """Takes requests whole, in pieces or several at once; each is stamped when its first byte was read."""

    def __init__(self, log: Log, heads: dict[bytes, tuple[bool, int]]) -> None:
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
    ) % (len(head), len(head) + len(_TENSOR), head, _TENSOR)


_ANSWER_TAIL = (
    b'"model_name":"%b","model_version":"1","outputs":[{"name":"%b","datatype":"FP32","shape":[1,%d],'
    b'"parameters":{"binary_data_size":%d}}]}'
) % (MODEL.encode(), OUTPUT.encode(), WIDTH, len(_TENSOR))
_PLAIN_ANSWER = _infer_answer(b"")


def control_answer(request_line: bytes, count: int) -> bytes:
    """What a client asks before it sends load: readiness, metadata, configuration, statistics."""
    path = request_line.split(b" ")[1].decode("latin-1").split("?")[0].rstrip("/")
    model = f"/v2/models/{MODEL}"
    for versioned in (f"{model}/versions/1", model):
        if path.startswith(versioned):
            path = model + path[len(versioned) :]
            break
    if path in ("/v2/health/ready", "/v2/health/live", f"{model}/ready"):
        return _response(200, b"")
    documents: dict[str, object] = {
        "/v2": {"name": "triton", "version": "2.51.0", "extensions": ["binary_tensor_data", "statistics"]},
        model: _METADATA,
        f"{model}/config": _CONFIG,
        f"{model}/stats": _statistics(count),
        "/v2/models/stats": _statistics(count),
    }
    if path in documents:
        return _response(200, json.dumps(documents[path]).encode())
    return _response(404, json.dumps({"error": f"no such resource: {path}"}).encode())


def _response(status: int, body: bytes) -> bytes:
    reason = {200: "OK", 404: "Not Found"}[status]
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


_METADATA = {
    "name": MODEL,
    "versions": ["1"],
    "platform": "python",
    "inputs": [{"name": INPUT, "datatype": "FP32", "shape": [-1, WIDTH]}],
    "outputs": [{"name": OUTPUT, "datatype": "FP32", "shape": [-1, WIDTH]}],
}
_CONFIG = {
    "name": MODEL,
    "backend": "python",
    "max_batch_size": 8,
    "input": [{"name": INPUT, "data_type": "TYPE_FP32", "dims": [WIDTH]}],
    "output": [{"name": OUTPUT, "data_type": "TYPE_FP32", "dims": [WIDTH]}],
}


def _statistics(count: int) -> dict[str, object]:
    none = {"count": 0, "ns": 0}
    parts = ("success", "queue", "compute_input", "compute_infer", "compute_output")
    spent = {part: {"count": count, "ns": 1000 * count} for part in parts}
    spent |= dict.fromkeys(("fail", "cache_hit", "cache_miss"), none)
    model = {
        "name": MODEL,
        "version": "1",
        "last_inference": 0,
        "inference_count": count,
        "execution_count": count,
        "inference_stats": spent,
        "batch_stats": [],
    }
    return {"model_stats": [model]}


async def serve(log: Log) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    heads: dict[bytes, tuple[bool, int]] = {}
    server = await loop.create_server(lambda: Connection(log, heads), "127.0.0.1", 0, backlog=1024)
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, ended.set)
    await loop.connect_read_pipe(lambda: _Lifeline(ended), sys.stdin)
    sys.stdout.write(json.dumps({"port": server.sockets[0].getsockname()[1]}) + "\n")
    sys.stdout.flush()
    gc.freeze()
    gc.disable()
    await ended.wait()
    server.close()


class _Lifeline(asyncio.Protocol):
    """Standard input, which ends with the process that holds its other end, however that ends."""

    def __init__(self, ended: asyncio.Event) -> None:
        self._ended = ended

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--capacity", type=int, default=1_000_000)
    parser.add_argument("--freeze-after-s", type=float, default=0.0, help="from the first inference request on")
    parser.add_argument("--freeze-s", type=float, default=0.0)
    asked = parser.parse_args()
    log = Log(asked.capacity, asked.freeze_after_s, asked.freeze_s)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(log))
    log.write(asked.out)


if __name__ == "__main__":
    main()
