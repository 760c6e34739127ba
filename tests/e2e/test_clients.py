"""HTTP and gRPC on the real servers: the same right answers, and the same causes for the same faults."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import uvloop

from bench import servers
from bench.artifacts.build import build
from bench.clients import make, torchserve_grpc, torchserve_http
from bench.clients.client import Client, Pool
from bench.clients.outcome import Outcome
from bench.models.model import ServedModel
from bench.models.prepare import prepare
from bench.scenario.spec import Calibrated, Calibration, Scenario, Server
from bench.servers.runtime import cache_folder, ensure_runtime
from bench.servers.server import RunningServer

pytestmark = pytest.mark.together

PAYLOADS = 48


@dataclass(frozen=True)
class Started:
    """A ready server, its model, and the name under which the model is served."""

    server: RunningServer
    model: ServedModel
    name: str

    def client(self, protocol: str) -> Client:
        return self._speak(protocol)[0]

    def ask(self, protocol: str, *rows: np.ndarray) -> list[Outcome]:
        """One request for each (k, *input shape), all at once."""
        client = self.client(protocol)
        return self.send(protocol, *(client.request(self.name, some) for some in rows))

    def send(self, protocol: str, *requests: bytes) -> list[Outcome]:
        pool = self._speak(protocol)[1]

        async def main() -> list[Outcome]:
            try:
                return await asyncio.gather(*(pool.request(request) for request in requests))
            finally:
                await pool.close()

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
            return loop.run(main())

    def _speak(self, protocol: str) -> tuple[Client, Pool]:
        kind, ports = self.server.spec.kind, self.server.ports
        return make(kind, protocol, self.server.host, ports, self.model.input.name, self.model.output.name)


@pytest.fixture(scope="module", params=["triton", "torchserve"])
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A server of each kind, started once, with a model of c = 1 ms and m = 1 ms."""

    def tell(_text: str, _fraction: float | None) -> None: ...

    work: Path = tmp_path_factory.mktemp(request.param)
    spec = Server(request.param, request.param, max_batch_size=8)
    scenario = Scenario("clients", Calibrated(c_s=0.001, m_s=0.001), (spec,), Calibration(batch_sizes=(1,)))
    runtime = ensure_runtime(cache_folder(), tell)
    model = prepare(scenario.model, runtime.python, cache_folder(), tell)
    artifact = build(scenario, spec, model, work)
    production = artifact.arms[0]
    with servers.KINDS[spec.kind](spec, artifact.folder, runtime, work / "server.log", tell) as server:
        server.serve([production])
        server.confirm(production)
        yield Started(server, model, production.name)


@pytest.fixture(params=["http", "grpc"])
def protocol(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_http_and_grpc_give_the_same_right_answers(started: Started) -> None:
    rows = started.model.payloads[:PAYLOADS]
    answers = {}
    for protocol in ("http", "grpc"):
        client = started.client(protocol)
        outcomes = started.ask(protocol, *(row[np.newaxis] for row in rows))
        assert [client.cause(outcome) for outcome in outcomes] == [""] * PAYLOADS
        # The second output is the time by the model's own clock.
        answers[protocol] = np.concatenate([client.answers(outcome) for outcome in outcomes])[:, :1]
    np.testing.assert_allclose(answers["http"], started.model.expected[:PAYLOADS], rtol=1e-6)
    assert np.array_equal(answers["http"], answers["grpc"])


def test_a_request_of_several_rows_is_answered_row_by_row(started: Started, protocol: str) -> None:
    client = started.client(protocol)
    if not client.takes_rows:
        pytest.skip("one request is one sample on this server")
    (outcome,) = started.ask(protocol, started.model.payloads[:4])
    np.testing.assert_allclose(client.answers(outcome)[:, :1], started.model.expected[:4], rtol=1e-6)


def test_only_torchserve_over_http_tells_of_the_execution(started: Started, protocol: str) -> None:
    (outcome,) = started.ask(protocol, started.model.payloads[:1])
    executed = started.client(protocol).executed(outcome)
    if (started.server.spec.kind, protocol) == ("torchserve", "http"):
        assert executed is not None
        assert executed[0] == 1
    else:
        assert executed is None


def test_a_model_that_is_not_there_is_told_as_such(started: Started, protocol: str) -> None:
    client = started.client(protocol)
    (outcome,) = started.send(protocol, client.request("nothing_of_that_name", started.model.payloads[:1]))
    assert client.cause(outcome) == "model not found", outcome


def test_input_that_cannot_be_taken_is_told_as_such_and_the_server_goes_on(started: Started, protocol: str) -> None:
    host = f"{started.server.host}:{started.server.port}"
    three = np.zeros((1, 3), np.float32)
    faulty, cause = {
        ("triton", "http"): (started.client(protocol).request(started.name, three), "invalid request"),
        ("triton", "grpc"): (started.client(protocol).request(started.name, three), "invalid request"),
        ("torchserve", "http"): (torchserve_http.predict_request(started.name, b"abc", host), "handler raised"),
        ("torchserve", "grpc"): (torchserve_grpc.predict_request(started.name, b"abc"), "handler raised"),
    }[started.server.spec.kind, protocol]
    client = started.client(protocol)
    (outcome,) = started.send(protocol, faulty)
    assert client.cause(outcome) == cause, outcome
    (outcome,) = started.ask(protocol, started.model.payloads[:1])
    assert client.cause(outcome) == ""


def test_torchserve_without_workers_is_told_as_such(started: Started, protocol: str) -> None:
    if started.server.spec.kind != "torchserve":
        pytest.skip("Triton has no model without instances")
    path = f"/models/{started.name}"

    def scale(workers: int) -> None:
        counts = {"min_worker": workers, "max_worker": workers, "synchronous": "true"}
        assert started.server.control.ask("PUT", path, counts, timeout_s=60).ok

    scale(0)
    try:
        (outcome,) = started.ask(protocol, started.model.payloads[:1])
    finally:
        scale(1)
    assert started.client(protocol).cause(outcome) == "queue full or no workers", outcome
    (outcome,) = started.ask(protocol, started.model.payloads[:1])
    assert started.client(protocol).cause(outcome) == ""
