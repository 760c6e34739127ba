"""Both real servers in containers: the same run, no rights that they do not need, nothing left."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pandas as pd
import pytest
from desk import Desk

SHORT = """
name: contained
model: {zoo: calibrated, c: 8ms, m: 4ms}
servers:
  triton:     {kind: triton, max_batch_size: 8}
  torchserve: {kind: torchserve, max_batch_size: 8}
calibration: {batch_sizes: [1, 4, 8], precision: 5%, max_duration: 4s}
load: {rates: [20], duration: 2s, warmup: 500ms, replications: 1}
"""
IMAGES = {"triton": "serve-bench/tritonserver:cpu", "torchserve": "serve-bench/torchserve:cpu"}


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout


def missing() -> str:
    """Why containers cannot be tested here, or an empty string."""
    if shutil.which("docker") is None:
        return "no docker command"
    if subprocess.run(["docker", "info"], capture_output=True).returncode != 0:
        return "no Docker daemon answers"
    absent = [
        image
        for image in IMAGES.values()
        if subprocess.run(["docker", "image", "inspect", image], capture_output=True).returncode != 0
    ]
    return f"not here: {', '.join(absent)} (make images)" if absent else ""


pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.together,
]


def ours(desk: Desk) -> list[dict[str, Any]]:
    """The containers that came of this desk: what they mount lies in its temporary folder."""
    found = []
    for name in docker("ps", "-aq", "--filter", "label=serve-bench.run").split():
        asked = subprocess.run(["docker", "inspect", name], capture_output=True, text=True)
        found += json.loads(asked.stdout) if asked.returncode == 0 else []  # another test's may be gone by now
    return [one for one in found if any(str(desk.temporary) in mount["Source"] for mount in one["Mounts"])]


def until(process: subprocess.Popen[str], step: str) -> str:
    assert process.stderr is not None
    seen = ""
    for line in process.stderr:
        seen += line
        if step in line:
            return seen
    raise AssertionError(seen)


def test_a_run_in_containers_with_no_more_rights_than_it_needs(desk: Desk) -> None:
    process = desk.start("run", str(desk.write("scenario.yaml", SHORT)), "--runtime", "container")
    for server in IMAGES:
        until(process, f"{server}: calibrating")
        (found,) = ours(desk)
        settings = found["HostConfig"]
        assert (settings["Privileged"], settings["CapAdd"], settings["CapDrop"]) == (False, None, ["ALL"])
        assert settings["SecurityOpt"] == ["no-new-privileges"]
        assert settings["NetworkMode"] in ("default", "bridge")
        assert (settings["PidMode"], settings["IpcMode"]) == ("", "private")
        bound = [binding for port in settings["PortBindings"].values() for binding in port]
        assert {binding["HostIp"] for binding in bound} == {"127.0.0.1"}
        writable = {mount["Destination"] for mount in found["Mounts"] if mount["RW"]}
        assert writable <= {"/serve-bench"}
        assert len(found["Mounts"]) == 2
        assert not any("docker.sock" in mount["Source"] for mount in found["Mounts"])
        assert found["Config"]["User"] == ("model-server" if server == "torchserve" else "")
        assert settings["ShmSize"] >= (256 * 2**20 if server == "triton" else 64 * 2**20)
    out, err = process.communicate(timeout=200)
    assert process.returncode in (0, 1, 4), out + err  # 1, 4: a disturbed host
    assert ours(desk) == []
    run = desk.only_run("contained")
    verdicts = pd.read_csv(run / "verdicts.csv").set_index(["check", "server"])["outcome"]
    for server, image in IMAGES.items():
        assert verdicts["answers", server] == "holds"
        assert verdicts["batch sizes", server] == "holds"
        digest = json.loads((run / "manifest.json").read_text())["image_digests"][server]
        assert digest.split()[0] == docker("image", "inspect", "--format", "{{.Id}}", image).strip()
        assert len((run / "servers" / server / "server.log").read_text().splitlines()) > 10
    fits = pd.read_csv(run / "fit.csv").set_index(["server", "layer"])
    for server in IMAGES:
        assert fits.loc[(server, "compute"), "m_s"] == pytest.approx(0.004, rel=0.1)


def test_a_killed_tool_leaves_no_container_once_it_is_cleaned(desk: Desk) -> None:
    scenario = str(desk.write("scenario.yaml", SHORT))
    process = desk.start("run", scenario, "--runtime", "container", "--server", "triton")
    until(process, "calibrating")
    process.kill()
    process.communicate(timeout=30)
    (left,) = ours(desk)
    ended = json.loads(desk.run("clean", "--json").out)["ended"]
    assert [one["containers"] for one in ended] == [[left["Name"].lstrip("/")]]
    assert ours(desk) == []


def test_a_server_killed_inside_its_container_is_told(desk: Desk) -> None:
    scenario = str(desk.write("scenario.yaml", SHORT))
    process = desk.start("run", scenario, "--runtime", "container", "--server", "torchserve")
    until(process, "calibrating")
    (found,) = ours(desk)
    docker("kill", "--signal", "KILL", found["Id"])
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert "container was ended, with exit status 137" in err or "its worker" in err
    assert ours(desk) == []


def test_an_image_that_is_not_to_be_had_is_told_in_one_line(desk: Desk) -> None:
    scenario = str(desk.write("scenario.yaml", SHORT))
    image = "servers.triton.image=127.0.0.1:9/nowhere/triton:1"
    ended = desk.run("run", scenario, "--runtime", "container", "--server", "triton", "--set", image)
    assert ended.code == 3
    (line,) = [line for line in ended.err.splitlines() if line.startswith("Error")]
    assert "127.0.0.1:9/nowhere/triton:1" in line
    assert "make images" in line
    assert ours(desk) == []
