"""A run in the making: its scenario, artifacts and folder, and a started server of it."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from bench import clients, servers
from bench.artifacts.build import Artifact
from bench.errors import OutOfMemory
from bench.experiments.starts import shortage_note, shortage_row
from bench.experiments.subject import Subject
from bench.experiments.watchdog import watched
from bench.models.model import ServedModel
from bench.progress import Tell
from bench.scenario.spec import Protocol, Scenario, Server
from bench.servers.runtime import Runtime
from bench.servers.server import RunningServer
from bench.store.run_folder import RunFolder

T = TypeVar("T")


@dataclass(slots=True)
class Job:
    """A run in the making."""

    scenario: Scenario
    runtime: Runtime
    model: ServedModel
    artifacts: dict[str, Artifact]
    folder: RunFolder
    manifest: dict[str, Any]
    tell: Tell
    notes: list[str] = field(default_factory=list)

    @property
    def resumed(self) -> bool:
        """Whether earlier parts of it lie in its folder."""
        return bool(self.manifest.get("parts"))

    def is_done(self, server: str, stage: str) -> bool:
        """Whether an earlier part of this run, or this one, has finished a stage of a server: calibrated, or loaded."""
        return stage in self.manifest["done"].get(server, ())

    def mark(self, server: str, stage: str) -> None:
        """A stage is finished, whatever becomes of the run: a run that is resumed does not make it again."""
        self.manifest["done"].setdefault(server, []).append(stage)
        self.folder.write_manifest(self.manifest)


@contextmanager
def started(job: Job, server: Server) -> Iterator[RunningServer]:
    """The server, with the model ready on every instance and read back as the scenario asks."""
    artifact = job.artifacts[server.name]
    production = artifact.arms[0]
    log = job.folder.server_folder(server.name) / "server.log"
    running = servers.KINDS[server.kind](server, artifact.folder, job.runtime, log, job.tell)
    with running:
        running.serve([production])
        settings = running.confirm(production)
        version = running.version()
        if running.process.image:
            job.manifest["image_digests"][server.name] = running.process.image
        job.manifest["servers"][server.name] = {"kind": server.kind, "version": version}
        job.folder.write_server_json(server.name, "read_back.json", [asdict(setting) for setting in settings])
        job.folder.write_server_json(server.name, "config_as_read_back.json", running.configuration(production))
        for file, content in running.sent_configuration(production).items():
            (job.folder.server_folder(server.name) / file).write_bytes(content)
        yield running


def ran_out(job: Job, server: str, error: OutOfMemory, during: str) -> None:
    """A batch that did not fit is something measured: a row, a note, and the smallest such size in the manifest.

    Raises it again when it was one request: then there is nothing to measure.
    """
    if error.batch_size == 1:
        raise error
    smallest = job.manifest["out_of_memory"]
    smallest[server] = min(error.batch_size, smallest.get(server, error.batch_size))
    job.folder.append("out_of_memory", [shortage_row(server, error, during)])
    job.notes.append(shortage_note(error, during))


def subject_of(job: Job, running: RunningServer, protocol: Protocol = "http") -> Subject:
    model, spec = job.model, running.spec
    client, pool = clients.make(spec.kind, protocol, running.host, running.ports, model.input.name, model.output.name)
    return Subject(running, client, pool, model, job.scenario.checks.output_tolerance, job.tell)


async def then_close(subject: Subject, experiment: Awaitable[T]) -> T:
    try:
        return await watched(subject.server, experiment)
    finally:
        await subject.pool.close()


def order_of(job: Job, server: str) -> int:
    return [s.name for s in job.scenario.servers].index(server)
