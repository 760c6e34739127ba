"""What is packed of resnet18; its network needs torch and is left to the tests on real servers."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from bench.errors import ServerError
from bench.models.images import noise_images
from bench.models.model import Tensor
from bench.models.prepare import ZOO, prepare
from bench.progress import silent
from bench.scenario.spec import ResNet18

ANSWERS = """
    import sys
    import numpy as np
    if sys.argv[1].endswith("make_resnet18.py"):
        open(sys.argv[-1], "w").write("weights")
    else:
        inputs = np.load(sys.argv[-2])
        np.save(sys.argv[-1], np.repeat(inputs[:, :1], 1000, axis=1))
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A program in place of the servers' Python: weights, and answers that tell which image they are of."""
    path = tmp_path / "python"
    path.write_text(f"#!{sys.executable}\n" + textwrap.dedent(ANSWERS))
    path.chmod(0o755)
    return path


def test_the_images_are_the_same_each_time_and_no_two_are_alike() -> None:
    images = noise_images()
    np.testing.assert_array_equal(images, noise_images())
    assert (images.shape, images.dtype) == ((64, 3 * 64 * 64), np.float32)
    assert 0 <= images.min() < 0.001
    assert 0.999 < images.max() <= 1
    assert len({image.tobytes() for image in images}) == 64


def test_it_takes_flat_images_gives_a_thousand_logits_and_knows_no_truth(tmp_path: Path, python: Path) -> None:
    model = prepare(ResNet18(), python, tmp_path / "cache", silent)
    assert (model.name, model.input, model.output) == (
        "resnet18",
        Tensor("INPUT", "FP32", (12288,)),
        Tensor("OUTPUT", "FP32", (1000,)),
    )
    assert model.source == ZOO / "resnet18.py"
    np.testing.assert_array_equal(model.payloads, noise_images())
    np.testing.assert_array_equal(model.expected[:, 999], model.payloads[:, 0])  # an answer for each, in order
    assert model.labels is None
    assert model.accuracy(model.expected) is None


def test_its_weights_are_made_once_and_then_taken_from_the_cache(tmp_path: Path, python: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        model = prepare(ResNet18(), python, tmp_path / "cache", lambda text, _fraction: said.append(text))
        weights, _ = model.files
        assert weights.read_text() == "weights"
        assert weights.parent.name.startswith("resnet18-")
    answering = "answering the images in process"
    assert said == ["making the weights of resnet18", answering, answering]


def test_a_script_that_fails_is_named(tmp_path: Path, python: Path) -> None:
    python.write_text(f"#!{sys.executable}\nprint('no torch here')\nraise SystemExit(3)\n")
    with pytest.raises(ServerError) as caught:
        prepare(ResNet18(), python, tmp_path / "cache", silent)
    assert caught.value.message == "making the weights of resnet18 failed with exit status 3"
    assert "no torch here" in caught.value.detail
