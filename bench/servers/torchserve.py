"""TorchServe: how it is launched, loaded, read back and counted."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from bench.errors import ServerError
from bench.progress import Tell
from bench.scenario.arms import Arm
from bench.scenario.kinds import JOB_QUEUE_SIZE, ONE_INSTANCE
from bench.scenario.spec import Server
from bench.servers.control import Answer, Control
from bench.servers.host import Launch
from bench.servers.runtime import Runtime
from bench.servers.server import LIVE_PATIENCE_S, POLL_S, RunningServer, Setting, Statistics
from bench.servers.torchserve_log import WorkerLog

MICROSECONDS = 1e-6
# What the log says of a worker that will not come up, whatever the retries.
DEATH_SIGNS = (
    "Backend worker process died",
    "Load model failed",
    "Auto recovery failed",
    "WorkerInitializationException",
)
MAX_MESSAGE_BYTES = 64 * 2**20


class TorchServe(RunningServer):
    """Private temporary and working folders, so that several can run at once; token authorisation off on loopback."""

    port_names = ("inference", "management", "metrics", "grpc_inference", "grpc_management")
    data_ports = {"http": "inference", "grpc": "grpc_inference"}  # noqa: RUF012 read only
    log_noise = ("ACCESS_LOG",)  # mostly our own questions
    counts_batches = False
    control_port = "management"
    images = {"cpu": "serve-bench/torchserve:cpu", "gpu": "pytorch/torchserve:0.12.0-gpu"}  # noqa: RUF012
    models_in_image = "/home/model-server/model-store"

    def __init__(self, spec: Server, model_folder: Path, runtime: Runtime, log: Path, tell: Tell) -> None:
        super().__init__(spec, model_folder, runtime, log, tell)
        self._worker_log = WorkerLog(self.process.log)

    def launch(self) -> Launch:
        folder, address = self.process.folder, self.places.address
        properties = {
            "inference_address": f"http://{address}:{self.ports['inference']}",
            "management_address": f"http://{address}:{self.ports['management']}",
            "metrics_address": f"http://{address}:{self.ports['metrics']}",
            "grpc_inference_address": address,
            "grpc_inference_port": self.ports["grpc_inference"],
            "grpc_management_address": address,
            "grpc_management_port": self.ports["grpc_management"],
            "model_store": self.places.models,
            "disable_token_authorization": "true",
            "enable_model_api": "true",
            "enable_envvars_config": "false",
            "metrics_mode": "prometheus",  # in the default mode the metrics page is empty
            "disable_system_metrics": "true",  # its collector starts a Python each minute
            "job_queue_size": JOB_QUEUE_SIZE,
            "max_request_size": MAX_MESSAGE_BYTES,
            "max_response_size": MAX_MESSAGE_BYTES,
            "default_startup_timeout": max(1, round(self.spec.startup_timeout_s)),
            "allowed_urls": "file://.*",
        }
        config = folder / "config.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
        in_image = self.spec.runtime == "container"
        scratch = "/tmp" if in_image else str(folder)  # noqa: S108 a container's own
        program = ["torchserve"] if in_image else [str(self.runtime.python), "-m", "ts.model_server"]
        seen = f"{self.places.scratch}/{config.name}"
        options = ["--start", "--foreground", "--no-config-snapshots", "--ts-config", seen]
        options += ["--model-store", self.places.models, "--disable-token-auth", "--enable-model-api"]
        environment = {
            "TS_CONFIG_FILE": seen,  # wins over --ts-config, so a user's own must not stand
            "TMPDIR": scratch,  # pid file
            "TEMP": scratch,  # worker sockets, unpacked archives
            "LOG_LOCATION": f"{scratch}/logs",
            "METRICS_LOCATION": f"{scratch}/logs",
            "PYTHONPATH": "",
            "PYTHONNOUSERSITE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": str(self.spec.threads),
        }
        if not in_image:
            environment["JAVA_HOME"] = str(self.runtime.java_home)
        return Launch((*program, *options), environment, folder, self.ports, self.model_folder)

    def is_live(self, patience_s: float = LIVE_PATIENCE_S) -> bool:
        ping = Control(self.host, self.port).ask("GET", "/ping", timeout_s=patience_s)
        return ping.ok and self.control.ask("GET", "/models", timeout_s=patience_s).ok

    def version(self) -> str:
        return str(self.control.ask("OPTIONS", "/").json()["info"]["version"])

    def serve(self, arms: Iterable[Arm]) -> None:
        arms = tuple(arms)
        for arm in arms:
            self.tell(f"{self.spec.name}: loading, {arm.name}", None)
            query = {
                "url": self._archive(arm.instances).name,
                "model_name": arm.name,
                "batch_size": arm.max_batch_size if arm.batching else 1,
                "max_batch_delay": round(arm.max_queue_delay_s * 1000) if arm.batching else 1,
                "initial_workers": arm.instances,
                "synchronous": "false",  # a worker that dies while loading is then seen at once, in the log
            }
            answer = self.control.ask("POST", "/models", query, timeout_s=self.spec.startup_timeout_s)
            if answer.status not in (200, 202):
                self.process.check_alive()
                raise ServerError(
                    f"{self.spec.name}: {arm.name} could not be registered: {_reason(answer)}",
                    self.process.log_tail(),
                )
        began = time.monotonic()
        for arm in arms:
            self._wait_for_workers(arm, began + self.spec.startup_timeout_s)
        self.process.remember_workers()

    def _wait_for_workers(self, arm: Arm, deadline: float) -> None:
        while True:
            statuses = [worker["status"] for worker in self.configuration(arm)["workers"]]
            if statuses == ["READY"] * arm.instances:
                return
            self.process.check_alive()
            log = self.process.log_text()
            if any(sign in log for sign in DEATH_SIGNS):
                raise ServerError(
                    f"{self.spec.name}: a worker of {arm.name} died while loading", self.process.log_tail(40)
                )
            if time.monotonic() > deadline:
                raise ServerError(
                    f"{self.spec.name}: {arm.name} has workers {statuses} after {self.spec.startup_timeout_s:g} s, "
                    f"expected {arm.instances} READY. Raise startup_timeout of this server, or look into "
                    f"{self.process.log}",
                    self.process.log_tail(),
                )
            self.tell(f"{self.spec.name}: waiting for workers, {arm.name}", None)
            time.sleep(POLL_S)

    def withdraw(self, arms: Iterable[Arm]) -> None:
        self.process.forget_workers()
        for arm in arms:
            self.control.ask("DELETE", f"/models/{arm.name}", timeout_s=30)

    def configuration(self, arm: Arm) -> dict[str, Any]:
        answer = self.control.ask("GET", f"/models/{arm.name}")
        if not answer.ok:
            self.process.check_alive()
            raise ServerError(f"{self.spec.name}: no configuration of {arm.name} to read back: {_reason(answer)}")
        found: dict[str, Any] = answer.json()[0]
        return found

    def sent_configuration(self, arm: Arm) -> dict[str, bytes]:
        with zipfile.ZipFile(self._archive(self.spec.instances)) as archive:
            model_config = archive.read("model-config.yaml")
        properties = (self.process.folder / "config.properties").read_bytes()
        return {"config.properties": properties, "model-config.yaml": model_config}

    def _archive(self, instances: int) -> Path:
        """The one that asks for so many workers: its own count wins at registration."""
        archives = sorted(self.model_folder.glob("*.mar"))
        alone = [archive for archive in archives if archive.stem.endswith(ONE_INSTANCE)]
        return alone[0] if alone and instances == 1 else next(path for path in archives if path not in alone)

    def read_back(self, arm: Arm) -> tuple[Setting, ...]:
        found = self.configuration(arm)
        queue = found["jobQueueStatus"]
        settings = [
            Setting("max_batch_size", arm.max_batch_size if arm.batching else 1, found["batchSize"]),
            Setting("instances", arm.instances, sum(w["status"] == "READY" for w in found["workers"])),
            Setting("device", {self.spec.device}, {"gpu" if w.get("gpu") else "cpu" for w in found["workers"]}),
            Setting(
                "max_queue_size",
                self.spec.max_queue_size or JOB_QUEUE_SIZE,
                queue["remainingCapacity"] + queue["pendingRequests"],
            ),
        ]
        if arm.batching:
            settings.append(
                Setting("max_queue_delay (ms)", round(arm.max_queue_delay_s * 1000), found["maxBatchDelay"])
            )
        return tuple(settings)

    def serving_processes(self, arm: Arm) -> tuple[int, ...]:
        ready = [worker["pid"] for worker in self.configuration(arm)["workers"] if worker["status"] == "READY"]
        return tuple(pid for pid in map(self.process.outside, ready) if pid)

    def statistics(self, arm: Arm) -> Statistics:
        answer = Control(self.host, self.ports["metrics"]).ask("GET", "/metrics")
        if not answer.ok:
            self.process.check_alive()
            raise ServerError(f"{self.spec.name}: no metrics: {_reason(answer)}")
        sums = {
            sample.name: sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
            if sample.labels.get("model_name") == arm.name
        }

        # A counter is absent until its first event, and the parser appends _total to counters that lack it.
        def total(name: str) -> float:
            return sums.get(name, sums.get(f"{name}_total", 0.0))

        return Statistics(
            requests=int(total("ts_inference_requests_total")),
            queue_s=total("ts_queue_latency_microseconds") * MICROSECONDS,
            compute_s=None,
            total_s=total("ts_inference_latency_microseconds") * MICROSECONDS,
            held=self._worker_log.held(arm.name),
        )


def _reason(answer: Answer) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status} {answer.text[:200]}"
