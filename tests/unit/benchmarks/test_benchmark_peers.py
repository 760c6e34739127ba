"""Which peers are found, and what is said of those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import ScenarioError
from bench.servers.runtime import CACHE_VARIABLE
from benchmarks.names import ASYNC, DEFAULT, HEY, LOCUST, OURS, OURS_2, OURS_GRPC, OURS_TABLES
from benchmarks.peers import find

OWN = {OURS, OURS_2, OURS_GRPC, OURS_TABLES}


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))


def program(path: Path, status: int = 0) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho it said so >&2\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


def test_each_that_is_missing_is_told_in_a_line_with_how_to_get_it() -> None:
    found = find({})
    assert set(found.tools) == OWN
    assert len(found.missing) == 4
    assert "locust: skipped, not found. Get it with `python3 -m venv ENV && ENV/bin/pip install locust" in "".join(
        found.missing
    )
    assert any("`apt-get install hey`" in line and "--hey PATH" in line for line in found.missing)


def test_one_in_the_cache_folder_or_on_the_path_is_found(tmp_path: Path) -> None:
    program(tmp_path / "peers" / "locust" / "bin" / "locust")
    program(tmp_path / "hey")
    assert set(find({}).tools) == OWN | {LOCUST, HEY}


def test_a_program_may_make_several_tools(tmp_path: Path) -> None:
    given = program(tmp_path / "elsewhere" / "pa")
    assert set(find({"perf_analyzer": given}).tools) == OWN | {DEFAULT, ASYNC}


def test_one_that_does_not_run_is_skipped_when_found_and_an_error_when_given(tmp_path: Path) -> None:
    broken = program(tmp_path / "locust", status=3)
    assert any("locust: skipped, found but it does not run: exit 3: it said so" in line for line in find({}).missing)
    with pytest.raises(ScenarioError, match=r"--locust: expected a program that runs.*exit 3: it said so"):
        find({"locust": broken})
    with pytest.raises(ScenarioError, match="--hey: expected a program that runs"):
        find({"hey": str(tmp_path / "nowhere")})
