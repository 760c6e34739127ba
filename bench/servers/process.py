"""A server as a process of this machine: its own process group and folders, stopped whole, its log kept."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import psutil

from bench.errors import ServerError
from bench.servers.host import LOOPBACK, Host, Launch, Places, lives

TERM_PATIENCE_S = 3.0  # TorchServe takes 4 s to say goodbye to nobody; nothing is lost with it
KILL_PATIENCE_S = 5.0
LEADER_FOLLOWS_S = 0.3


class ServerProcess(Host):
    """A server as a process group of this machine. `stop` ends every process of the group, and nothing else."""

    def __init__(self, name: str, log: Path, noise: tuple[str, ...] = ()) -> None:
        super().__init__(name, log, noise)
        self._process: subprocess.Popen[bytes] | None = None
        self._stream: IO[bytes] | None = None

    def places(self, models: Path) -> Places:
        return Places(str(models), str(self.folder), LOOPBACK)

    def start(self, launch: Launch) -> None:
        """Starts it; raises ServerError where the system refuses."""
        with interrupts_deferred():  # between the fork and knowing of it, nobody would stop it
            self._start(launch)

    def _start(self, launch: Launch) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._stream = self.log.open("ab")
        try:
            self._process = subprocess.Popen(
                launch.command,
                env={**os.environ, **launch.environment},
                cwd=launch.folder,
                stdin=subprocess.DEVNULL,
                stdout=self._stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us; the server is stopped after what it measured is saved
            )
        except OSError as error:
            raise ServerError(f"{self.name}: {launch.command[0]} could not be started: {error}") from error

    def _wait_for_the_leader_to_follow(self) -> None:
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LEADER_FOLLOWS_S)
        self.check_leader_alive()

    def check_leader_alive(self) -> None:
        status = None if self._process is None else self._process.poll()
        if status is None:
            return
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
        raise ServerError(f"{self.name}: the server {how}. Full log: {self.log}", self.log_tail())

    def holds_port(self, port: int) -> bool:
        return any(
            connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
            for process in self._family()
            for connection in _connections(process)
        )

    def stop(self) -> None:
        """Ends the whole group: SIGTERM, then SIGKILL; removes its temporary folder. Safe to call twice."""
        with interrupts_deferred():
            self._stop()

    def _stop(self) -> None:
        if self._process is not None:
            family = self._family()
            group = self._process.pid  # start_new_session made it the leader of a group of its own
            _signal_group(group, signal.SIGTERM)
            _, alive = psutil.wait_procs(family, timeout=TERM_PATIENCE_S)
            if alive or _group_lives(group):
                _signal_group(group, signal.SIGKILL)
                for process in alive:
                    _kill(process)
                psutil.wait_procs(alive, timeout=KILL_PATIENCE_S)
            self._process.wait(timeout=KILL_PATIENCE_S)
            self._process = None
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        self._remove_folder()

    def _family(self) -> list[psutil.Process]:
        if self._process is None:
            return []
        try:
            leader = psutil.Process(self._process.pid)
            return [leader, *leader.children(recursive=True)]
        except psutil.NoSuchProcess:
            return _group_members(self._process.pid)


@contextmanager
def interrupts_deferred(*, again: bool = True) -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM wait until the block is over, and are then raised again, or only told in the list given.

    Only the main thread gets them, so elsewhere nothing is done.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {which: signal.signal(which, lambda n, _: came.append(n)) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
        if came and again:
            signal.raise_signal(came[0])


def claim_ports(asked: Mapping[str, int], names: Sequence[str], server: str) -> dict[str, int]:
    """A port for every name: the asked one, which must be free, or any free one.

    Raises ServerError naming the port, its purpose and, where the system tells, the process that holds it.
    """
    held: list[socket.socket] = []
    ports: dict[str, int] = {}
    try:
        for name in sorted(names, key=lambda name: name not in asked):  # asked ones first: none is given away
            probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            held.append(probe)  # all are held until all are chosen, so that no two get the same one
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, asked.get(name, 0)))
            except OSError as error:
                raise ServerError(
                    f"{server}: port {asked[name]} (ports.{name}) is not free: {error.strerror}"
                    f"{_holder(asked[name])}. End that process, or leave the port out to get a free one"
                ) from error
            ports[name] = probe.getsockname()[1]
    finally:
        for probe in held:
            probe.close()
    return ports


def _holder(port: int) -> str:
    for connection in psutil.net_connections("tcp"):
        address: Any = connection.laddr  # () for a socket without one, which psutil's types make hard to say
        if connection.status == psutil.CONN_LISTEN and address and address.port == port and connection.pid:
            return f"; held by process {connection.pid} ({psutil.Process(connection.pid).name()})"
    return ""


def _connections(process: psutil.Process) -> list[Any]:
    try:
        return process.net_connections("tcp")
    except psutil.Error:
        return []


def _group_members(group: int) -> list[psutil.Process]:
    members = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group:
                members.append(process)
        except ProcessLookupError:
            continue
    return members


def _group_lives(group: int) -> bool:
    return any(map(lives, _group_members(group)))


def _signal_group(group: int, which: signal.Signals) -> None:
    try:
        os.killpg(group, which)
    except ProcessLookupError:
        return


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()  # psutil checks that the process id was not given to another process meanwhile
    except psutil.NoSuchProcess:
        return
