"""The command line as a program of its own: what it prints, where, and its exit code."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = ("run", "validate", "build", "report", "law", "schema")
GOOD = """\
name: good
model: {zoo: calibrated, c: 4ms, m: 2ms}
servers:
  triton: {kind: triton, max_batch_size: 8}
  other: {kind: torchserve, max_batch_size: 8}
calibration: {batch_sizes: [1, 2, 4, 8]}
load: {rates: [50]}
"""
BROKEN = """\
name: broken
model: {zoo: calibrated, c: 4ms, m: soon}
servers:
  triton: {kind: trition, max_batch_size: 0}
laod: {rates: [50]}
seed: -1
"""


def bench(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs serve-bench; no output of it may ever hold a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", *map(str, arguments)],
        capture_output=True, text=True, timeout=60, check=False, cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **environment},
    )  # fmt: skip
    for stream in (done.stdout, done.stderr):
        assert "Traceback" not in stream
        assert 'File "' not in stream
    return done


def strictly(text: str) -> object:
    """JSON as the standard has it, without NaN and Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    return path


# ---- help


def test_help_lists_every_command_and_gives_an_example() -> None:
    done = bench("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "Example: serve-bench run scenarios/quickstart.yaml" in done.stdout
    listed = {line.split()[0] for line in done.stdout.partition("Commands:")[2].splitlines() if line.strip()}
    assert set(COMMANDS) <= listed


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = bench(command, "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert f"Example: serve-bench {command}" in done.stdout
    assert "--help" in done.stdout


def test_without_a_command_the_help_is_shown_and_it_is_bad_usage() -> None:
    done = bench()
    assert done.returncode == 2
    assert "Commands:" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments", [("frobnicate",), ("run",), ("law", "--frobnicate"), ("run", "a.yaml", "--seed", "-1")], ids=str
)
def test_bad_usage_exits_with_2_and_says_so_on_standard_error(arguments: tuple[str, ...]) -> None:
    done = bench(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Usage:" in done.stderr


# ---- validate


def test_a_good_scenario_is_valid(good: Path) -> None:
    done = bench("validate", good)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{good}: valid (triton, other)\n"


def test_a_good_scenario_is_valid_in_json_too(good: Path) -> None:
    done = bench("validate", good, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert strictly(done.stdout) == {"valid": True, "problems": []}


def test_every_problem_of_a_broken_scenario_is_told_at_once_with_its_line(broken: Path) -> None:
    done = bench("validate", broken)
    assert done.returncode == 2
    assert done.stdout == ""
    first, *problems = done.stderr.splitlines()
    assert first == f"Error: {broken} cannot be run: 5 problems"
    assert [line.split(" expected ")[0] for line in problems] == [
        f"  {broken}:2: model.m:",
        f"  {broken}:4: servers.triton.kind:",
        f"  {broken}:4: servers.triton.max_batch_size:",
        f"  {broken}:5: laod:",
        f"  {broken}:6: seed:",
    ]
    for line, found in zip(problems, ("soon", "trition", "0", "laod", "-1"), strict=True):
        assert ", found " in line
        assert found in line


def test_every_problem_is_in_the_json_too(broken: Path) -> None:
    done = bench("validate", broken, "--json")
    assert (done.returncode, done.stderr) == (2, "")
    document = strictly(done.stdout)
    assert document["valid"] is False  # type: ignore[index, call-overload]
    problems = document["problems"]  # type: ignore[index, call-overload]
    assert [set(problem) for problem in problems] == [{"line", "field", "expected", "found", "hint"}] * 5
    assert [problem["line"] for problem in problems] == [2, 4, 4, 5, 6]
    assert problems[1]["field"] == "servers.triton.kind"
    assert "triton" in problems[1]["hint"] + problems[1]["expected"]


def test_a_file_that_is_not_there_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    done = bench("validate", tmp_path / "nowhere.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert str(tmp_path / "nowhere.yaml") in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_place_of_a_file_is_bad_usage(tmp_path: Path) -> None:
    done = bench("validate", tmp_path)
    assert done.returncode == 2
    assert str(tmp_path) in done.stderr


def test_a_broken_scenario_is_not_run(broken: Path, tmp_path: Path) -> None:
    done = bench("run", broken, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "5 problems" in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("command", ["run", "build"])
def test_in_json_a_run_that_ends_before_it_has_a_folder_is_told_with_its_problems(
    broken: Path, tmp_path: Path, command: str
) -> None:
    done = bench(command, broken, "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert "5 problems" in done.stderr
    document = strictly(done.stdout)
    assert isinstance(document, dict)
    assert set(document) == {"verdict", "exit_code", "problems"}
    assert document["verdict"] == f"{broken} cannot be run: 5 problems"
    assert document["exit_code"] == 2
    assert document["problems"] == strictly(bench("validate", broken, "--json").stdout)["problems"]  # type: ignore[index, call-overload]
    assert [path.name for path in tmp_path.iterdir()] == [broken.name]


def test_in_json_a_place_that_cannot_be_written_is_told_without_a_problem_of_the_file(
    good: Path, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("")
    done = bench("run", good, "--json", "--out", tmp_path / "taken", cwd=tmp_path)
    document = strictly(done.stdout)
    assert isinstance(document, dict)
    assert (done.returncode, document["exit_code"], document["problems"]) == (2, 2, [])
    assert document["verdict"].startswith(f"results cannot be written to {tmp_path / 'taken'}: ")


def test_options_are_checked_with_the_file(good: Path) -> None:
    assert bench("validate", good, "--set", "load.duration=20s", "--server", "other").stdout.endswith("(other)\n")
    done = bench("validate", good, "--set", "load.duration=soon", "--server", "thrid")
    assert done.returncode == 2
    assert "load.duration" in done.stderr
    assert "thrid" in done.stderr


def test_a_traceback_is_shown_on_demand_alone(broken: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "validate", str(broken), "--debug"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "Traceback" in done.stderr
    assert "ScenarioError" in done.stderr


def test_the_exit_code_is_the_same_with_debug(broken: Path) -> None:
    command = [sys.executable, "-m", "bench", "validate", str(broken), "--debug"]
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 2


# ---- law


def test_the_lessons_numbers_are_in_the_json_under_their_own_names() -> None:
    done = bench("law", "--c", "6ms", "--m", "3ms", "--batch", "10", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    values = strictly(done.stdout)
    assert isinstance(values, dict)
    assert values["regime"] == "balanced"
    numbers = {name: values[name] for name in ("c_s", "m_s", "B", "t_serial_s", "t_batch_s", "S", "ceiling")}
    assert numbers == pytest.approx(
        {"c_s": 0.006, "m_s": 0.003, "B": 10, "t_serial_s": 0.090, "t_batch_s": 0.036, "S": 2.5, "ceiling": 3.0}
    )
    assert values["throughput_per_s"] == pytest.approx(277.7778, rel=1e-6)


def test_the_delay_window_is_in_the_json_too() -> None:
    values = strictly(bench("law", "--rate", "400", "--delay", "5ms", "--json").stdout)
    assert values == {"rate_per_s": 400.0, "d_s": 0.005, "expected_B": 2.0}
    values = strictly(bench("law", "--rate", "400", "--batch", "16", "--json").stdout)
    assert values == {"rate_per_s": 400.0, "B": 16, "required_d_s": 0.04}


def test_people_read_milliseconds() -> None:
    done = bench("law", "--c", "9ms", "--m", "1ms", "--batch", "8")
    assert (done.returncode, done.stderr) == (0, "")
    lines = {line[:38].strip(): line[38:] for line in done.stdout.splitlines()[:-1]}
    assert lines["B requests one at a time  B(c+m)"] == "80.0 ms"
    assert lines["one batch of B            c+Bm"] == "17.0 ms"
    assert lines["speedup                   S(B)"] == "4.706"
    assert lines["ceiling                   1+c/m"] == "10"
    assert lines["regime"] == "overhead-bound"
    assert done.stdout.splitlines()[-1].startswith("batching can make this up to 10 times faster")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "expected --c and --m"),
        (("--m", "6ms", "--rate", "10"), "expected --c and --m"),
        (("--c", "soon", "--m", "3ms"), "--c: expected a duration"),
        (("--c", "6ms", "--m", "3 bananas"), "--m: expected a duration"),
        (("--c", "0", "--m", "0ms", "--batch", "2"), "both 0"),
        (("--c=-6ms", "--m", "3ms"), "-0.006"),
        (("--c", "6ms", "--m", "3ms", "--batch", "0"), "--batch"),
        (("--rate", "-1", "--delay", "5ms"), "--rate"),
    ],
    ids=str,
)
def test_what_the_law_cannot_be_told_of_is_bad_usage(arguments: tuple[str, ...], said: str) -> None:
    done = bench("law", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr


def test_a_law_without_a_ceiling_is_still_json() -> None:
    values = strictly(bench("law", "--c", "6ms", "--m", "0", "--batch", "4", "--json").stdout)
    assert isinstance(values, dict)
    assert values["ceiling"] is None
    assert math.isclose(values["S"], 4.0)


@pytest.mark.parametrize("arguments", [("--rate", "400"), ("--rate", "0", "--delay", "5ms")], ids=str)
def test_a_rate_without_anything_to_do_with_it_is_bad_usage(arguments: tuple[str, ...]) -> None:
    done = bench("law", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""


def test_a_rate_that_is_no_number_is_bad_usage() -> None:
    assert bench("law", "--rate", "nan", "--delay", "5ms", "--json").returncode == 2


def test_an_infinite_rate_is_bad_usage() -> None:
    assert bench("law", "--rate", "inf", "--delay", "5ms", "--json").returncode == 2


# ---- schema


def test_the_schema_is_one_json_document() -> None:
    done = bench("schema")
    assert (done.returncode, done.stderr) == (0, "")
    document = strictly(done.stdout)
    assert isinstance(document, dict)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(document["required"]) == {"name", "model", "servers"}


# ---- report of what is no run


def test_a_run_of_another_format_is_bad_usage_and_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format_version": 99}')
    done = bench("report", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"Error: {tmp_path}/manifest.json: expected format version 1, found 99\n"
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
