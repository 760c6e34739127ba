"""The .mar is made by the real torch-model-archiver."""

from __future__ import annotations

import json
import os
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from bench.artifacts.torchserve import build_archive, build_archives, model_config
from bench.models.model import ServedModel
from bench.scenario.spec import Server

SERVER = Server(
    "torchserve", "torchserve", instances=2, threads=3, max_batch_size=8, max_queue_delay_s=0.25, startup_timeout_s=45
)
CONFIG = {
    "minWorkers": 2,
    "maxWorkers": 2,
    "batchSize": 8,
    "maxBatchDelay": 250,
    "responseTimeout": 120,
    "startupTimeout": 45,
    "deviceType": "cpu",
    "jobQueueSize": 100_000,
    "useJobTicket": False,
    "asyncCommunication": False,
    "continuousBatching": False,
    "sequenceBatching": False,
    "maxRetryTimeoutInSec": 5,
    "clientTimeoutInMills": 0,
}


def contents(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        assert opened.testzip() is None
        return {name: opened.read(name) for name in opened.namelist()}


def test_an_archive_holds_the_model_its_weights_its_settings_and_the_handler(
    model: ServedModel, tmp_path: Path
) -> None:
    archive = build_archive(model, SERVER, tmp_path / "store")
    assert archive == tmp_path / "store" / "adder.mar"
    found = contents(archive)
    assert set(found) == {
        "MAR-INF/MANIFEST.json", "model-config.yaml", "handler.py", "served_model.py", "settings.json", "weights.pt",
    }  # fmt: skip
    assert found["weights.pt"] == b"\x00weights\xff"
    assert found["served_model.py"] == model.source.read_bytes()
    assert json.loads(found["settings.json"]) == {"c_s": 0.004, "threads": 3, "device": "cpu"}
    assert b"class Handler" in found["handler.py"]


def test_the_manifest_names_the_files_as_torchserve_looks_for_them(model: ServedModel, tmp_path: Path) -> None:
    manifest = json.loads(contents(build_archive(model, SERVER, tmp_path))["MAR-INF/MANIFEST.json"])
    assert manifest["runtime"] == "python"
    assert manifest["createdOn"] == "01/01/1980 00:00:00"
    assert manifest["model"] == {
        "modelName": "adder",
        "serializedFile": "weights.pt",
        "handler": "handler.py",
        "modelVersion": "1.0",
        "configFile": "model-config.yaml",
    }
    assert manifest["archiverVersion"]


def test_a_queue_limit_reaches_the_archive(model: ServedModel, tmp_path: Path) -> None:
    archive = build_archive(model, replace(SERVER, max_queue_size=64), tmp_path)
    assert YAML(typ="safe").load(contents(archive)["model-config.yaml"]) == {**CONFIG, "jobQueueSize": 64}


def test_the_model_config_has_every_setting_and_no_other(model: ServedModel, tmp_path: Path) -> None:
    written = contents(build_archive(model, SERVER, tmp_path))["model-config.yaml"]
    assert YAML(typ="safe").load(written) == CONFIG


def test_the_model_config_is_in_torchserves_units() -> None:
    assert model_config(replace(SERVER, max_queue_delay_s=0.005))["maxBatchDelay"] == 5  # ms
    assert model_config(replace(SERVER, startup_timeout_s=0.2))["startupTimeout"] == 1  # s; 0 would be none at all


def test_an_archive_without_weights_has_no_serialized_file(model: ServedModel, tmp_path: Path) -> None:
    found = contents(build_archive(replace(model, files=()), SERVER, tmp_path))
    assert "weights.pt" not in found
    assert "serializedFile" not in json.loads(found["MAR-INF/MANIFEST.json"])["model"]


def test_a_second_weights_file_is_in_the_archive_too(model: ServedModel, tmp_path: Path) -> None:
    more = tmp_path / "labels.txt"
    more.write_text("zero one")
    found = contents(build_archive(replace(model, files=(*model.files, more)), SERVER, tmp_path / "store"))
    assert found["labels.txt"] == b"zero one"
    assert found["weights.pt"] == b"\x00weights\xff"


def test_archives_made_at_different_moments_are_the_same_to_the_byte(model: ServedModel, tmp_path: Path) -> None:
    first = build_archive(model, SERVER, tmp_path / "first").read_bytes()
    os.utime(model.source, (1_000_000_000, 1_000_000_000))
    time.sleep(2.1)  # a zip's clock ticks every 2 s
    assert build_archive(model, SERVER, tmp_path / "second").read_bytes() == first


def test_another_setting_or_another_weight_makes_another_archive(model: ServedModel, tmp_path: Path) -> None:
    first = build_archive(model, SERVER, tmp_path / "first").read_bytes()
    assert build_archive(model, replace(SERVER, max_batch_size=9), tmp_path / "second").read_bytes() != first
    model.files[0].write_bytes(b"\x00weights\xfe")
    assert build_archive(model, SERVER, tmp_path / "third").read_bytes() != first


@pytest.mark.parametrize("field", ["date_time", "external_attr"])
def test_nothing_in_the_archive_tells_when_or_by_whom_it_was_made(
    model: ServedModel, tmp_path: Path, field: str
) -> None:
    expected = {"date_time": (1980, 1, 1, 0, 0, 0), "external_attr": 0o644 << 16}
    with zipfile.ZipFile(build_archive(model, SERVER, tmp_path)) as archive:
        assert {getattr(entry, field) for entry in archive.infolist()} == {expected[field]}
        assert archive.namelist() == sorted(archive.namelist())


def test_several_workers_have_an_archive_for_one_beside_theirs(model: ServedModel, tmp_path: Path) -> None:
    assert build_archives(model, replace(SERVER, instances=1), tmp_path / "one") == (tmp_path / "one" / "adder.mar",)
    both = build_archives(model, replace(SERVER, instances=3), tmp_path / "three")
    assert [path.name for path in both] == ["adder.mar", "adder_one.mar"]
    counts = [YAML(typ="safe").load(contents(path)["model-config.yaml"]) for path in both]
    assert [(count["minWorkers"], count["maxWorkers"]) for count in counts] == [(3, 3), (1, 1)]
