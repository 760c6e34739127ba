"""Every config.pbtxt is read back by the protobuf that Triton publishes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2 as pb

from bench.artifacts.triton import build_repository
from bench.models.model import ServedModel
from bench.scenario.arms import Arm, all_arms, batching_off, production
from bench.scenario.spec import Server

SERVER = Server("triton", "triton", instances=2, threads=3, max_batch_size=8, max_queue_delay_s=0.00025)


def read_back(folder: Path) -> pb.ModelConfig:
    return text_format.Parse((folder / "config.pbtxt").read_text(), pb.ModelConfig())


@pytest.fixture
def configs(model: ServedModel, tmp_path: Path) -> dict[str, pb.ModelConfig]:
    arms = all_arms("adder", SERVER, (1, 4))
    return {made.name: read_back(made) for made in build_repository(model, SERVER, arms, tmp_path / "repository")}


def test_each_arm_is_a_model_of_its_own(configs: dict[str, pb.ModelConfig]) -> None:
    assert list(configs) == ["adder", "adder_off", "adder_b1", "adder_b4", "adder_n2_b1", "adder_n2_b4"]
    assert [config.name for config in configs.values()] == list(configs)


@pytest.mark.parametrize(
    ("name", "largest", "instances", "delay_us"),
    [
        ("adder", 8, 2, 250),
        ("adder_off", 8, 1, None),
        ("adder_b1", 1, 1, 5_000_000),
        ("adder_b4", 4, 1, 5_000_000),
        ("adder_n2_b4", 4, 2, 5_000_000),
    ],
)
def test_an_arm_is_configured_as_asked(
    configs: dict[str, pb.ModelConfig], name: str, largest: int, instances: int, delay_us: int | None
) -> None:
    config = configs[name]
    assert config.backend == "python"
    assert config.max_batch_size == largest
    (group,) = config.instance_group
    assert (group.count, group.kind) == (instances, pb.ModelInstanceGroup.KIND_CPU)
    assert list(config.version_policy.specific.versions) == [1]
    assert config.HasField("dynamic_batching") is (delay_us is not None)
    if delay_us is not None:
        assert config.dynamic_batching.max_queue_delay_microseconds == delay_us
        assert config.dynamic_batching.preserve_ordering is False
        assert list(config.dynamic_batching.preferred_batch_size) == []


def test_the_tensors_are_those_of_the_model(configs: dict[str, pb.ModelConfig]) -> None:
    for config in configs.values():
        (given,), (answered,) = config.input, config.output
        assert (given.name, given.data_type, list(given.dims)) == ("INPUT", pb.TYPE_FP32, [2])
        assert (answered.name, answered.data_type, list(answered.dims)) == ("OUTPUT", pb.TYPE_FP32, [1])


def test_a_delay_of_0_still_asks_for_batching(model: ServedModel, tmp_path: Path) -> None:
    arm = production("adder", replace(SERVER, max_queue_delay_s=0.0))
    (folder,) = build_repository(model, SERVER, [arm], tmp_path / "repository")
    assert "dynamic_batching" in (folder / "config.pbtxt").read_text()
    config = read_back(folder)
    assert config.HasField("dynamic_batching")
    assert config.dynamic_batching.max_queue_delay_microseconds == 0


def test_a_queue_limit_is_the_models_own_and_no_measuring_arms(model: ServedModel, tmp_path: Path) -> None:
    arms = all_arms("adder", replace(SERVER, max_queue_size=64), [4])
    folders = build_repository(model, SERVER, arms, tmp_path / "repository")
    policies = [read_back(folder).dynamic_batching.default_queue_policy.max_queue_size for folder in folders]
    assert policies == [64, 0, 0, 0]


def test_batching_off_has_no_batching_block(model: ServedModel, tmp_path: Path) -> None:
    (folder,) = build_repository(model, SERVER, [batching_off("adder", SERVER)], tmp_path / "repository")
    text = (folder / "config.pbtxt").read_text()
    assert "dynamic_batching" not in text
    assert "sequence_batching" not in text


def test_a_model_folder_has_what_the_python_backend_loads(model: ServedModel, tmp_path: Path) -> None:
    (folder,) = build_repository(model, SERVER, [production("adder", SERVER)], tmp_path / "repository")
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    assert set(files) == {"config.pbtxt", "1/model.py", "1/served_model.py", "1/settings.json", "1/weights.pt"}
    assert files["1/served_model.py"].read_bytes() == model.source.read_bytes()
    assert files["1/weights.pt"].read_bytes() == b"\x00weights\xff"
    assert json.loads(files["1/settings.json"].read_text()) == {"c_s": 0.004, "threads": 3, "device": "cpu"}
    assert "class TritonPythonModel" in files["1/model.py"].read_text()


def test_a_model_left_over_from_before_is_not_in_the_repository(model: ServedModel, tmp_path: Path) -> None:
    old, new = Arm("old", 1, 0.0, True, 1), Arm("new", 1, 0.0, True, 1)
    build_repository(model, SERVER, [old], tmp_path / "repository")
    build_repository(model, SERVER, [new], tmp_path / "repository")
    assert [path.name for path in (tmp_path / "repository").iterdir()] == ["new"]
