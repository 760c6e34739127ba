"""Triton Inference Server: how it is launched, loaded, read back and counted."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.errors import MeasurementInvalid, ServerError
from bench.progress import Tell
from bench.scenario.arms import Arm
from bench.scenario.spec import Server
from bench.servers import triton_memory, triton_trace
from bench.servers.control import Answer
from bench.servers.host import Launch
from bench.servers.lease import REGION_PREFIX, SHARED_MEMORY, token_or_random
from bench.servers.runtime import Runtime
from bench.servers.server import LIVE_PATIENCE_S, LOADERS, POLL_S, NoTraces, RunningServer, Setting, Stages, Statistics

NANOSECONDS = 1e-9
TRACE_PATIENCE_S = 3.0


class Triton(RunningServer):
    """Explicit model control: nothing is served but the arms that are asked for."""

    port_names = ("http", "grpc", "metrics")
    data_ports = {"http": "http", "grpc": "grpc"}  # noqa: RUF012 read only
    log_noise = ("| ", "+---")  # its tables of options and models
    counts_batches = True
    control_port = "http"
    images = {"cpu": "serve-bench/tritonserver:cpu", "gpu": "nvcr.io/nvidia/tritonserver:25.06-py3"}  # noqa: RUF012
    models_in_image = "/models"
    traces = True

    def __init__(self, spec: Server, model_folder: Path, runtime: Runtime, log: Path, tell: Tell) -> None:
        super().__init__(spec, model_folder, runtime, log, tell)
        self._region = f"{REGION_PREFIX}{token_or_random()}_{secrets.token_hex(4)}_"

    def launch(self) -> Launch:
        program, models, backends, environment = (
            self._in_image() if self.spec.runtime == "container" else self._from_wheels()
        )
        options = {
            "model-repository": models,
            "model-control-mode": "explicit",
            "backend-directory": backends,
            "http-address": self.places.address,  # its own default is every address of the machine
            "http-port": self.ports["http"],
            "grpc-address": self.places.address,
            "grpc-port": self.ports["grpc"],
            "metrics-address": self.places.address,
            "metrics-port": self.ports["metrics"],
            "rate-limit": "off",
            "exit-timeout-secs": 5,
            "log-verbose": 0,
        }
        command = [program, *(f"--{name}={value}" for name, value in options.items())]
        command.append("--disable-auto-complete-config")  # it would add batching where none was asked for
        command.append(f"--backend-config=python,shm-region-prefix-name={self._region}")
        command += triton_trace.options(Path(self.places.scratch))
        environment |= {
            "PYTHONNOUSERSITE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",  # the model repository stays as it was built
            "OMP_NUM_THREADS": str(self.spec.threads),
        }
        shared = triton_memory.shared_bytes(self.model_folder)
        return Launch(tuple(command), environment, self.process.folder, self.ports, self.model_folder, shared)

    def _from_wheels(self) -> tuple[str, str, str, dict[str, str]]:
        """(program, model repository, backends, environment)"""
        environment = {
            "LD_LIBRARY_PATH": self.runtime.triton_libraries,
            # The stub's embedded Python ignores PYTHONPATH, but finds an environment as an activated one is found.
            "PATH": f"{self.runtime.python.parent}:{os.environ.get('PATH', os.defpath)}",
            "TMPDIR": str(self.process.folder),
        }
        backends = self._plain_path("backends", self.runtime.triton / "backends")
        models = self._plain_path("models", self.model_folder)
        return str(self.runtime.triton / "bin" / "tritonserver"), str(models), str(backends), environment

    def _in_image(self) -> tuple[str, str, str, dict[str, str]]:
        return "tritonserver", self.places.models, "/opt/tritonserver/backends", {}

    def _plain_path(self, name: str, target: Path) -> Path:
        """A link to it in the server's own folder: the Python backend starts its stubs by a shell without quotes."""
        link = self.process.folder / name
        link.symlink_to(target)
        return link

    def is_live(self, patience_s: float = LIVE_PATIENCE_S) -> bool:
        return self.control.ask("GET", "/v2/health/live", timeout_s=patience_s).ok

    def version(self) -> str:
        return str(self.control.ask("GET", "/v2").json()["version"])

    def serve(self, arms: Iterable[Arm]) -> None:
        with ThreadPoolExecutor(LOADERS) as pool:
            for arm, answer in pool.map(self._load, arms):
                if not answer.ok:
                    self.process.check_alive()
                    raise ServerError(
                        f"{self.spec.name}: {arm.name} could not be loaded: {_reason(answer)}",
                        self.process.log_tail(),
                    )
                if not self.control.ask("GET", f"/v2/models/{arm.name}/ready").ok:
                    raise ServerError(f"{self.spec.name}: {arm.name} is loaded but not ready", self.process.log_tail())
        self.process.remember_workers()

    def _load(self, arm: Arm) -> tuple[Arm, Answer]:
        self.tell(f"{self.spec.name}: loading, {arm.name}", None)
        path = f"/v2/repository/models/{arm.name}/load"
        return arm, self.control.ask("POST", path, timeout_s=self.spec.startup_timeout_s)

    def withdraw(self, arms: Iterable[Arm]) -> None:
        self.process.forget_workers()
        for arm in arms:
            self.control.ask("POST", f"/v2/repository/models/{arm.name}/unload", timeout_s=30)

    def configuration(self, arm: Arm) -> dict[str, Any]:
        answer = self.control.ask("GET", f"/v2/models/{arm.name}/config")
        if not answer.ok:
            self.process.check_alive()
            raise ServerError(f"{self.spec.name}: no configuration of {arm.name} to read back: {_reason(answer)}")
        found: dict[str, Any] = answer.json()
        return found

    def sent_configuration(self, arm: Arm) -> dict[str, bytes]:
        return {"config.pbtxt": (self.model_folder / arm.name / "config.pbtxt").read_bytes()}

    def read_back(self, arm: Arm) -> tuple[Setting, ...]:
        found = self.configuration(arm)
        groups = found.get("instance_group", [])
        batching = found.get("dynamic_batching")
        settings = [
            Setting("max_batch_size", arm.max_batch_size, found.get("max_batch_size")),
            Setting("instances", arm.instances, sum(group.get("count", 0) for group in groups)),
            Setting("device", {f"KIND_{self.spec.device.upper()}"}, {group.get("kind") for group in groups}),
            Setting("dynamic batching", arm.batching, batching is not None),
        ]
        if batching is not None:
            asked_us = round(arm.max_queue_delay_s * 1e6)
            found_us = int(batching.get("max_queue_delay_microseconds", 0))
            settings.append(Setting("max_queue_delay (µs)", asked_us, found_us))
            policy = batching.get("default_queue_policy", {})
            settings.append(Setting("max_queue_size", arm.max_queue_size or 0, int(policy.get("max_queue_size", 0))))
        return tuple(settings)

    def serving_processes(self, arm: Arm) -> tuple[int, ...]:
        """Of the Python backend: a stub's command line has the path of its model file."""
        model_file = f"/{arm.name}/1/model.py"
        return tuple(pid for pid, words in self.process.pids().items() if any(w.endswith(model_file) for w in words))

    def statistics(self, arm: Arm) -> Statistics:
        answer = self.control.ask("GET", f"/v2/models/{arm.name}/stats")
        if not answer.ok:
            self.process.check_alive()
            raise ServerError(f"{self.spec.name}: no statistics of {arm.name}: {_reason(answer)}")
        model = answer.json()["model_stats"][0]
        totals = model["inference_stats"]
        batches = {
            int(row["batch_size"]): (
                int(row["compute_infer"].get("count", 0)),
                int(row["compute_infer"].get("ns", 0)) * NANOSECONDS,
            )
            for row in model.get("batch_stats", [])
        }
        return Statistics(
            requests=int(totals["success"].get("count", 0)),
            queue_s=int(totals["queue"].get("ns", 0)) * NANOSECONDS,
            # inference_stats charge the whole batch to each of its requests: just what a request went through.
            compute_s=int(totals["compute_infer"].get("ns", 0)) * NANOSECONDS,
            batches=batches,
            total_s=int(totals["success"].get("ns", 0)) * NANOSECONDS,
            held=(
                int(totals["compute_infer"].get("count", 0)),
                sum(int(totals[f"compute_{part}"].get("ns", 0)) for part in ("input", "infer", "output")) * NANOSECONDS,
            ),
        )

    @contextmanager
    def tracing(self) -> Iterator[None]:
        if triton_trace.files(self.process.folder):
            raise MeasurementInvalid(f"{self.spec.name}: requests were traced that should not have been")
        self._set_trace_level("TIMESTAMPS")
        try:
            yield
        finally:
            self._set_trace_level("OFF")  # which also writes the traces that fill no file yet

    def _set_trace_level(self, level: str) -> None:
        answer = self.control.ask("POST", "/v2/trace/setting", body={"trace_level": [level]})
        if not answer.ok or answer.json().get("trace_level") != [level]:
            self.process.check_alive()
            raise NoTraces(f"{self.spec.name}: the trace level cannot be set to {level}: {_reason(answer)}")

    def traced(self, requests: int) -> Mapping[str, Stages]:
        deadline = time.monotonic() + TRACE_PATIENCE_S
        while True:
            found = triton_trace.read(self.process.folder)
            if len(found) >= requests or time.monotonic() > deadline:
                break
            time.sleep(POLL_S)
        for file in triton_trace.files(self.process.folder):
            file.unlink()
        return found

    def stop(self) -> None:
        super().stop()
        for region in SHARED_MEMORY.glob(f"{self._region}*"):
            region.unlink(missing_ok=True)  # a killed stub leaves its own behind


def _reason(answer: Answer) -> str:
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status} {answer.text[:200]}"
