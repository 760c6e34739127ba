"""Where the response time went, on both real servers: the parts add up, and the queue wait is the delay."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pandas as pd
import pytest
from desk import Desk

from bench import clients, servers
from bench.analysis.load import Point
from bench.artifacts.build import build
from bench.experiments.subject import Subject
from bench.experiments.tracing import run_traced
from bench.models.prepare import prepare
from bench.progress import silent
from bench.scenario.spec import Calibrated, Calibration, Load, Scenario, Server
from bench.servers.runtime import cache_folder, ensure_runtime

PARTS = ["dispatch_delay_s", "queue_wait_s", "compute_s", "handover_s", "network_s"]
SERVERS = ("triton", "torchserve")

# At 20/s and constant gaps each request is alone for the whole of its delay.
DELAYED = """
name: delayed
model: {zoo: calibrated, c: 4ms, m: 2ms}
servers:
  triton:     {kind: triton,     max_queue_delay: 20ms}
  torchserve: {kind: torchserve, max_queue_delay: 20ms}
calibration: {batch_sizes: [1, 2, 4], precision: 50%, max_duration: 1s}
load: {arrivals: constant, rates: [20, 100, 200], duration: 3s, warmup: 300ms, replications: 1}
checks: {speedup_tolerance: 100%, affine_tolerance: 100%, ceiling_tolerance: 100%}
"""


def measured(desk: Desk, scenario: str, name: str) -> Path:
    ended = desk.run("run", str(desk.write("scenario.yaml", scenario)))
    assert ended.code in (0, 1, 4), ended.out + ended.err  # calibration is cut short
    return desk.only_run(name)


def budget(run: Path, server: str, of: str = "mean") -> pd.DataFrame:
    table = pd.read_csv(run / "budget.csv")
    return table[(table["server"] == server) & (table["of"] == of)].set_index("rate_per_s")


@pytest.fixture(scope="module")
def delayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured(Desk(tmp_path_factory.mktemp("delayed")), DELAYED, "delayed")


@pytest.mark.parametrize("server", SERVERS)
def test_the_parts_add_up_to_the_mean_response_at_three_rates(delayed: Path, server: str) -> None:
    found = budget(delayed, server)
    assert found.index.tolist() == [20, 100, 200]
    unexplained = 1 - found[PARTS].sum(axis=1) / found["response_s"]
    assert (unexplained.abs() < 0.03).all(), unexplained
    assert (found[PARTS] > 0).all().all()
    verdicts = pd.read_csv(delayed / "verdicts.csv")
    mine = verdicts[(verdicts["check"] == "budget") & (verdicts["server"] == server)]
    assert mine["outcome"].tolist() == ["holds"] * 3


@pytest.mark.parametrize("server", SERVERS)
def test_a_lone_request_waits_for_the_whole_delay(delayed: Path, server: str) -> None:
    found = budget(delayed, server).loc[20]
    assert found["queue_wait_s"] == pytest.approx(0.020, rel=0.10)
    assert found["mean_batch_size"] == pytest.approx(1.0, abs=0.02)
    assert "no backlog, no batch" in found["batches"]


@pytest.mark.parametrize("server", SERVERS)
def test_the_slowest_requests_have_a_budget_of_their_own(delayed: Path, server: str) -> None:
    mean, slowest = budget(delayed, server), budget(delayed, server, "slowest 1 %")
    assert (slowest["response_s"] > mean["response_s"]).all()
    total = slowest[[*PARTS, "unexplained_s"]].sum(axis=1)
    assert total.to_numpy() == pytest.approx(slowest["response_s"].to_numpy())


def test_triton_tells_by_its_traces_in_a_pass_of_their_own(delayed: Path) -> None:
    assert set(budget(delayed, "triton")["source"]) == {"traces"}
    samples = delayed / "samples" / "triton"
    traced, main = (pd.read_parquet(samples / name) for name in
                    ("traced-rate=100.parquet", "rate=100-replication=1.parquet"))  # fmt: skip
    assert traced["scheduled_s"].equals(main["scheduled_s"])
    assert traced["server_s"].notna().mean() > 0.99
    assert (traced["completed_s"] - traced["sent_s"] > traced["server_s"]).mean() > 0.95
    assert main["queue_wait_s"].isna().all()
    assert json.loads((delayed / "manifest.json").read_text())["notes"] == []


def test_torchserve_tells_the_wait_of_each_request(delayed: Path) -> None:
    assert set(budget(delayed, "torchserve")["source"]) == {"headers, counters and log"}
    rows = pd.read_parquet(delayed / "samples" / "torchserve" / "rate=100-replication=1.parquet")
    assert rows["queue_wait_s"].notna().mean() > 0.95
    ended_s = rows["execution_started_s"] + rows["compute_s"]
    assert ((rows["sent_s"] < rows["execution_started_s"]) & (ended_s < rows["completed_s"])).mean() > 0.95
    # Requests of one batch waited for different times, for the same execution.
    together = rows.groupby("execution_started_s")["queue_wait_s"]
    assert (together.max() - together.min()).max() > 0.001


@pytest.mark.parametrize("server", SERVERS)
def test_the_budget_agrees_with_the_load_table(delayed: Path, server: str) -> None:
    load = pd.read_csv(delayed / "load.csv")
    load = load[load["server"] == server].groupby("rate_per_s").mean(numeric_only=True)
    found = budget(delayed, server)
    for mine, theirs in (("queue_wait_s", "queue_wait_mean_s"), ("compute_s", "compute_mean_s")):
        assert found[mine].to_numpy() == pytest.approx(load[theirs].to_numpy(), rel=0.25)


def test_over_grpc_triton_notes_each_request_as_well(tmp_path: Path) -> None:
    spec = Server("triton", "triton")
    scenario = Scenario("grpc", Calibrated(c_s=0.004, m_s=0.002), (spec,), Calibration(batch_sizes=(1,)))
    runtime = ensure_runtime(cache_folder(), silent)
    model = prepare(scenario.model, runtime.python, cache_folder(), silent)
    artifact = build(scenario, spec, model, tmp_path)
    load = Load(rates_per_s=(100.0,), duration_s=3.0, warmup_s=0.5, protocol="grpc")

    async def traced() -> Point:
        names = model.input.name, model.output.name
        client, pool = clients.make("triton", "grpc", server.host, server.ports, *names)
        try:
            return await run_traced(Subject(server, client, pool, model, 1e-4, silent), artifact.arms[0], load, 1, 0)
        finally:
            await pool.close()

    with servers.KINDS["triton"](spec, artifact.folder, runtime, tmp_path / "server.log", silent) as server:
        server.serve(artifact.arms[:1])
        rows = asyncio.run(traced()).rows
        assert list(server.process.folder.glob("trace.json*")) == []  # read, and no more are written
        again = asyncio.run(traced()).rows
    for each in (rows, again):
        assert (each["status"] == 200).all()
        assert each["server_s"].notna().mean() > 0.99
        assert each["compute_s"].min() > 0.006  # c + m
