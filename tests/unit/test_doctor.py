"""What `doctor` looks at, on this machine and on worse ones."""

from __future__ import annotations

import json
import os
from collections import namedtuple
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench import doctor, environment
from bench.cli import app
from bench.commands import Ended
from bench.doctor import diagnose, works
from bench.errors import ServerError

Usage = namedtuple("Usage", "total used free")


def found(what: str) -> doctor.Finding:
    return next(finding for finding in diagnose() if finding.what == what)


def test_every_finding_says_what_it_found_and_what_is_not_well_says_what_to_do() -> None:
    findings = diagnose()
    assert len({finding.what for finding in findings}) == len(findings) >= 12
    for finding in findings:
        assert finding.found, finding
        assert finding.remedy or finding.state != "missing", finding


def test_a_cache_without_room_for_the_runtime_stops_servers_as_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVE_BENCH_CACHE", str(tmp_path / "cache"))
    assert found("server runtime").state == "note"
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: Usage(2e9, 1e9, 1e9))
    finding = found("cache folder")
    assert (finding.state, "1.6 GB" in finding.remedy) == ("missing", True)
    assert not works(diagnose())


def test_small_shared_memory_is_what_a_container_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: Usage(64e6, 10e6, 54e6))
    assert found("shared memory").remedy == "in a container: --shm-size=1g"


@pytest.mark.parametrize(
    ("said", "status", "state", "remedy"),
    [
        ("20.10.24 amd64\n", 0, "ok", ""),
        ("Got permission denied while trying to connect to the Docker daemon\n", 1, "missing", "group docker"),
        ("Cannot connect to the Docker daemon\n", 1, "missing", "systemctl start docker"),
    ],
)
def test_docker_is_told_from_no_rights_and_from_no_daemon(
    monkeypatch: pytest.MonkeyPatch, said: str, status: int, state: str, remedy: str
) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda _: "/usr/bin/docker")
    monkeypatch.setattr(doctor, "run_command", lambda _: Ended(status, said))
    finding = found("Docker")
    assert finding.state == state
    assert remedy in finding.remedy


def test_a_gpu_that_is_not_there_is_told_as_doctor_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "gpus", list)
    monkeypatch.setattr(doctor, "gpus", list)
    with pytest.raises(ServerError) as told:
        environment.demand_gpu(["triton"])
    finding = found("GPU")
    assert finding.found in str(told.value)
    assert finding.remedy in str(told.value)
    environment.demand_gpu([])
    monkeypatch.setattr(environment, "gpus", lambda: ["a GPU"])
    environment.demand_gpu(["triton"])


def test_the_command_prints_a_table_or_one_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "COLUMNS", "160")
    ended = CliRunner().invoke(app, ["doctor"])
    assert ended.exit_code == 0, ended.output
    assert "server runtime" in ended.output
    document = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).output)
    assert document["works"]
    assert {"of", "what", "state", "found", "remedy"} == set(document["findings"][0])
