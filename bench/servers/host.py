"""Where a started server runs, seen alike whether it is a process of this machine or a container."""

from __future__ import annotations

import re
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.errors import ServerError
from bench.servers.lease import FOLDER_PREFIX, LONGEST_OWN, temporary_folder
from bench.servers.proc import was_killed

LOOPBACK = "127.0.0.1"
TAIL_LINES = 25


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start: command, environment on top of what is there, working folder, ports by name.

    models: what a container is given to serve; shared_memory_bytes: how much of it.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    ports: Mapping[str, int]
    models: Path | None = None
    shared_memory_bytes: int = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Places:
    """Where the server itself finds things. address: what it binds to so that only this machine reaches it."""

    models: str
    scratch: str
    address: str


class Host(ABC):
    """One started server. `stop` ends all of it, and nothing else."""

    image: str = ""
    """Id and digest of the image that it runs from."""

    def __init__(self, name: str, log: Path, noise: tuple[str, ...] = ()) -> None:
        """noise: a line of the log with any of these in it is left out of the tail that an error shows."""
        self.name = name
        self.log = log
        self.noise = noise
        self._folder: Path | None = None
        self._workers: tuple[psutil.Process, ...] = ()

    @property
    def folder(self) -> Path:
        """Its temporary folder, made when first asked for and removed by `stop`."""
        if self._folder is None:
            name = re.sub(r"[^\w-]", "_", self.name, flags=re.ASCII)[:10]
            self._folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{name}-", dir=temporary_folder(LONGEST_OWN)))
        return self._folder

    @abstractmethod
    def places(self, models: Path) -> Places:
        """models: the folder of what it is to serve."""

    @abstractmethod
    def start(self, launch: Launch) -> None:
        """Starts it; raises ServerError where that is refused."""

    @abstractmethod
    def stop(self) -> None:
        """Ends it and removes its temporary folder. Safe to call twice."""

    @abstractmethod
    def check_leader_alive(self) -> None:
        """As `check_alive`, whatever became of the workers."""

    @abstractmethod
    def holds_port(self, port: int) -> bool:
        """Whether this server, and not some other one, answers on the port."""

    @abstractmethod
    def _family(self) -> list[psutil.Process]:
        """Every process of the server that this machine can see."""

    def outside(self, pid: int) -> int:
        """The id on this machine of a process that the server names."""
        return pid

    def check_alive(self) -> None:
        """Raises ServerError with the exit status or signal and the log's tail when it, or a worker, has died."""
        self.check_leader_alive()
        for worker in self._workers:
            if not lives(worker):
                self._wait_for_the_leader_to_follow()
                raise ServerError(
                    f"{self.name}: its worker {worker.pid} has died: what it serves is not what was measured. "
                    f"Full log: {self.log}",
                    self.log_tail(),
                )

    def _wait_for_the_leader_to_follow(self) -> None:
        """Whoever kills a whole server kills one process after another: its leader's end is then what to tell."""
        self.check_leader_alive()

    def log_tail(self, lines: int = TAIL_LINES) -> str:
        """The last lines of the log."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return f"(the log cannot be read: {error})"
        telling = [line for line in text.splitlines() if not any(noise in line for noise in self.noise)]
        return "\n".join(telling[-lines:])

    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def processes(self) -> int:
        """How many processes of the server live: itself, its workers and its stubs."""
        return len(self._family())

    def pids(self) -> dict[int, list[str]]:
        """Process id -> command line of each process of the server that lives."""
        found = {}
        for process in self._family():
            with suppress(psutil.Error):
                found[process.pid] = process.cmdline()
        return found

    def worker_was_killed(self) -> bool:
        """Whether SIGKILL ended a process that `check_alive` misses, as far as the kernel still tells."""
        return any(worker.is_running() and was_killed(worker.pid) for worker in self._workers)

    def remember_workers(self) -> None:
        """From now on `check_alive` misses each of the processes that live now."""
        self._workers = tuple(self._family())

    def forget_workers(self) -> None:
        """Processes may end: models are being unloaded."""
        self._workers = ()

    def _remove_folder(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
