"""`up`: a scenario's servers launched, loaded, read back, and kept until somebody stops them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from bench.environment import demand_gpu
from bench.errors import ServerError
from bench.experiments.watchdog import PATIENCE_S, SILENT_LOOKS
from bench.job import started
from bench.models.prepare import prepare
from bench.progress import Tell
from bench.runner import Options, begin, build_artifacts
from bench.scenario.spec import Scenario
from bench.servers.runtime import cache_folder, ensure_runtime
from bench.servers.server import RunningServer

LOOK_EVERY_S, ASK_EVERY_S = 0.2, 5.0


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
    demand_gpu(server.name for server in scenario.servers if server.device == "gpu")
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="up-")))
        runtime = ensure_runtime(cache_folder(), tell)
        model = prepare(scenario.model, runtime.python, cache_folder(), tell)
        options = Options(scratch / "results", work)
        job = begin(scenario, runtime, model, build_artifacts(scenario, model, options, tell), options, tell)
        payload = scratch / "payload.bin"
        payload.write_bytes(model.payloads[0].tobytes())
        running = [stack.enter_context(started(job, server)) for server in scenario.servers]
        versions = job.manifest["servers"]
        yield (
            [
                _endpoint(
                    server, versions[server.spec.name]["version"], job.artifacts[server.spec.name].arms[0].name, payload
                )
                for server in running
            ],
            running,
        )


def watch(running: list[RunningServer]) -> NoReturn:
    """Looks at the servers until Ctrl-C; raises ServerError, with the log's tail, when one dies."""
    asked_s, silent = time.monotonic(), [0] * len(running)
    while True:
        for server in running:
            server.check_alive()
        if time.monotonic() - asked_s > ASK_EVERY_S:
            for index, server in enumerate(running):
                silent[index] = 0 if server.is_live(PATIENCE_S) else silent[index] + 1
                if silent[index] == SILENT_LOOKS:
                    raise ServerError(f"{server.spec.name}: the server hangs", server.process.log_tail())
            asked_s = time.monotonic()
        time.sleep(LOOK_EVERY_S)


def _endpoint(server: RunningServer, version: str, model: str, payload: Path) -> Endpoint:
    purposes = {port: protocol for protocol, port in server.data_ports.items()}
    urls = {
        purposes.get(name, name): f"{'grpc' if name.startswith('grpc') else 'http'}://{server.host}:{port}"
        for name, port in server.ports.items()
    }
    return Endpoint(server.spec.name, server.spec.kind, version, model, urls, str(payload))
