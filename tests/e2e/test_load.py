"""`serve-bench load` on real servers that were started elsewhere: both protocols, and an overload."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
from desk import Desk

from bench import servers
from bench.artifacts.build import build
from bench.models.prepare import prepare
from bench.scenario.spec import Calibrated, Calibration, Scenario, Server
from bench.servers.runtime import cache_folder, ensure_runtime
from bench.servers.server import RunningServer


@pytest.fixture(scope="module", params=["triton", "torchserve"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server whose batch of B takes 4 ms + 2 ms·B: it serves at most some 400 requests per second."""

    def tell(_text: str, _fraction: float | None) -> None: ...

    work: Path = tmp_path_factory.mktemp(request.param)
    spec = Server(request.param, request.param)
    scenario = Scenario("load", Calibrated(c_s=0.004, m_s=0.002), (spec,), Calibration(batch_sizes=(1,)))
    runtime = ensure_runtime(cache_folder(), tell)
    model = prepare(scenario.model, runtime.python, cache_folder(), tell)
    artifact = build(scenario, spec, model, work)
    with servers.KINDS[spec.kind](spec, artifact.folder, runtime, work / "server.log", tell) as server:
        server.serve(artifact.arms[:1])
        yield server


CATCHING_UP_S = 0.5


def start(desk: Desk, server: RunningServer, protocol: str, *options: str) -> subprocess.Popen[str]:
    body = desk.folder / "digit.bin"
    body.write_bytes(np.arange(64, dtype="<f4").tobytes())
    url = f"http://{server.host}:{server.ports[server.data_ports[protocol]]}"
    return desk.start(
        "load", url, "--kind", server.spec.kind, "--model", "calibrated", "--protocol", protocol,
        "--payload", str(body), "--json", *options,
    )  # fmt: skip


def finish(desk: Desk, process: subprocess.Popen[str]) -> tuple[dict[str, object], pd.DataFrame]:
    """The JSON that `load` printed, and the rows of its requests."""
    out, err = process.communicate(timeout=280)
    assert process.returncode in (0, 1, 4), err
    told = json.loads(out)
    assert told["exit_code"] == process.returncode
    (file,) = (desk.folder / str(told["run"]) / "samples" / "calibrated").glob("rate=*")
    return told, pd.read_parquet(file)


def load(desk: Desk, server: RunningServer, protocol: str, *options: str) -> tuple[dict[str, object], pd.DataFrame]:
    return finish(desk, start(desk, server, protocol, *options))


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_every_request_is_accounted_for_and_answered(desk: Desk, running: RunningServer, protocol: str) -> None:
    told, rows = load(desk, running, protocol, "--rate", "60", "--duration", "4s")
    assert (rows["status"] == 200).all()
    assert (rows["sent_s"] >= rows["scheduled_s"]).all()
    assert (rows["completed_s"] - rows["sent_s"] > 0.006).all()  # c + m
    assert told["scheduled"] == told["sent"] == told["completed"]
    assert told["saturated"] is False


def test_a_server_that_stands_still_for_a_second_is_felt_by_all_who_were_due(
    desk: Desk, running: RunningServer
) -> None:
    rate, seconds = 60, 5
    process = start(
        desk, running, "http", "--rate", str(rate), "--duration", f"{seconds}s", "--warmup", "0s",
        "--arrivals", "constant",
    )  # fmt: skip
    assert process.stderr is not None
    assert "asked" in process.stderr.readline()  # the load is on
    time.sleep(1.0)
    tool = psutil.Process(process.pid)
    server = set(psutil.Process().children(recursive=True)) - {tool, *tool.children(recursive=True)}
    # The leader first to stand and last to go on: a Triton that finds its stub asleep takes it for dead, and crashes.
    inside_out = sorted(server, key=lambda one: one.create_time(), reverse=True)
    for one in reversed(inside_out):
        one.suspend()
    began = time.monotonic()
    time.sleep(1.0)
    for one in inside_out:
        one.resume()
    stood_s = time.monotonic() - began
    _told, rows = finish(desk, process)
    assert (rows["status"] == 200).all()
    response_s = rows["completed_s"] - rows["scheduled_s"]
    base_s = float(response_s.median())  # four fifths of the requests were due while it ran
    # Of n requests, those due while it stood wait for its end: the longest all of it, the k-th longest k/rate less.
    for q in (99, 100):
        expected_s = stood_s - (1 - q / 100) * len(rows) / rate + base_s
        # Noise, and working off what had gathered, can only add to it.
        assert 0.95 * expected_s < float(np.percentile(response_s, q)) < expected_s + CATCHING_UP_S
    waited = int((response_s > 0.1).sum())
    assert 0.9 * rate * (stood_s - 0.1) < waited < rate * (stood_s + CATCHING_UP_S)


def test_two_workers_send_the_schedule_of_one(desk: Desk, running: RunningServer) -> None:
    one = load(desk, running, "http", "--rate", "60", "--duration", "2s", "--seed", "7")[1]
    two = load(desk, running, "http", "--rate", "60", "--duration", "2s", "--seed", "7", "--workers", "2")[1]
    np.testing.assert_array_equal(one["scheduled_s"], two["scheduled_s"])
    assert (two["status"] == 200).all()


def test_twice_the_capacity_is_saturated_and_ended_early(desk: Desk, running: RunningServer) -> None:
    told, rows = load(desk, running, "http", "--rate", "800", "--duration", "60s")
    assert told["saturated"] is True
    assert float(str(told["growth_s_per_s"])) > 0.5
    assert told["response_p99_s"] is None
    assert (rows["cause"] == "ended early").sum() > 0.5 * len(rows)
