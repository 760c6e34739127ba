from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from bench.artifacts import build as builder
from bench.artifacts.build import Artifact, build
from bench.errors import ServerError
from bench.models.model import ServedModel
from bench.scenario.spec import Calibrated, Calibration, Scenario, Server

TRITON = Server("a", "triton", max_batch_size=4)
TORCHSERVE = Server("b", "torchserve", max_batch_size=4)
SCENARIO = Scenario("tiny", Calibrated(0.004, 0.002), (TRITON, TORCHSERVE), Calibration((1, 4)))
SERVERS = pytest.mark.parametrize("server", [TRITON, TORCHSERVE], ids=["triton", "torchserve"])


def made(model: ServedModel, server: Server, root: Path, *, rebuild: bool = False) -> Artifact:
    """Built, and let go of, as a run that has ended does."""
    return replace(build(SCENARIO, server, model, root, rebuild=rebuild), hold=None)


def test_archives_and_repositories_lie_where_they_are_promised(model: ServedModel, tmp_path: Path) -> None:
    triton, torchserve = made(model, TRITON, tmp_path), made(model, TORCHSERVE, tmp_path)
    assert triton.folder == tmp_path / "triton_repo" / "tiny" / "a"
    assert torchserve.folder == tmp_path / "model_stores" / "tiny" / "b"
    assert set(torchserve.checksums) == {"adder.mar"}
    assert {name.split("/")[0] for name in triton.checksums} == {"adder", "adder_off", "adder_b1", "adder_b4"}


@SERVERS
def test_checksums_are_sha256_of_the_files(model: ServedModel, tmp_path: Path, server: Server) -> None:
    artifact = made(model, server, tmp_path)
    for name, checksum in artifact.checksums.items():
        assert hashlib.sha256((artifact.folder / name).read_bytes()).hexdigest() == checksum


@SERVERS
def test_the_first_arm_is_the_one_that_the_scenario_asks_for(
    model: ServedModel, tmp_path: Path, server: Server
) -> None:
    arms = made(model, server, tmp_path).arms
    assert [arm.name for arm in arms] == ["adder", "adder_off", "adder_b1", "adder_b4"]


@SERVERS
def test_what_was_built_from_the_same_inputs_is_used_again(model: ServedModel, tmp_path: Path, server: Server) -> None:
    first = made(model, server, tmp_path)
    assert (first.reused, first.altered) == (False, ())
    times = {name: (first.folder / name).stat().st_mtime_ns for name in first.checksums}
    second = made(model, server, tmp_path)
    assert (second.reused, second.altered) == (True, ())
    assert second.checksums == first.checksums
    assert {name: (second.folder / name).stat().st_mtime_ns for name in second.checksums} == times


def test_an_altered_a_missing_and_a_new_file_are_named_and_used(model: ServedModel, tmp_path: Path) -> None:
    folder = made(model, TRITON, tmp_path).folder
    (folder / "adder" / "config.pbtxt").write_text('name: "adder"\n')
    (folder / "adder_b1" / "1" / "weights.pt").unlink()
    (folder / "adder_b4" / "note.txt").write_text("mine")
    again = made(model, TRITON, tmp_path)
    assert again.reused
    assert again.altered == ("adder/config.pbtxt", "adder_b1/1/weights.pt", "adder_b4/note.txt")
    assert (folder / "adder" / "config.pbtxt").read_text() == 'name: "adder"\n'
    expected = hashlib.sha256(b'name: "adder"\n').hexdigest()
    assert again.checksums["adder/config.pbtxt"] == expected


def test_rebuild_makes_an_altered_artifact_whole_again(model: ServedModel, tmp_path: Path) -> None:
    first = made(model, TRITON, tmp_path)
    (first.folder / "adder" / "config.pbtxt").write_text("broken")
    (first.folder / "adder" / "2").mkdir()
    again = made(model, TRITON, tmp_path, rebuild=True)
    assert (again.reused, again.altered) == (False, ())
    assert again.checksums == first.checksums
    assert not (first.folder / "adder" / "2").exists()
    assert made(model, TRITON, tmp_path).altered == ()


@SERVERS
@pytest.mark.parametrize("rebuild", [False, True])
def test_what_another_run_uses_is_left_as_it_is(
    model: ServedModel, tmp_path: Path, server: Server, rebuild: bool
) -> None:
    used = build(SCENARIO, server, model, tmp_path)
    asked = server if rebuild else replace(server, threads=2)
    other = made(model, asked, tmp_path, rebuild=rebuild)
    assert other.folder != used.folder
    assert other.arms == used.arms
    assert set(other.checksums) == set(used.checksums)
    again = made(model, server, tmp_path)
    assert (again.folder, again.reused, again.altered) == (used.folder, True, ())
    assert again.checksums == used.checksums


def test_compiled_files_that_a_server_leaves_behind_alter_nothing(model: ServedModel, tmp_path: Path) -> None:
    folder = made(model, TRITON, tmp_path).folder
    (folder / "adder" / "1" / "__pycache__").mkdir()
    (folder / "adder" / "1" / "__pycache__" / "model.pyc").write_bytes(b"x")
    assert made(model, TRITON, tmp_path).altered == ()


@SERVERS
@pytest.mark.parametrize(
    "change", [{"max_batch_size": 5}, {"max_queue_delay_s": 0.02}, {"instances": 2}, {"threads": 2}], ids=str
)
def test_a_changed_server_is_built_anew(
    model: ServedModel, tmp_path: Path, server: Server, change: dict[str, float]
) -> None:
    first = made(model, server, tmp_path)
    again = build(SCENARIO, replace(server, **change), model, tmp_path)  # type: ignore[arg-type]
    again = replace(again, hold=None)
    assert not again.reused
    assert again.checksums != first.checksums
    assert not made(model, server, tmp_path).reused


def test_other_batch_sizes_are_built_anew(model: ServedModel, tmp_path: Path) -> None:
    made(model, TRITON, tmp_path)
    other = build(replace(SCENARIO, calibration=Calibration((1, 2))), TRITON, model, tmp_path)
    assert not other.reused
    assert {path.name for path in other.folder.iterdir()} == {"adder", "adder_off", "adder_b1", "adder_b2"}


@SERVERS
def test_another_model_source_weight_or_setting_is_built_anew(
    model: ServedModel, tmp_path: Path, server: Server
) -> None:
    made(model, server, tmp_path)
    assert not made(replace(model, settings={"c_s": 0.005}), server, tmp_path).reused
    model.files[0].write_bytes(b"other weights")
    assert not made(model, server, tmp_path).reused
    model.source.write_text("def load(folder): ...\n")
    assert not made(model, server, tmp_path).reused
    assert made(model, server, tmp_path).reused


@SERVERS
@pytest.mark.parametrize("text", ["", "{", "[]", '{"fingerprint": "x"}', '{"checksums": []}'])
def test_a_record_that_cannot_be_read_leads_to_a_new_build(
    model: ServedModel, tmp_path: Path, server: Server, text: str
) -> None:
    folder = made(model, server, tmp_path).folder
    folder.with_name(f"{server.name}.build.json").write_text(text)
    assert not made(model, server, tmp_path).reused
    assert made(model, server, tmp_path).reused


def test_a_folder_that_was_removed_is_built_again(model: ServedModel, tmp_path: Path) -> None:
    first = made(model, TORCHSERVE, tmp_path)
    (first.folder / "adder.mar").unlink()
    first.folder.rmdir()
    again = made(model, TORCHSERVE, tmp_path)
    assert not again.reused
    assert again.checksums == first.checksums


def test_half_an_artifact_is_not_used_again(
    model: ServedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = made(model, TORCHSERVE, tmp_path)

    def interrupted(_model: object, _server: object, _arms: object, folder: Path) -> None:
        folder.mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setitem(builder.KINDS, "torchserve", ("model_stores", interrupted))
        with pytest.raises(KeyboardInterrupt):
            made(model, TORCHSERVE, tmp_path, rebuild=True)
    again = made(model, TORCHSERVE, tmp_path)
    assert again.checksums == whole.checksums
    assert again.altered == ()


@pytest.mark.parametrize(
    ("server", "top"), [(TRITON, "triton_repo"), (TORCHSERVE, "model_stores")], ids=["triton", "torchserve"]
)
def test_a_place_that_cannot_be_written_is_told_with_the_artifact_and_the_remedy(
    model: ServedModel, tmp_path: Path, server: Server, top: str
) -> None:
    (tmp_path / top).write_text("taken")
    with pytest.raises(ServerError) as caught:
        made(model, server, tmp_path)
    cause = caught.value.__cause__
    assert isinstance(cause, OSError)
    assert str(tmp_path / top) in str(cause)
    assert caught.value.message == (
        f"{server.name}: the artifact cannot be built: {cause}. Run in a folder you may write to: "
        "model_stores/ and triton_repo/ are made in it"
    )
