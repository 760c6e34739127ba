"""A server as a Docker container: ports on loopback alone, models read-only, no more rights than it needs.

The container's processes are processes of this machine too, so they are watched as those of a server process are: a
container may stay up around a server that has died.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
import psutil
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.types import DeviceRequest, Mount, Ulimit
from requests.exceptions import RequestException

from bench.errors import ServerError
from bench.progress import Tell
from bench.scenario.spec import Server
from bench.servers.daemon import daemon_fault
from bench.servers.host import LOOPBACK, Host, Launch, Places, lives
from bench.servers.lease import token_or_random
from bench.servers.proc import inner_pid
from bench.servers.process import interrupts_deferred
from bench.servers.pull import pull

RUN_LABEL, OWNER_LABEL = "serve-bench.run", "serve-bench.owner"
SCRATCH = "/serve-bench"
# What a daemon that is gone raises, beside the errors that one tells.
LOST = (DockerException, RequestException)
STOP_PATIENCE_S = 3
ASK_PATIENCE_S = 60
BUILT_HERE = "serve-bench/"
NAME_ANOTHER = ". Name another by image:, or make images"
STACK_BYTES = 64 * 2**20  # what both images' makers ask for


class ServerContainer(Host):
    """One container. `stop` removes it, and nothing else."""

    def __init__(
        self, spec: Server, image: str, models_at: str, log: Path, tell: Tell, noise: tuple[str, ...] = ()
    ) -> None:
        """image: the reference to run; models_at: where the image's server looks for its models."""
        super().__init__(spec.name, log, noise)
        self._spec = spec
        self._reference = image
        self._models_at = models_at
        self._tell = tell
        self._container: Any = None
        self._leader: psutil.Process | None = None
        self._log_reader: threading.Thread | None = None
        self._published: set[int] = set()

    def places(self, _models: Path) -> Places:
        return Places(self._models_at, SCRATCH, "0.0.0.0")  # noqa: S104 inside; published on loopback alone

    def start(self, launch: Launch) -> None:
        """Pulls the image where it is missing, and starts it. Raises ServerError that says what to do."""
        client = connect(self.name)
        image = self._image(client)
        self.image = " ".join([str(image.id), *image.attrs.get("RepoDigests", [])])
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.touch()
        for folder in (self.folder, launch.models):
            if folder is not None:
                _make_readable(folder)
        self.folder.chmod(0o777)  # the image's user is another one, and Triton writes its traces here
        with interrupts_deferred(), _told(self.name, "the container cannot be started"):
            self._container = client.containers.create(self._reference, **self._options(launch))
            self._container.start()
            self._container.reload()
            self._leader = _process(int(self._container.attrs["State"]["Pid"]))
        self._published = set(launch.ports.values())
        self._log_reader = threading.Thread(target=self._copy_log, daemon=True)
        self._log_reader.start()

    def _options(self, launch: Launch) -> dict[str, Any]:
        """Arguments of containers.create. What is not named here stays as the image has it, its user among it."""
        token = token_or_random()
        mounts = [Mount(SCRATCH, str(self.folder), type="bind")]
        if launch.models is not None:
            mounts.append(Mount(self._models_at, str(launch.models), type="bind", read_only=True))
        gpu = [DeviceRequest(device_ids=["0"], capabilities=[["gpu"]])] if self._spec.device == "gpu" else None
        return {
            "name": f"serve-bench-{token}-{self.name}-{os.getpid()}",
            "entrypoint": [launch.command[0]],  # TorchServe's own one ends in `tail -f`, and outlives the server
            "command": list(launch.command[1:]),
            "environment": dict(launch.environment),
            "working_dir": "/tmp",  # noqa: S108
            "ports": {f"{port}/tcp": (LOOPBACK, port) for port in launch.ports.values()},
            "mounts": mounts,
            "tmpfs": {"/tmp": "rw,exec,mode=1777"},  # noqa: S108 TorchServe unpacks its archives there
            "shm_size": launch.shared_memory_bytes,
            "ulimits": self._limits(),
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges"],
            "device_requests": gpu,
            "init": True,  # somebody must bury the workers
            "labels": {RUN_LABEL: token, OWNER_LABEL: str(os.getpid())},
            "detach": True,
        }

    def _limits(self) -> list[Ulimit]:
        """A GPU wants pinned memory without limit; where no limit may be raised, as on some virtual machines, a server
        on the CPU must start all the same."""
        limits = [Ulimit(name="stack", soft=STACK_BYTES, hard=STACK_BYTES)]
        return [*limits, Ulimit(name="memlock", soft=-1, hard=-1)] if self._spec.device == "gpu" else limits

    def _image(self, client: Any) -> Any:
        with _told(self.name, f"the image {self._reference} cannot be had", NAME_ANOTHER):
            try:
                image = client.images.get(self._reference)
            except ImageNotFound:
                if self._reference.startswith(BUILT_HERE):  # of this name a registry may have somebody else's
                    raise ServerError(
                        f"{self.name}: the image {self._reference} is built here and is not there yet: make images"
                    ) from None
                pull(client, self._reference, self.name, self._tell)
                image = client.images.get(self._reference)
            ours, its = client.version().get("Arch", ""), image.attrs.get("Architecture", "")
        if ours and its and ours != its:
            raise ServerError(
                f"{self.name}: the image {self._reference} is for {its}, this machine is {ours}: name another by image:"
            )
        return image

    def _copy_log(self) -> None:
        with suppress(*LOST, OSError, ValueError), self.log.open("ab", buffering=0) as file:
            for part in self._container.logs(stream=True, follow=True):
                file.write(part)

    def check_leader_alive(self) -> None:
        if self._container is None or (self._leader is not None and lives(self._leader)):
            return
        try:
            self._container.reload()
            state = self._container.attrs["State"]
        except LOST as error:
            raise ServerError(f"{self.name}: its container is gone: {error}", self.log_tail()) from error
        if state.get("Running"):
            return
        status = state.get("ExitCode")
        how = f"was ended, with exit status {status}"
        if state.get("OOMKilled"):
            how = f"was killed for want of memory, with exit status {status}"
        if self._log_reader is not None:
            self._log_reader.join(1)  # its last words
        raise ServerError(f"{self.name}: the server's container {how}. Full log: {self.log}", self.log_tail())

    def holds_port(self, port: int) -> bool:
        """Docker gives a port to one container alone, and refuses to start one whose port is taken."""
        return port in self._published

    def outside(self, pid: int) -> int:
        """A process that the server names by its id inside; 0 when there is none."""
        return next((process.pid for process in self._family() if inner_pid(process.pid) == pid), 0)

    def stop(self) -> None:
        """Stops and removes the container; removes its temporary folder. Safe to call twice."""
        with interrupts_deferred():
            if self._container is not None:
                with suppress(*LOST):
                    self._container.stop(timeout=STOP_PATIENCE_S)
                with suppress(*LOST):
                    self._container.remove(force=True, v=True)
                self._container = None
            if self._log_reader is not None:
                self._log_reader.join(2)
                self._log_reader = None
            self._leader, self._published = None, set()
            self._remove_folder()

    def _family(self) -> list[psutil.Process]:
        if self._leader is None:
            return []
        with suppress(psutil.NoSuchProcess):
            # The leader is Docker's init: it is nobody's worker, and lives as long as the container.
            return list(self._leader.children(recursive=True))
        return []


def connect(name: str) -> Any:
    """A client of the Docker daemon. Raises ServerError that says why there is none, and what to do."""
    elsewhere = os.environ.get("DOCKER_HOST", "")
    if elsewhere and not elsewhere.startswith("unix://"):
        raise ServerError(f"{name}: DOCKER_HOST is {elsewhere}: files, ports and processes must be this machine's")
    try:
        client = docker.from_env(timeout=ASK_PATIENCE_S)
        client.ping()
    except LOST as error:
        found, remedy = daemon_fault(str(error))
        raise ServerError(f"{name}: {found}: {remedy}. serve-bench doctor tells more") from error
    return client


def remove_containers(token: str) -> tuple[str, ...]:
    """Removes every container with the label of a run, running or not; their names. Nothing where no daemon answers."""
    removed = []
    with suppress(*LOST):
        client = docker.from_env(timeout=ASK_PATIENCE_S)
        for container in client.containers.list(all=True, filters={"label": f"{RUN_LABEL}={token}"}):
            with suppress(NotFound):
                container.remove(force=True, v=True)
                removed.append(str(container.name))
        client.close()
    return tuple(removed)


@contextmanager
def _told(name: str, what: str, remedy: str = "") -> Iterator[None]:
    """Docker's errors as ServerError of one line."""
    try:
        yield
    except APIError as error:
        raise ServerError(f"{name}: {what}: {_said(error)}{remedy}") from error
    except LOST as error:
        raise ServerError(f"{name}: {what}: {error}{remedy}") from error


def _said(error: APIError) -> str:
    return " ".join(str(error.explanation or error).split())[:300]


def _make_readable(folder: Path) -> None:
    """Whatever the umask: without capabilities not even root reads what others may not."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid) if pid else None
    except psutil.NoSuchProcess:
        return None
