"""What goes wrong with real servers: the right exit code, a reason, everything measured kept, nothing left running."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import signal
import socket
import subprocess
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from desk import CALIBRATED, DIGITS, Desk, Ended, server_processes

from bench.servers.runtime import Runtime, cache_folder, ensure_runtime

pytestmark = pytest.mark.together

DYING = "def load(folder):\n    import os\n    os._exit(7)\n"
WRONG = "def load(folder):\n    return lambda pixels: pixels.sum(axis=1, keepdims=True).repeat(2, axis=1) + 1\n"
Interrupt = Callable[[subprocess.Popen[str], str, signal.Signals], Ended]


def built(desk: Desk, text: str) -> str:
    scenario = str(desk.write("scenario.yaml", text))
    assert desk.run("build", scenario).code == 0
    return scenario


def replace_in_artifact(desk: Desk, server: str, name: str, change: Callable[[bytes], bytes]) -> None:
    """Changes one file of the artifact that `server` will be given."""
    if server == "triton":
        (file,) = (desk.folder / "triton_repo").glob(f"*/triton/*[!0-9f]/1/{name}")
        file.write_bytes(change(file.read_bytes()))
        return
    (archive,) = (desk.folder / "model_stores").glob("*/torchserve/*.mar")
    with zipfile.ZipFile(archive) as old:
        files = {entry: old.read(entry) for entry in old.namelist()}
    files[name] = change(files[name])
    with zipfile.ZipFile(archive, "w") as new:
        for entry, content in files.items():
            new.writestr(entry, content)


def with_one_weight_altered(weights: bytes) -> bytes:
    """Adds 0.05 to one weight of a float tensor in a torch archive, without torch: its storages are plain entries."""
    with zipfile.ZipFile(io.BytesIO(weights)) as old:
        files = {entry: old.read(entry) for entry in old.namelist()}
    storage = next(name for name in sorted(files) if name.endswith("/data/2"))
    import struct

    (value,) = struct.unpack("<f", files[storage][:4])
    files[storage] = struct.pack("<f", value + 0.05) + files[storage][4:]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        for entry, content in files.items():
            new.writestr(entry, content)
    return out.getvalue()


@pytest.mark.parametrize("server", ["triton", "torchserve"])
def test_one_altered_weight_is_an_invalid_run_that_names_the_output(desk: Desk, server: str) -> None:
    scenario = built(desk, DIGITS)
    replace_in_artifact(desk, server, "weights.pt", with_one_weight_altered)
    ended = desk.run("run", scenario)
    assert ended.code == 4, ended.out + ended.err
    assert f"{server} answers wrongly: output [" in ended.err
    assert "off by" in ended.err
    assert "changed since it was built" in ended.out
    assert ended.seconds < 60


@pytest.mark.parametrize("server", ["triton", "torchserve"])
def test_a_model_that_answers_wrongly_is_an_invalid_run(desk: Desk, server: str) -> None:
    scenario = built(desk, CALIBRATED)
    replace_in_artifact(desk, server, "served_model.py", lambda _: WRONG.encode())
    ended = desk.run("run", scenario)
    assert ended.code == 4, ended.out + ended.err
    assert "off by 1, allowed 0.0001" in ended.err
    assert ended.seconds < 60


@pytest.mark.parametrize("server", ["triton", "torchserve"])
def test_a_server_that_dies_while_loading_is_told_with_its_log(desk: Desk, server: str) -> None:
    scenario = built(desk, CALIBRATED)
    replace_in_artifact(desk, server, "served_model.py", lambda _: DYING.encode())
    ended = desk.run("run", scenario, "--server", server)
    assert ended.code == 3, ended.out + ended.err
    assert server in ended.err
    assert len(ended.err.splitlines()) > 5
    assert "Traceback (most recent call last):\n  File" not in ended.err.replace("\n  ", "\n")
    assert ended.seconds < 60


class Bomb:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return (Path.touch, (self.file,))


@pytest.mark.parametrize("server", ["triton", "torchserve"])
def test_weights_that_would_run_code_are_not_loaded(desk: Desk, server: str) -> None:
    scenario = built(desk, DIGITS)
    ran = desk.folder / "ran"
    replace_in_artifact(desk, server, "weights.pt", lambda _: pickle.dumps(Bomb(ran)))
    ended = desk.run("run", scenario, "--server", server)
    assert ended.code == 3, ended.out + ended.err
    assert not ran.exists()
    pickle.loads(pickle.dumps(Bomb(ran)))  # noqa: S301 it would have
    assert ran.exists()


@pytest.mark.parametrize(("server", "port"), [("triton", "http"), ("torchserve", "grpc_management")])
def test_a_port_that_someone_else_holds_is_named(desk: Desk, server: str, port: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        number = held.getsockname()[1]
        scenario = str(desk.write("scenario.yaml", CALIBRATED))
        ended = desk.run("run", scenario, "--server", server, "--set", f"servers.{server}.ports={{{port}: {number}}}")
    assert ended.code == 3
    assert f"port {number} (ports.{port}) is not free" in ended.err
    assert f"held by process {os.getpid()}" in ended.err
    assert ended.seconds < 60


@pytest.mark.parametrize("server", ["triton", "torchserve"])
def test_a_server_killed_while_it_is_measured_is_told_and_what_was_measured_kept(desk: Desk, server: str) -> None:
    process = desk.start("run", str(desk.write("scenario.yaml", CALIBRATED)), "--server", server)
    assert process.stderr is not None
    next(line for line in process.stderr if "calibrating" in line)
    for victim in server_processes(desk):
        victim.kill()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert "SIGKILL" in err or "exited with status" in err
    manifest = json.loads((desk.only_run("calibrated") / "manifest.json").read_text())
    assert manifest["status"] == "failed"
    assert manifest["exit_code"] == 3


@pytest.mark.parametrize(
    ("step", "which"),
    [
        ("starting", signal.SIGINT),
        ("loading, calibrated", signal.SIGTERM),
        ("calibrating", signal.SIGINT),
        ("60/s, replication 1", signal.SIGTERM),
    ],
)
def test_an_interrupt_stops_the_server_and_keeps_what_was_measured(
    desk: Desk, interrupt_after: Interrupt, step: str, which: signal.Signals
) -> None:
    arguments = ("--server", "triton", "--set", "calibration.max_duration=4s", "--set", "load.duration=10s")
    process = desk.start("run", str(desk.write("scenario.yaml", CALIBRATED)), *arguments)
    ended = interrupt_after(process, step, which)
    assert ended.code == 130, ended.out + ended.err
    assert ended.seconds < 30
    run = desk.only_run("calibrated")
    assert json.loads((run / "manifest.json").read_text())["status"] == "interrupted"
    assert (run / "calibration.csv").exists() == ("calibrating" in step or "replication" in step)
    assert any(run.glob("samples/triton/rate=*")) == ("replication" in step)


def test_a_runtime_with_a_file_missing_is_noticed_and_made_anew(desk: Desk) -> None:
    whole = ensure_runtime(cache_folder(), lambda _text, _fraction: None)
    cache = desk.folder / "cache"
    copy = Runtime(cache / "runtimes" / whole.root.name)
    subprocess.run(["cp", "-al", "--", whole.root, _parent(copy)], check=True)
    missing = copy.site_packages / "torch" / "version.py"
    missing.unlink()
    scenario = str(desk.write("scenario.yaml", CALIBRATED))
    ended = desk.run("build", scenario, SERVE_BENCH_CACHE=str(cache))
    assert ended.code == 0, ended.err
    assert "torch/version.py is missing; making it anew" in ended.err
    assert missing.exists()
    again = desk.run("build", scenario, SERVE_BENCH_CACHE=str(cache))
    assert "making it anew" not in again.err
    shutil.rmtree(cache)


def _parent(copy: Runtime) -> Path:
    copy.root.parent.mkdir(parents=True)
    return copy.root.parent


def test_two_builds_at_different_times_are_the_same_bytes(desk: Desk) -> None:
    scenario = built(desk, DIGITS)
    first = snapshot(desk.folder)
    time.sleep(2.1)  # zip entries count in steps of two seconds
    assert desk.run("build", scenario, "--rebuild").code == 0
    assert snapshot(desk.folder) == first
    assert any(name.endswith(".mar") for name in first)
    assert any(name.endswith("config.pbtxt") for name in first)


def snapshot(folder: Path) -> dict[str, bytes]:
    tops = [folder / "model_stores", folder / "triton_repo"]
    return {str(f.relative_to(folder)): f.read_bytes() for top in tops for f in sorted(top.rglob("*")) if f.is_file()}
