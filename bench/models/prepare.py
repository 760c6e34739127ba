"""Scenario model -> ServedModel: trained where it must be, with the in-process answers to every request.

Training and answering run in the servers' own Python, so that torch is there only once and the reference
answers come from the very libraries that serve.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench.commands import run_command
from bench.errors import ServerError
from bench.models import digits
from bench.models.model import Floats, ServedModel, Tensor
from bench.progress import Tell
from bench.scenario.spec import Calibrated, Digits, Model

ZOO = Path(__file__).parent / "zoo"
PIXELS = Tensor("INPUT", "FP32", (64,))


def prepare(model: Model, python: Path, cache: Path, tell: Tell) -> ServedModel:
    """The model of a scenario, ready to pack. `python` is the servers' interpreter, `cache` keeps weights.

    Raises ServerError with the end of the script's output when training or answering fails.
    """
    makers: dict[type, Callable[[], ServedModel]] = {
        Calibrated: lambda: _calibrated(model),  # type: ignore[arg-type]
        Digits: lambda: _digits_cnn(python, cache, tell),
    }
    return makers[type(model)]()


def _calibrated(spec: Calibrated) -> ServedModel:
    _, held_out = digits.training_and_held_out()
    return ServedModel(
        name="calibrated",
        input=PIXELS,
        output=Tensor("OUTPUT", "FP32", (1,)),
        source=ZOO / "calibrated.py",
        files=(),
        settings={"c_s": spec.c_s, "m_s": spec.m_s},
        payloads=held_out.pixels,
        expected=held_out.pixels.sum(axis=1, keepdims=True, dtype=np.float32),
        labels=None,
    )


def _digits_cnn(python: Path, cache: Path, tell: Tell) -> ServedModel:
    training, held_out = digits.training_and_held_out()
    recipe = b"".join((ZOO / name).read_bytes() for name in ("digits_cnn.py", "train_digits.py"))
    key = hashlib.sha256(recipe + training.pixels.tobytes() + training.labels.tobytes()).hexdigest()[:12]
    folder = cache / f"digits-cnn-{key}"
    weights = folder / "weights.pt"
    checksum = folder / "weights.sha256"
    if not _is_whole(weights, checksum):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            data = Path(scratch) / "digits.npz"
            np.savez(data, pixels=training.pixels, labels=training.labels)
            made = Path(scratch) / "weights.pt"  # the file's name is part of what torch writes
            _run(python, ["train_digits.py", ZOO, data, made], "training digits-cnn", tell)
            checksum.unlink(missing_ok=True)
            made.replace(weights)
            checksum.write_text(hashlib.sha256(weights.read_bytes()).hexdigest())
    return ServedModel(
        name="digits-cnn",
        input=PIXELS,
        output=Tensor("OUTPUT", "FP32", (10,)),
        source=ZOO / "digits_cnn.py",
        files=(weights,),
        settings={},
        payloads=held_out.pixels,
        expected=_answers(python, "digits_cnn", weights, held_out.pixels, tell),
        labels=held_out.labels,
    )


def _is_whole(weights: Path, checksum: Path) -> bool:
    try:
        return hashlib.sha256(weights.read_bytes()).hexdigest() == checksum.read_text()
    except OSError:
        return False


def _answers(python: Path, module: str, weights: Path, payloads: Floats, tell: Tell) -> Floats:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "settings.json").write_text('{"threads": 1}')
        (folder / "weights.pt").write_bytes(weights.read_bytes())
        np.save(folder / "inputs.npy", payloads)
        arguments: list[str | Path] = ["answer.py", ZOO, module, folder, folder / "inputs.npy", folder / "outputs.npy"]
        _run(python, arguments, "answering the held-out digits in process", tell)
        answers: Floats = np.load(folder / "outputs.npy")
    return answers


def _run(python: Path, arguments: Sequence[str | Path], what: str, tell: Tell) -> None:
    def on_line(line: str) -> None:
        done, _, total = line.removeprefix("epoch ").partition("/")
        if line.startswith("epoch ") and total.isdigit():
            tell(what, int(done) / int(total))

    tell(what, None)
    ended = run_command([python, ZOO / arguments[0], *arguments[1:]], on_line)
    if ended.status != 0:
        raise ServerError(
            f"{what} failed with exit status {ended.status}", ended.tail.splitlines()[-1] if ended.tail else ""
        )
