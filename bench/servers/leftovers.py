"""What commands that were killed left behind is found by their tokens and ended; nothing else is touched."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.servers.lease import TOKEN_VARIABLE, Lease, here, read_leases, record_file
from bench.servers.proc import is_zombie, start_ticks

TERM_PATIENCE_S = 3.0
KILL_PATIENCE_S = 5.0
DOCKER_SOCKET = Path("/var/run/docker.sock")


@dataclass(frozen=True, slots=True)
class Ended:
    """One killed command and what was left of it. processes: id and name of each; still: those that would not end."""

    token: str
    command: str
    processes: tuple[str, ...]
    folders: tuple[str, ...]
    regions: tuple[str, ...]
    containers: tuple[str, ...]
    still: tuple[str, ...]

    def line(self) -> str:
        """As a person reads it."""
        counts = (
            (len(self.processes), "process", "processes"),
            (len(self.containers), "container", "containers"),
            (len(self.folders), "temporary folder", "temporary folders"),
            (len(self.regions), "shared memory region", "shared memory regions"),
        )
        parts = [f"{n} {one if n == 1 else many}" for n, one, many in counts if n]
        of = f"of a killed 'serve-bench {self.command}'" if self.command else "of a killed command"
        text = f"{of}: {', '.join(parts) if parts else 'nothing but its record'}"
        return f"{text}; still there: {', '.join(self.still)}" if self.still else text


def end_leftovers(cache: Path) -> list[Ended]:
    """Ends what every killed command left, one after the other; commands that live are left alone."""
    return [_end(cache, lease) for lease in read_leases(cache) if not _lives(lease)]


def count_leftovers(cache: Path) -> int:
    """How many killed commands `end_leftovers` would find."""
    return sum(not _lives(lease) for lease in read_leases(cache))


def carriers(token: str) -> list[psutil.Process]:
    """The processes, this one aside, whose environment has the token; those of other users do not show theirs."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != psutil.Process().pid and process.environ().get(TOKEN_VARIABLE) == token:
                found.append(process)
    return found


def _lives(lease: Lease) -> bool:
    """Also for what cannot be known from here: a command of another machine, or of another container."""
    host, boot, namespace = here()
    if lease.host != host:
        return True
    if lease.boot != boot:
        return False  # the machine was started anew since
    if lease.namespace != namespace:
        return True
    return start_ticks(lease.pid) == lease.started and not is_zombie(lease.pid)


def _end(cache: Path, lease: Lease) -> Ended:
    containers = _containers(lease.token)
    processes = carriers(lease.token)
    names = tuple(_name(process) for process in processes)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()  # psutil looks whether the id was given to another process meanwhile
    psutil.wait_procs(processes, timeout=TERM_PATIENCE_S)
    rest = carriers(lease.token)  # also what was started while the others ended
    for process in rest:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _, alive = psutil.wait_procs(rest, timeout=KILL_PATIENCE_S)
    regions = lease.regions
    for region in regions:
        region.unlink(missing_ok=True)
    folder = Path(lease.folder)
    there = folder.is_dir() and not folder.is_symlink()
    if there:
        shutil.rmtree(folder, ignore_errors=True)
    still = (*(_name(process) for process in alive), *([str(folder)] if folder.exists() else []))
    if not still:
        record_file(cache, lease.token).unlink(missing_ok=True)
    return Ended(
        lease.token, lease.command, names, (str(folder),) if there else (), tuple(map(str, regions)), containers, still
    )


def _containers(token: str) -> tuple[str, ...]:
    if not DOCKER_SOCKET.exists() and "DOCKER_HOST" not in os.environ:
        return ()
    from bench.servers.container import remove_containers  # Docker's client takes a third of a second

    return remove_containers(token)


def _name(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {process.name()}"
    except psutil.NoSuchProcess:
        return f"{process.pid}"
