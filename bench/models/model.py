"""What is served, as every server sees it: names, shapes, files, real requests and their right answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's name, KServe datatype and shape without the batch dimension."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model ready to be packed.

    source: module with `load(folder) -> predict`; files: what it loads beside settings.json.
    payloads (n, *input shape) are real requests, expected (n, outputs) the in-process answers to them; labels (n,) are
    the truth where the model classifies, else None. has_clock: each answer has one output more, the last: the seconds
    that the model held the batch, by its own clock.
    """

    name: str
    input: Tensor
    output: Tensor
    source: Path
    files: tuple[Path, ...]
    settings: Mapping[str, float | str]
    payloads: Floats
    expected: Floats
    labels: npt.NDArray[np.int64] | None
    has_clock: bool = False

    def accuracy(self, answers: Floats) -> float | None:
        """Share of answers whose largest output is the label's; None for a model that does not classify."""
        if self.labels is None:
            return None
        return float((answers.argmax(axis=1) == self.labels).mean())
