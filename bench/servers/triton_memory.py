"""How much shared memory a container must give Triton's Python backend."""

from __future__ import annotations

import math
from pathlib import Path

from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2 as pb

LEAST = 256 * 2**20  # what the server itself, its other backends and an image's libraries ask for
REGION = 2**20  # of a stub from the start; it grows, and does not shrink
COPIES = 4  # of a full batch's tensors: going in and coming out, of the batch that runs and of the one prepared


def shared_bytes(repository: Path) -> int:
    """For every instance of every model of a repository, so that all may be loaded at once. Docker's own 64 MB end with
    a bus error in the middle of a run."""
    needed = LEAST
    for file in repository.glob("*/config.pbtxt"):
        config = text_format.Parse(file.read_text(encoding="utf-8"), pb.ModelConfig())
        rows = max(1, config.max_batch_size)
        numbers = sum(math.prod(tensor.dims) for tensor in (*config.input, *config.output))
        instances = sum(group.count for group in config.instance_group)
        needed += instances * (REGION + COPIES * rows * numbers * 8)
    return needed
