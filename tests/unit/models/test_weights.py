"""Weights in the cache: made once, whole or made anew."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from bench.models.weights import cached_weights, is_whole


class Maker:
    """Writes weights, and counts how often it was asked to."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, made: Path) -> None:
        self.times += 1
        made.with_name("data").write_text("of its own")
        made.write_bytes(b"weights")


def test_weights_are_whole_only_with_their_own_checksum_beside_them(tmp_path: Path) -> None:
    weights, checksum = tmp_path / "weights.pt", tmp_path / "weights.sha256"
    assert not is_whole(weights, checksum)
    weights.write_bytes(b"weights")
    assert not is_whole(weights, checksum)
    checksum.write_text(hashlib.sha256(b"weights").hexdigest())
    assert is_whole(weights, checksum)
    weights.write_bytes(b"weight")  # cut off
    assert not is_whole(weights, checksum)
    weights.unlink()
    assert not is_whole(weights, checksum)


def test_the_same_recipe_is_made_once_and_leaves_only_the_weights_and_their_checksum(tmp_path: Path) -> None:
    make = Maker()
    first = cached_weights(tmp_path, "net", [b"build", b"train"], make)
    assert cached_weights(tmp_path, "net", [b"build", b"train"], make) == first
    assert make.times == 1
    assert first.read_bytes() == b"weights"
    assert first.parent.name == f"net-{hashlib.sha256(b'buildtrain').hexdigest()[:12]}"
    assert {path.name for path in first.parent.iterdir()} == {"weights.pt", "weights.sha256"}


def test_another_recipe_and_another_name_have_weights_of_their_own(tmp_path: Path) -> None:
    make = Maker()
    places = {cached_weights(tmp_path, *of, make) for of in (("a", [b"1"]), ("a", [b"2"]), ("b", [b"1"]))}
    assert len(places) == make.times == 3


def test_damaged_weights_are_made_anew(tmp_path: Path) -> None:
    make = Maker()
    cached_weights(tmp_path, "net", [b"recipe"], make).write_bytes(b"weight")
    assert cached_weights(tmp_path, "net", [b"recipe"], make).read_bytes() == b"weights"
    assert make.times == 2


def test_a_maker_that_fails_leaves_nothing_that_could_be_taken_for_weights(tmp_path: Path) -> None:
    def make(made: Path) -> None:
        made.write_bytes(b"half")
        raise RuntimeError("no torch here")

    with pytest.raises(RuntimeError, match="no torch here"):
        cached_weights(tmp_path, "net", [b"recipe"], make)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
