"""One model on one server, as experiments see it: rows in, request bytes out; outcome in, answers out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bench.clients import torchserve_grpc, triton_grpc
from bench.clients.grpc_pool import GrpcPool
from bench.clients.http_connection import Done
from bench.clients.http_pool import HttpPool
from bench.clients.outcome import Outcome
from bench.clients.torchserve_client import TorchServeGrpc, TorchServeHttp
from bench.clients.triton_client import TritonGrpc, TritonHttp


class Client(Protocol):
    """Prebuilt requests for one server. rows: (k, *input shape) float32; answers: (k, outputs) float32."""

    @property
    def takes_rows(self) -> bool:
        """Whether one request may carry several rows."""
        ...

    def request(self, model: str, rows: np.ndarray, request_id: str = "", /) -> bytes:
        """request_id: by which the server's own records name it, where it keeps any."""
        ...

    def answers(self, outcome: Outcome) -> np.ndarray:
        """Raises MeasurementInvalid when the outcome is not a whole, well-formed answer."""
        ...

    def executed(self, outcome: Outcome) -> tuple[int, float] | None:
        """(batch size, compute seconds) of the execution that made this answer; None where the server does not say."""
        ...

    def started_ns(self, outcome: Outcome) -> int:
        """When that execution began, by the monotonic clock of the server's machine; -1 where it is not said."""
        ...

    def cause(self, outcome: Outcome) -> str: ...


class Pool(Protocol):
    """What carries requests to one server: HttpPool and GrpcPool say how."""

    @property
    def in_flight(self) -> int: ...

    async def open(self, n: int) -> None: ...

    def send(self, request: bytes, done: Done) -> None: ...

    async def request(self, request: bytes) -> Outcome: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Spoken:
    """How one kind of server is spoken to over one protocol. port: its name among the server's ports.

    client: (host, port, input name, output name); pool: (host, port, timeout in seconds).
    """

    port: str
    client: Callable[[str, int, str, str], Client]
    pool: Callable[[str, int, float], Pool]


def _http(host: str, port: int, timeout_s: float) -> Pool:
    return HttpPool(host, port, timeout_s=timeout_s)


def _grpc(method: str) -> Callable[[str, int, float], Pool]:
    return lambda host, port, timeout_s: GrpcPool(host, port, method, timeout_s=timeout_s)


PROTOCOLS: dict[str, dict[str, Spoken]] = {
    "triton": {
        "http": Spoken("http", TritonHttp, _http),
        "grpc": Spoken("grpc", TritonGrpc, _grpc(triton_grpc.METHOD)),
    },
    "torchserve": {
        "http": Spoken("inference", TorchServeHttp, _http),
        "grpc": Spoken("grpc_inference", TorchServeGrpc, _grpc(torchserve_grpc.METHOD)),
    },
}


def make(
    kind: str,
    protocol: str,
    host: str,
    ports: Mapping[str, int],
    input_name: str,
    output_name: str,
    *,
    timeout_s: float = 30.0,
) -> tuple[Client, Pool]:
    """The client of a kind of server over a protocol, and the pool that carries its requests.

    ports: the server's, by the names that bench.scenario.kinds has.
    """
    spoken = PROTOCOLS[kind][protocol]
    port = ports[spoken.port]
    return spoken.client(host, port, input_name, output_name), spoken.pool(host, port, timeout_s)
