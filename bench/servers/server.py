"""What every kind of server offers to the rest: start, serve an arm, read back, count, stop."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from bench.errors import ServerError
from bench.progress import Tell
from bench.scenario.arms import Arm
from bench.scenario.spec import Server
from bench.servers.control import Control
from bench.servers.host import LOOPBACK, Host, Launch, Places
from bench.servers.memory import Memory
from bench.servers.proc import peak_resident_bytes
from bench.servers.process import ServerProcess, claim_ports
from bench.servers.runtime import Runtime

POLL_S = 0.05
LIVE_PATIENCE_S = 10.0
SETTLE_PATIENCE_S = 20.0
LOG_PATIENCE_S = 3.0
DEVICE_LINE = re.compile(r"serve-bench: (\S+) computes on (\w+)")
LOADERS = 2  # models loaded at once: more only wait for each other on the cores


@dataclass(frozen=True, slots=True)
class Statistics:
    """A server's own counters for one arm since it was loaded; subtract two to get what happened between.

    requests: answered; queue_s: summed over requests; compute_s: each request's whole batch time, summed over
    requests (None where the server does not tell); batches: executed batch size -> (executions, compute seconds);
    total_s: from a request's arrival to its answer, summed over requests; held: how many requests were with the
    instance or worker that executes them, and for how many seconds, summed over them, the way there and back included.
    """

    requests: int
    queue_s: float
    compute_s: float | None
    batches: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    total_s: float | None = None
    held: tuple[int, float] | None = None

    def since(self, before: Statistics) -> Statistics:
        batches = {}
        for size, (count, seconds) in self.batches.items():
            count_before, seconds_before = before.batches.get(size, (0, 0.0))
            if count > count_before:
                batches[size] = (count - count_before, seconds - seconds_before)
        return Statistics(
            self.requests - before.requests,
            self.queue_s - before.queue_s,
            None if self.compute_s is None or before.compute_s is None else self.compute_s - before.compute_s,
            batches,
            None if self.total_s is None or before.total_s is None else self.total_s - before.total_s,
            None
            if self.held is None or before.held is None
            else (self.held[0] - before.held[0], self.held[1] - before.held[1]),
        )


@dataclass(frozen=True, slots=True)
class Stages:
    """One request inside the server, in seconds: from its start to its end, and the parts of that which have a name.

    handover: the batch's inputs to the instance and its outputs back; batch_size: requests of the same execution.
    """

    total_s: float
    queue_wait_s: float
    compute_s: float
    handover_s: float
    batch_size: int


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as asked and as the server reads it back."""

    name: str
    asked: object
    found: object


class NoTraces(ServerError):
    """A server that lives, and cannot note the stages of its requests."""


class RunningServer(ABC):
    """One launched server. Use as a context manager: leaving it ends every process that entering it started."""

    port_names: tuple[str, ...]
    data_ports: Mapping[str, str]  # protocol -> name of the port that requests go to
    control_port: str
    log_noise: tuple[str, ...]  # marks of log lines that explain no failure
    counts_batches: bool  # whether statistics tell the size and time of each executed batch
    images: Mapping[str, str]  # device -> image to run where a scenario names none
    models_in_image: str  # where the image's server looks for models
    traces = False  # whether it can note when each request reached each of its stages

    def __init__(self, spec: Server, model_folder: Path, runtime: Runtime, log: Path, tell: Tell) -> None:
        self.spec = spec
        self.model_folder = model_folder.absolute()
        self.runtime = runtime
        self.tell = tell
        self.host = LOOPBACK
        self.process = self._host(log.absolute())
        self.ports: dict[str, int] = {}
        self.startup_s = 0.0
        self.control = Control(self.host, 0)

    @property
    def places(self) -> Places:
        """Where the server finds its things; for a process that makes its temporary folder."""
        return self.process.places(self.model_folder)

    def _host(self, log: Path) -> Host:
        if self.spec.runtime == "container":
            from bench.servers.container import ServerContainer  # Docker's client takes a third of a second

            image = self.spec.image or self.images[self.spec.device]
            return ServerContainer(self.spec, image, self.models_in_image, log, self.tell, self.log_noise)
        return ServerProcess(self.spec.name, log, self.log_noise)

    @property
    def port(self) -> int:
        """Where HTTP requests go."""
        return self.ports[self.data_ports["http"]]

    def __enter__(self) -> RunningServer:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Launches it and waits until it answers on its own ports. Raises ServerError at the first sign of death."""
        began = time.monotonic()
        self.ports = claim_ports(self.spec.ports, self.port_names, self.spec.name)
        self.process.start(self.launch())
        self.control = Control(self.host, self.ports[self.control_port], LOADERS)
        self.tell(f"{self.spec.name}: starting", None)
        while not self.is_live():
            self.process.check_alive()
            if time.monotonic() - began > self.spec.startup_timeout_s:
                raise ServerError(
                    f"{self.spec.name}: not live after {self.spec.startup_timeout_s:g} s. Raise startup_timeout of "
                    f"this server, or look into its log: {self.process.log}",
                    self.process.log_tail(),
                )
            time.sleep(POLL_S)
        if not self.process.holds_port(self.port):
            self.process.check_alive()
            raise ServerError(
                f"{self.spec.name}: port {self.port} is answered by a server that is not the one just started",
                self.process.log_tail(),
            )
        self.startup_s = time.monotonic() - began

    def stop(self) -> None:
        """Ends every process that was started, and removes what they left behind."""
        self.control.close()  # a connection left open makes Triton wait for it until its exit timeout
        self.process.stop()

    def check_alive(self) -> None:
        """Raises ServerError when the server, or a worker of a model it serves, has died."""
        self.process.check_alive()

    def wait_for_processes(self, most: int) -> None:
        """Waits until no more than `most` processes live, so that those on their way out disturb no measurement."""
        deadline = time.monotonic() + SETTLE_PATIENCE_S
        while self.process.processes() > most and time.monotonic() < deadline:
            self.tell(f"{self.spec.name}: waiting for unloaded models to end", None)
            time.sleep(POLL_S)
        self.process.remember_workers()

    def confirm(self, arm: Arm) -> tuple[Setting, ...]:
        """What the server reads back for an arm. Raises ServerError naming both values where they differ."""
        settings = self.read_back(arm)
        if self.spec.device == "gpu":
            settings = (*settings, Setting("device of the model", {"cuda"}, self._devices(arm)))
        wrong = [s for s in settings if s.asked != s.found]
        if wrong:
            text = "; ".join(f"{s.name} asked {s.asked}, the server has {s.found}" for s in wrong)
            raise ServerError(
                f"{self.spec.name}: {arm.name} is not configured as asked: {text}", self.process.log_tail()
            )
        return settings

    def _devices(self, arm: Arm) -> set[str]:
        """What each instance's model says that it computes on, in the log; waits a while, since a log may lag."""
        deadline = time.monotonic() + LOG_PATIENCE_S
        while True:
            found = DEVICE_LINE.findall(self.process.log_text())
            devices = [device for name, device in found if name == arm.name]
            if len(devices) >= arm.instances or time.monotonic() > deadline:
                return set(devices)
            time.sleep(POLL_S)

    def tracing(self) -> AbstractContextManager[None]:
        """While it is open, the stages of each request are noted. Raises NoTraces where they cannot be."""
        raise NoTraces(f"{self.spec.name}: a {self.spec.kind} server notes no stages of a request")

    def traced(self, _requests: int) -> Mapping[str, Stages]:
        """What was noted while `tracing` was open, by request id; waits a while for that many requests."""
        return {}

    @abstractmethod
    def launch(self) -> Launch: ...

    @abstractmethod
    def is_live(self, patience_s: float = LIVE_PATIENCE_S) -> bool:
        """Whether it tells its health within so many seconds."""

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def serve(self, arms: Iterable[Arm]) -> None:
        """Loads the arms and waits until each is ready on every instance. Raises ServerError, with the log's tail."""

    @abstractmethod
    def withdraw(self, arms: Iterable[Arm]) -> None:
        """Unloads the arms."""

    @abstractmethod
    def read_back(self, arm: Arm) -> tuple[Setting, ...]: ...

    @abstractmethod
    def configuration(self, arm: Arm) -> object:
        """The arm's configuration as the server itself gives it."""

    @abstractmethod
    def sent_configuration(self, arm: Arm) -> dict[str, bytes]:
        """File name -> content of every configuration file that the server was given."""

    @abstractmethod
    def statistics(self, arm: Arm) -> Statistics: ...

    @abstractmethod
    def serving_processes(self, arm: Arm) -> tuple[int, ...]:
        """Ids of the processes that execute the arm's batches, one for each instance."""

    def memory(self, arm: Arm) -> Memory:
        """The peaks of the process that serves the arm; of several instances, the largest."""
        return Memory(max(map(peak_resident_bytes, self.serving_processes(arm)), default=0))
