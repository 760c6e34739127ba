"""`up`: a scenario's servers launched, loaded, read back, and kept until somebody stops them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from bench.experiments.watchdog import LOOK_S, Health
from bench.job import Job, started
from bench.progress import Tell
from bench.runner import Options, prepared
from bench.scenario.spec import Scenario
from bench.servers.server import RunningServer

LOOK_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one server answers. urls: purpose of the port -> URL; payload: a file with one request's body."""

    server: str
    kind: str
    version: str
    model: str
    urls: dict[str, str]
    payload: str

    @property
    def example(self) -> str:
        """A command that puts load on it."""
        asked = f"serve-bench load {self.urls['http']} --kind {self.kind} --model {self.model} --rate 50 --duration 10s"
        return asked if self.kind == "triton" else f"{asked} --payload {self.payload}"


@contextmanager
def kept(scenario: Scenario, work: Path, tell: Tell) -> Iterator[tuple[list[Endpoint], list[RunningServer]]]:
    """The servers of the scenario, all ready; leaving it stops them. Nothing of it goes into results/."""
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="up-")))
        job = prepared(scenario, Options(scratch / "results", work), tell)
        payload = scratch / "payload.bin"
        payload.write_bytes(job.model.payloads[0].tobytes())
        running = [stack.enter_context(started(job, server)) for server in scenario.servers]
        yield [_endpoint(job, server, payload) for server in running], running


def watch(running: list[RunningServer]) -> NoReturn:
    """Looks at the servers until Ctrl-C; raises ServerError, with the log's tail, when one dies or hangs."""
    asked_s, healths = time.monotonic(), [Health(server) for server in running]
    while True:
        for server in running:
            server.check_alive()
        if time.monotonic() - asked_s > LOOK_S:
            for health in healths:
                health.ask()
                health.check()
            asked_s = time.monotonic()
        time.sleep(LOOK_EVERY_S)


def _endpoint(job: Job, server: RunningServer, payload: Path) -> Endpoint:
    name = server.spec.name
    purposes = {port: protocol for protocol, port in server.data_ports.items()}
    urls = {
        purposes.get(
            port_name, port_name
        ): f"{'grpc' if port_name.startswith('grpc') else 'http'}://{server.host}:{port}"
        for port_name, port in server.ports.items()
    }
    version, model = job.manifest["servers"][name]["version"], job.artifacts[name].arms[0].name
    return Endpoint(name, server.spec.kind, version, model, urls, str(payload))
