"""Stub servers that do one thing with one request and another with the next, and count what they did."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import stubs


class Scripted:
    """Does with request number n, counted from 0, what `choose(n)` names: a behaviour of an HTTP or a gRPC stub.

    `did`: how often it did what. With the client's causes for names, it is what the client is to count.
    """

    def __init__(self, kinds: Mapping[str, Callable[..., Any]], choose: Callable[[int], str]) -> None:
        self.kinds, self.choose = kinds, choose
        self.did: Counter[str] = Counter()

    def __call__(self, *request: Any) -> Any:
        name = self.choose(self.did.total())
        self.did[name] += 1
        return self.kinds[name](*request)


def every(n: int, name: str) -> Callable[[int], str]:
    """`name` for each n-th request, '' for the others."""
    return lambda number: name if number % n == n - 1 else ""


def after(seconds: float, behaviour: stubs.Behaviour) -> stubs.Behaviour:
    def behave(connection: stubs.StubConnection, request: stubs.Request) -> None:
        asyncio.get_running_loop().call_later(seconds, behaviour, connection, request)

    return behave


def pieces(*parts: bytes, every_s: float = 0.001) -> stubs.Behaviour:
    """An answer in these pieces, one after the other."""

    def write(connection: stubs.StubConnection, at: int) -> None:
        connection.write(parts[at])
        # Each in its turn: uvloop may do what is due in 1 ms before what it is to do soon.
        if at + 1 < len(parts):
            asyncio.get_running_loop().call_later(every_s, write, connection, at + 1)

    return lambda connection, _request: write(connection, 0)


def resetting(connection: stubs.StubConnection, _request: stubs.Request) -> None:
    """No answer, and an RST for the connection: closed with a linger of 0 it does not end in order."""
    sock = connection.transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.transport.abort()


def triton_model(infer: stubs.Behaviour) -> stubs.Behaviour:
    """Tells, as Triton does, that model m takes two numbers; `infer` is asked everything else."""
    tensor = {"datatype": "FP32", "shape": [-1, 2]}
    about = {"name": "m", "inputs": [{"name": "x", **tensor}], "outputs": [{"name": "y", **tensor}]}
    told = stubs.response(200, json.dumps(about).encode())

    def behave(connection: stubs.StubConnection, request: stubs.Request) -> None:
        if request.path == "/v2/models/m":
            connection.write(told)
        else:
            infer(connection, request)

    return behave
