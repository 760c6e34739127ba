"""Model + server spec -> a Triton model repository, its config.pbtxt written from the ModelConfig protobuf."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2 as pb

from bench.artifacts.sources import SERVED, model_files
from bench.models.model import ServedModel, Tensor
from bench.scenario.arms import Arm
from bench.scenario.spec import Server

MICROSECONDS = 1e6


def model_config(model: ServedModel, server: Server, arm: Arm) -> pb.ModelConfig:
    """The ModelConfig of one arm, with every setting explicit that has a default one could trip over."""
    config = pb.ModelConfig(name=arm.name, backend="python", max_batch_size=arm.max_batch_size)
    for tensors, tensor in ((config.input, model.input), (config.output, model.output)):
        _describe(tensors.add(), tensor)
    config.instance_group.add(
        count=arm.instances,
        kind=pb.ModelInstanceGroup.Kind.Value(f"KIND_{server.device.upper()}"),
        gpus=[0] if server.device == "gpu" else [],  # without a list, so many instances on every GPU there is
    )
    config.version_policy.specific.versions.append(1)
    if arm.batching:
        delay_us = round(arm.max_queue_delay_s * MICROSECONDS)
        config.dynamic_batching.max_queue_delay_microseconds = delay_us
        config.dynamic_batching.preserve_ordering = False
        if arm.max_queue_size is not None:
            config.dynamic_batching.default_queue_policy.max_queue_size = arm.max_queue_size
        config.dynamic_batching.SetInParent()  # a delay of 0 alone would leave the block out: no batching at all
    return config


def build_repository(model: ServedModel, server: Server, arms: Iterable[Arm], folder: Path) -> tuple[Path, ...]:
    """One model folder per arm under `folder`, which is emptied first; the folders made."""
    shutil.rmtree(folder, ignore_errors=True)  # a version left over from before would be served
    made = []
    for arm in arms:
        version = folder / arm.name / "1"
        version.mkdir(parents=True)
        (version / "model.py").write_bytes((SERVED / "triton_model.py").read_bytes())
        for name, content in model_files(model, server).items():
            (version / name).write_bytes(content)
        text = text_format.MessageToString(model_config(model, server, arm))
        (folder / arm.name / "config.pbtxt").write_text(text, encoding="utf-8")
        made.append(folder / arm.name)
    return tuple(made)


def _describe(target: pb.ModelInput | pb.ModelOutput, tensor: Tensor) -> None:
    target.name = tensor.name
    target.data_type = pb.DataType.Value(f"TYPE_{tensor.datatype}")
    target.dims.extend(tensor.shape)
