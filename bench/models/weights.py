"""Weights that a script makes once: kept in the cache under their recipe, with the checksum that proves them whole."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path


def cached_weights(cache: Path, name: str, recipe: Iterable[bytes], make: Callable[[Path], None]) -> Path:
    """The weights of model `name`: those in the cache when they are whole, else what `make` writes to its argument.

    recipe: all that they depend on; another recipe is another folder. `make` may keep files of its own beside its
    argument, in a folder that is gone afterwards; when it raises, nothing stays that could be taken for weights.
    """
    folder = cache / f"{name}-{hashlib.sha256(b''.join(recipe)).hexdigest()[:12]}"
    weights, checksum = folder / "weights.pt", folder / "weights.sha256"
    if not is_whole(weights, checksum):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch) / weights.name  # the file's name is part of what torch writes
            make(made)
            checksum.unlink(missing_ok=True)
            made.replace(weights)
            checksum.write_text(_sha256(weights))
    return weights


def is_whole(weights: Path, checksum: Path) -> bool:
    """Whether the weights are those that the checksum was written for."""
    try:
        return _sha256(weights) == checksum.read_text()
    except OSError:
        return False


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
