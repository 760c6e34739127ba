"""Scenario model -> ServedModel: its weights made where it has some, with the in-process answers to every request.

Making weights and answering run in the servers' own Python, so that torch is there only once and the reference
answers come from the very libraries that serve.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.commands import run_command
from bench.errors import ServerError
from bench.models import digits, images
from bench.models.model import Floats, ServedModel, Tensor
from bench.models.weights import cached_weights
from bench.progress import Tell
from bench.scenario.spec import Calibrated, Digits, External, Model, ResNet18, VitTiny

ZOO = Path(__file__).parent / "zoo"
CALIBRATED_PAYLOADS = 128  # a slow one is asked for each of them before it is measured
TORCH_MODEL = ZOO / "torch_model.py"
PIXELS = Tensor("INPUT", "FP32", (64,))


def prepare(model: Model, python: Path, cache: Path, tell: Tell) -> ServedModel:
    """The model of a scenario, ready to pack. `python` is the servers' interpreter, `cache` keeps weights.

    Raises ServerError with the end of the script's output when making weights or answering fails.
    """
    match model:
        case Calibrated():
            return _calibrated(model)
        case Digits():
            return _digits_cnn(python, cache, tell)
        case ResNet18() | VitTiny():
            return _network(model, python, cache, tell)
        case External():
            raise ValueError(f"{model.name} is served by somebody else: there is nothing to prepare")


def _calibrated(spec: Calibrated) -> ServedModel:
    pixels = digits.training_and_held_out()[1].pixels[:CALIBRATED_PAYLOADS]
    return ServedModel(
        name="calibrated",
        input=PIXELS,
        output=Tensor("OUTPUT", "FP32", (2,)),
        source=ZOO / "calibrated.py",
        files=(),
        settings={"c_s": spec.c_s, "m_s": spec.m_s},
        payloads=pixels,
        expected=pixels.sum(axis=1, keepdims=True, dtype=np.float32),
        labels=None,
        has_clock=True,
    )


def _digits_cnn(python: Path, cache: Path, tell: Tell) -> ServedModel:
    training, held_out = digits.training_and_held_out()

    def train(made: Path) -> None:
        data = made.with_name("digits.npz")
        np.savez(data, pixels=training.pixels, labels=training.labels)
        _run(python, ["train_digits.py", ZOO, data, made], "training digits-cnn", tell)

    data = (training.pixels.tobytes(), training.labels.tobytes())
    recipe = (*_sources("digits_cnn.py", "train_digits.py"), *data)
    weights = cached_weights(cache, "digits-cnn", recipe, train)
    return ServedModel(
        name="digits-cnn",
        input=PIXELS,
        output=Tensor("OUTPUT", "FP32", (10,)),
        source=ZOO / "digits_cnn.py",
        files=(weights, TORCH_MODEL),
        settings={},
        payloads=held_out.pixels,
        expected=_answers(python, "digits_cnn", weights, held_out.pixels, "the held-out digits", tell),
        labels=held_out.labels,
    )


def _network(spec: ResNet18 | VitTiny, python: Path, cache: Path, tell: Tell) -> ServedModel:
    """A network with random weights on images of noise."""
    name, module = spec.zoo, spec.zoo.replace("-", "_")

    def make(made: Path) -> None:
        _run(python, [f"make_{module}.py", ZOO, made], f"making the weights of {name}", tell)

    payloads = images.noise_images()
    weights = cached_weights(cache, name, _sources(f"{module}.py", f"make_{module}.py"), make)
    return ServedModel(
        name=name,
        input=Tensor("INPUT", "FP32", payloads.shape[1:]),
        output=Tensor("OUTPUT", "FP32", (1000,)),
        source=ZOO / f"{module}.py",
        files=(weights, TORCH_MODEL),
        settings={"dtype": spec.dtype},
        payloads=payloads,
        expected=_answers(python, module, weights, payloads, "the images", tell),
        labels=None,
    )


def _sources(*names: str) -> list[bytes]:
    return [(ZOO / name).read_bytes() for name in names]


def _answers(python: Path, module: str, weights: Path, payloads: Floats, what: str, tell: Tell) -> Floats:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "settings.json").write_text('{"threads": 1}')
        (folder / "weights.pt").write_bytes(weights.read_bytes())
        np.save(folder / "inputs.npy", payloads)
        arguments: list[str | Path] = ["answer.py", ZOO, module, folder, folder / "inputs.npy", folder / "outputs.npy"]
        _run(python, arguments, f"answering {what} in process", tell)
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
