"""What is started is stopped, also after the tool was killed; and what others started is left alone."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from pathlib import Path

import pandas as pd
import psutil
import pytest
from desk import CALIBRATED, DIGITS, Desk, server_processes

pytestmark = pytest.mark.together


def lines_until(process: subprocess.Popen[str], step: str) -> str:
    assert process.stderr is not None
    return next(line for line in process.stderr if step in line)


def addresses(processes: list[psutil.Process]) -> set[str]:
    """Where these listen; Java writes an IPv4 address as an IPv6 one."""
    sockets = [socket for process in processes for socket in process.net_connections("tcp")]
    return {socket.laddr.ip.removeprefix("::ffff:") for socket in sockets if socket.status == psutil.CONN_LISTEN}


def test_after_sigkill_clean_finds_the_servers_and_what_was_measured_is_kept(desk: Desk) -> None:
    scenario = str(desk.write("scenario.yaml", CALIBRATED))
    arguments = ("--server", "triton", "--set", "calibration.max_duration=4s", "--set", "load.duration=30s")
    process = desk.start("run", scenario, *arguments)
    lines_until(process, "60/s, replication 1")
    process.kill()
    process.communicate()
    assert server_processes(desk)
    assert list(desk.temporary.glob("serve-bench-*"))
    ended = desk.run("clean", "--json")
    assert ended.code == 0, ended.err
    (one,) = json.loads(ended.out)["ended"]
    assert any("tritonserver" in name for name in one["processes"])
    assert one["still"] == []
    assert server_processes(desk) == []
    assert list(desk.temporary.glob("serve-bench-*")) == []
    assert desk.run("clean").out == "Nothing was left.\n"
    run = desk.only_run("calibrated")
    assert len(pd.read_csv(run / "calibration.csv")) > 20
    assert "c, ms" in desk.run("report", str(run)).out


def test_a_run_that_was_killed_is_resumed_and_only_what_is_missing_is_measured(desk: Desk) -> None:
    scenario = str(desk.write("scenario.yaml", CALIBRATED.replace("rates: [60]", "rates: [60, 90]")))
    arguments = ("--server", "triton", "--set", "calibration.max_duration=4s", "--set", "load.duration=3s")
    process = desk.start("run", scenario, *arguments)
    lines_until(process, "90/s, replication 1")
    process.kill()
    process.communicate()
    run = desk.only_run("calibrated")
    calibrated = (run / "calibration.csv").read_bytes()
    first = run / "samples" / "triton" / "rate=60-replication=1.parquet"
    written = first.stat().st_mtime_ns
    assert not list(run.glob("samples/triton/rate=90*"))
    ended = desk.run("run", "--resume", str(run))
    assert ended.code in (0, 1, 4), ended.err  # 1, 4: a disturbed host
    assert (run / "calibration.csv").read_bytes() == calibrated
    assert first.stat().st_mtime_ns == written
    load = pd.read_csv(run / "load.csv")
    assert set(load["rate_per_s"]) == {60, 90}
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    assert [part["status"] for part in manifest["parts"]] == ["running"]
    again = desk.run("run", "--resume", str(run))
    assert again.code == 2
    assert "is complete: nothing of it is missing" in again.err


def test_the_next_run_ends_what_a_killed_one_left(desk: Desk) -> None:
    scenario = str(desk.write("scenario.yaml", CALIBRATED))
    process = desk.start("run", scenario, "--server", "torchserve")
    lines_until(process, "waiting for workers")
    process.kill()
    process.communicate()
    left = server_processes(desk)
    assert left
    ended = desk.run("build", scenario)
    assert ended.code == 0, ended.err
    assert "note: ended what was left of a killed 'serve-bench run" in ended.err
    assert not any(process.is_running() for process in left)


def test_up_keeps_a_server_that_load_can_use_until_ctrl_c(desk: Desk) -> None:
    scenario = str(desk.write("scenario.yaml", CALIBRATED))
    process = desk.start("up", scenario, "--server", "torchserve", "--json", "--quiet")
    assert process.stdout is not None
    text = ""
    while not text.endswith("}\n") or text.count("{") != text.count("}"):
        text += process.stdout.readline()
    (endpoint,) = json.loads(text)["servers"]
    assert addresses(server_processes(desk)) == {"127.0.0.1"}
    command = endpoint["example"].replace("--duration 10s", "--duration 1s").split()
    ended = desk.run(*command[1:], "--quiet")
    assert ended.code in (0, 4), ended.out + ended.err  # 4: a disturbed host
    assert "calibrated at http://127.0.0.1:" in ended.out
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")


def test_two_runs_of_one_scenario_at_once_both_measure_right_answers_beside_servers_on_the_usual_ports(
    desk: Desk,
) -> None:
    scenario = str(desk.write("scenario.yaml", DIGITS))
    usual = desk.write("usual.yaml", DIGITS.replace("digits\n", "usual\n", 1))
    ports = "servers.triton.ports={http: 8000, grpc: 8001, metrics: 8002}"
    foreign = desk.start("up", str(usual), "--set", ports, "--server", "triton", "--quiet")
    assert foreign.stdout is not None
    next(line for line in foreign.stdout if "Ctrl-C" in line)
    both = ("run", scenario, "--quiet", "--server", "triton")
    assert addresses(server_processes(desk)) == {"127.0.0.1"}
    first = desk.start(*both)
    second = desk.start(*both, "--set", "servers.triton.max_queue_delay=1ms", "--seed", "2")
    for process in (first, second):
        out, err = process.communicate(timeout=200)
        assert process.returncode in (0, 1, 4), out + err  # 1, 4: each is the other's noise
    runs = sorted((desk.folder / "results" / "digits").iterdir())
    assert len(runs) == 2
    for run in runs:
        verdicts = pd.read_csv(run / "verdicts.csv")
        answers = verdicts[verdicts["check"].isin(["answers", "accuracy", "batch sizes"])]
        assert len(answers) == 3
        assert set(answers["outcome"]) == {"holds"}, answers
    with urllib.request.urlopen("http://127.0.0.1:8000/v2/models/digits-cnn/ready") as ready:
        assert ready.status == 200
    foreign.send_signal(signal.SIGTERM)
    foreign.communicate(timeout=30)
    assert foreign.returncode == 0


def test_a_gpu_that_is_not_there_is_told_at_once(desk: Desk) -> None:
    nowhere = desk.folder / "empty"
    nowhere.mkdir()
    scenario = str(desk.write("scenario.yaml", CALIBRATED))
    ended = desk.run("run", scenario, "--set", "servers.triton.device=gpu", PATH=str(nowhere))
    assert ended.code == 3
    assert "triton: a GPU is asked for, and nvidia-smi tells of none" in ended.err
    assert ended.seconds < 10
    assert not Path(desk.folder / "results" / "calibrated").exists()
