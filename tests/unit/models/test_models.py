"""The models' own files; whatever needs torch is left to the tests on real servers."""

from __future__ import annotations

import json
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from bench.errors import ServerError
from bench.models import prepare as preparing
from bench.models.digits import training_and_held_out
from bench.models.model import ServedModel, Tensor
from bench.models.prepare import ZOO, prepare
from bench.progress import silent
from bench.scenario.spec import Calibrated, Digits


def program(folder: Path, text: str) -> Path:
    """A program in place of the servers' Python."""
    path = folder / "python"
    path.write_text(f"#!{sys.executable}\n" + textwrap.dedent(text))
    path.chmod(0o755)
    return path


def test_450_digits_are_held_out_of_1797_and_none_is_in_both_parts() -> None:
    training, held_out = training_and_held_out()
    assert training.pixels.shape == (1347, 64)
    assert held_out.pixels.shape == (450, 64)
    assert len(training.labels) + len(held_out.labels) == 1797
    assert held_out.pixels.dtype == np.float32
    assert held_out.labels.dtype == np.int64
    assert (held_out.pixels.min(), held_out.pixels.max()) == (0, 16)
    assert not {row.tobytes() for row in training.pixels} & {row.tobytes() for row in held_out.pixels}


def test_the_split_is_the_same_each_time_and_has_every_digit_in_both_parts() -> None:
    (first, first_held), (second, second_held) = training_and_held_out(), training_and_held_out()
    np.testing.assert_array_equal(first.pixels, second.pixels)
    np.testing.assert_array_equal(first_held.labels, second_held.labels)
    assert set(first.labels.tolist()) == set(first_held.labels.tolist()) == set(range(10))


def test_the_calibrated_model_needs_no_training_and_answers_with_sums(tmp_path: Path) -> None:
    model = prepare(Calibrated(0.004, 0.002), tmp_path / "no python", tmp_path / "no cache", silent)
    assert (model.name, model.input, model.output) == (
        "calibrated",
        Tensor("INPUT", "FP32", (64,)),
        Tensor("OUTPUT", "FP32", (2,)),
    )
    assert model.has_clock
    assert model.settings == {"c_s": 0.004, "m_s": 0.002}
    assert model.payloads.shape == (128, 64)
    assert model.expected.shape == (128, 1)
    assert model.expected[7, 0] == sum(model.payloads[7].tolist())
    assert model.labels is None
    assert model.accuracy(model.expected) is None
    assert list(tmp_path.iterdir()) == []


def test_a_calibrated_batch_takes_c_plus_b_times_m_at_least(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"threads": 1, "c_s": 0.02, "m_s": 0.01}))
    names: dict[str, object] = {}
    exec(compile((ZOO / "calibrated.py").read_text(), "calibrated.py", "exec"), names)  # noqa: S102 as a server does
    predict = names["load"](tmp_path)  # type: ignore[operator]
    began = time.perf_counter()
    answers = predict(np.full((3, 64), 0.5, dtype=np.float32))
    took_s = time.perf_counter() - began
    assert took_s >= 0.05
    assert answers[:, 0].tolist() == [32.0, 32.0, 32.0]
    assert np.all(answers[:, 1] >= np.float32(0.05))
    assert np.all(answers[:, 1] <= took_s)
    assert answers.dtype == np.float32


def test_accuracy_is_the_share_of_right_answers() -> None:
    model = ServedModel(
        "any", Tensor("I", "FP32", (1,)), Tensor("O", "FP32", (2,)), Path(), (), {},
        np.zeros((4, 1), np.float32), np.zeros((4, 2), np.float32), np.array([0, 1, 1, 1]),
    )  # fmt: skip
    assert model.accuracy(np.array([[2, 1], [0, 1], [5, 6], [9, 0]], np.float32)) == 0.75


def test_answers_are_made_in_batches_and_kept_in_order(tmp_path: Path) -> None:
    (tmp_path / "squares.py").write_text("def load(folder):\n    return lambda rows: rows**2 + len(rows)\n")
    np.save(tmp_path / "inputs.npy", np.arange(20, dtype=np.float32)[:, None])
    arguments = [str(ZOO / "answer.py"), str(tmp_path), "squares", str(tmp_path)]
    preparing._run(
        Path(sys.executable),
        [*arguments, str(tmp_path / "inputs.npy"), str(tmp_path / "outputs.npy")],
        "answering",
        silent,
    )
    answers = np.load(tmp_path / "outputs.npy")
    # Batches of 16 and 4.
    assert answers[:, 0].tolist() == [i**2 + 16 for i in range(16)] + [i**2 + 4 for i in range(16, 20)]


def test_a_training_that_fails_is_told_with_the_end_of_its_output(tmp_path: Path) -> None:
    python = program(tmp_path, "print('epoch 1/2')\nprint('no torch here')\nraise SystemExit(7)\n")
    said: list[tuple[str, float | None]] = []
    with pytest.raises(ServerError) as caught:
        prepare(Digits(), python, tmp_path / "cache", lambda text, fraction: said.append((text, fraction)))
    assert caught.value.message == "training digits-cnn failed with exit status 7"
    assert "no torch here" in caught.value.detail
    assert said == [("training digits-cnn", None), ("training digits-cnn", 0.5)]


def test_a_failed_training_leaves_no_weights_to_be_taken_for_whole_ones(tmp_path: Path) -> None:
    python = program(tmp_path, "import sys\nopen(sys.argv[-1], 'w').write('half')\nraise SystemExit(1)\n")
    for _ in range(2):
        with pytest.raises(ServerError, match="training digits-cnn failed"):
            prepare(Digits(), python, tmp_path / "cache", silent)
    assert list((tmp_path / "cache").rglob("weights.pt")) == []


def test_weights_are_trained_once_and_then_taken_from_the_cache(tmp_path: Path) -> None:
    python = program(
        tmp_path,
        """
        import sys
        import numpy as np
        if sys.argv[1].endswith("train_digits.py"):
            open(sys.argv[-1], "w").write("weights")
        else:
            np.save(sys.argv[-1], np.zeros((450, 10), dtype=np.float32))
        """,
    )
    told: list[list[str]] = []
    for _ in range(2):
        said: list[str] = []
        model = prepare(Digits(), python, tmp_path / "cache", lambda text, _fraction, said=said: said.append(text))
        told.append(said)
        assert model.files[0].read_text() == "weights"
        assert model.expected.shape == (450, 10)
        assert model.labels is not None
    assert told[0] == ["training digits-cnn", "answering the held-out digits in process"]
    assert told[1] == ["answering the held-out digits in process"]
