"""`report` on a run that was written by hand: no server, no runtime, only its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from bench.analysis.load import Counted, Point
from bench.measure.rows import point_rows
from bench.scenario.spec import Calibrated, Calibration, Load, Objective, Scenario, Server
from bench.scenario.stored import to_json
from bench.store.run_folder import RunFolder

TIMES = {1: 0.009, 2: 0.012, 5: 0.021, 10: 0.036}  # c = 6 ms, m = 3 ms
EXPECTED = np.ones((3, 1), dtype=np.float32)
PROMISED = {"latency_vs_batch.png", "speedup.png", "response_vs_load.png", "latency_budget.png"}


def written(out: Path, *, objective_s: float = 0.060, off_by: float = 0.0) -> RunFolder:
    """A run of one server that answers 100 requests a second within 20 ms."""
    scenario = Scenario(
        "by-hand", Calibrated(0.006, 0.003), (Server("triton", "triton"),), Calibration(tuple(TIMES)),
        Load(rates_per_s=(100.0,), duration_s=10.0, warmup_s=1.0, replications=1), Objective(99.0, objective_s),
    )  # fmt: skip
    folder = RunFolder.create(out, scenario.name)
    about = {"status": "complete", "verdict": "so it is", "unproven_batches": {}}
    folder.write_manifest({"scenario": to_json(scenario), **about})
    folder.write_answers("triton", EXPECTED + np.float32(off_by), EXPECTED, None)
    wanted = [("compute", size, seconds) for size, seconds in TIMES.items()] + [("compute_serial", 1, 0.009)]
    folder.append_calibration(
        "triton",
        [
            {"layer": layer, "batch_size": size, "repeat": 1, "time_s": t * (1 + 0.001 * (-1) ** block), "block": block}
            for block in range(12)
            for layer, size, t in wanted
        ],
    )
    due = np.arange(1100, dtype=np.int64) * 10_000_000
    n = len(due)
    rows = point_rows(
        {"scheduled": due, "sent": due, "completed": due + 20_000_000},
        np.full(n, 200, np.int16), np.zeros(n, np.int32), np.full(n, -1, np.int64), np.full(n, ""),
    )  # fmt: skip
    folder.write_point(Point("triton", 100.0, 1, 1.0, 10.0, rows, Counted(n, 5.5, 11.0, 550)))
    return folder


def report(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs it as another program would, whatever terminal the tests run in."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-m", "bench", "report", *map(str, arguments)],
        capture_output=True, text=True, timeout=60, check=False, env=environment,
    )  # fmt: skip
    assert "Traceback" not in done.stdout + done.stderr
    return done


def test_a_run_is_shown_again_and_its_tables_and_plots_are_made_anew(tmp_path: Path) -> None:
    folder = written(tmp_path)
    done = report(folder.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "by-hand: complete, all 13 checks hold (exit 0)"
    for title in ("T(B) = c + B·m", "Speedup S(B)", "Open-loop load", "Verdicts", "triton: batching can make this"):
        assert title in done.stdout
    assert {path.name for path in (folder.path / "plots").iterdir()} == PROMISED
    for name in ("fit", "speedup", "load", "verdicts"):
        assert (folder.path / f"{name}.csv").stat().st_size > 0


def test_in_json_a_report_is_the_manifest_and_the_runs_folder_and_a_missed_objective_exits_with_1(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path, objective_s=0.019)
    done = report(folder.path, "--json")
    assert (done.returncode, done.stderr) == (1, "")
    document = json.loads(done.stdout)
    verdict = document["verdict"]
    assert verdict.startswith("1 of 13 checks fail: objective, triton p99 at 100/s: ")
    assert document == {**folder.manifest(), "run": str(folder.path), "verdict": verdict, "exit_code": 1}


def ended(folder: RunFolder, **about: object) -> RunFolder:
    folder.write_manifest({**folder.manifest(), **about})
    return folder


def test_a_run_that_failed_is_reported_as_it_ended_whatever_is_left_of_it(tmp_path: Path) -> None:
    folder = ended(written(tmp_path), status="failed", verdict="triton: the server died", exit_code=3)
    before = (folder.path / "manifest.json").read_bytes()
    done = report(folder.path)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.splitlines()[0] == "by-hand: failed, triton: the server died (exit 3)"
    assert "Verdicts" in done.stdout
    document = json.loads((again := report(folder.path, "--json")).stdout)
    assert again.returncode == 3
    assert document == {**folder.manifest(), "run": str(folder.path)}
    assert (folder.path / "manifest.json").read_bytes() == before


def test_an_interrupted_run_is_reported_with_130(tmp_path: Path) -> None:
    done = report(ended(written(tmp_path), status="interrupted", verdict="interrupted", exit_code=130).path)
    assert done.returncode == 130
    assert done.stdout.splitlines()[0] == "by-hand: interrupted, interrupted (exit 130)"


def test_a_complete_run_is_judged_by_its_files_and_not_by_its_manifest(tmp_path: Path) -> None:
    done = report(ended(written(tmp_path), verdict="the measurement is invalid", exit_code=4).path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "by-hand: complete, all 13 checks hold (exit 0)"


def test_a_run_that_goes_on_has_no_exit_code_yet_and_is_judged_by_its_files(tmp_path: Path) -> None:
    done = report(ended(written(tmp_path), status="running").path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "by-hand: running, all 13 checks hold (exit 0)"


def test_a_report_of_wrong_answers_exits_with_4_and_names_the_output_in_plain_text(tmp_path: Path) -> None:
    done = report(written(tmp_path, off_by=0.5).path)
    assert done.returncode == 4
    assert "\x1b[" not in done.stdout
    (line,) = (line for line in done.stdout.splitlines() if line.split()[:2] == ["answers", "triton"])
    assert "invalid" in line
    assert "output [0] for payload 0 is 1.5, in process it is 1: off" in line
