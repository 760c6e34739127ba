from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", ResourceWarning)
    import model_archiver  # noqa: F401 leaves its version.txt open when it is imported

from bench.models.model import ServedModel, Tensor


@pytest.fixture
def model(tmp_path: Path) -> ServedModel:
    """Two inputs and their sum, from a source and weights of a few bytes."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "adder.py").write_text("def load(folder):\n    return lambda rows: rows.sum(axis=1, keepdims=True)\n")
    (folder / "weights.pt").write_bytes(b"\x00weights\xff")
    return ServedModel(
        name="adder",
        input=Tensor("INPUT", "FP32", (2,)),
        output=Tensor("OUTPUT", "FP32", (1,)),
        source=folder / "adder.py",
        files=(folder / "weights.pt",),
        settings={"c_s": 0.004},
        payloads=np.ones((3, 2), dtype=np.float32),
        expected=np.full((3, 1), 2, dtype=np.float32),
        labels=None,
    )
