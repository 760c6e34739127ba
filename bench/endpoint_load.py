"""`load`: the load engine on an endpoint that somebody else runs; nothing is launched, nothing is configured."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import uvloop

from bench import environment
from bench.analysis.load import Point
from bench.analysis.run import Analysis
from bench.errors import BenchError, ScenarioError
from bench.experiments.endpoint import build_requests
from bench.experiments.open_loop import Pace, drive, measured, planned
from bench.experiments.sending import Sending
from bench.load.dispatch import Progress
from bench.load.recorder import Recorder
from bench.runner import report, status_of
from bench.scenario.spec import External, Load, Scenario, Server, ServerKind
from bench.scenario.stored import to_json
from bench.store.run_folder import RunFolder

LATEST = 1000


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A running server's address and the model to ask."""

    kind: ServerKind
    protocol: str
    host: str
    port: int
    model: str


@dataclass(frozen=True, slots=True)
class Live:
    """What the live line shows: counts so far, and percentiles of the latest answers in seconds (NaN: none yet)."""

    progress: Progress
    p50_s: float
    p99_s: float


MODEL_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
LONGEST_SHOWN = 60


def parse_endpoint(url: str, kind: ServerKind, protocol: str, model: str) -> Endpoint:
    """'http://127.0.0.1:8000', '127.0.0.1:8001', 'grpc://…'. Raises ScenarioError for what is no address, and
    for a model that cannot be the name of a folder."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ScenarioError(f"URL {url!r}: {error}") from error
    if not host or not port:
        raise ScenarioError(f"URL {url!r}: expected host and port, such as http://127.0.0.1:8000")
    if parts.scheme not in ("", "http", "grpc"):
        raise ScenarioError(f"URL {url!r}: expected http:// or grpc://, found {parts.scheme}://")
    if not re.fullmatch(MODEL_PATTERN, model):
        found = repr(model if len(model) <= LONGEST_SHOWN else f"{model[:LONGEST_SHOWN]}…")
        raise ScenarioError(
            f"model {found}: expected at most 128 letters, digits, dots, dashes and underscores, the first a letter or "
            f"digit: it becomes part of a path here and of a URL"
        )
    return Endpoint(kind, "grpc" if parts.scheme == "grpc" else protocol, host, port, model)


def run_load(
    endpoint: Endpoint, load: Load, payloads: list[Path], seed: int, out: Path, show: Callable[[Live], None]
) -> tuple[Path, Analysis, dict[str, Any], BaseException | None]:
    """One point of one replication at load.rates_per_s[0]: its folder, analysis, manifest, and what ended it early.

    Raises ScenarioError and ServerError before anything is sent; no folder is left then.
    """
    RunFolder.check(out)
    rate = load.rates_per_s[0]
    load = replace(load, replications=1)
    requests = build_requests(
        endpoint.kind, endpoint.protocol, endpoint.host, endpoint.port, endpoint.model, payloads, seed
    )
    offsets_ns, rng = planned(load, load.rates_per_s[0], (seed, 0, 1))  # as the first point of a run
    order = rng.integers(len(requests), size=len(offsets_ns)).astype(np.uint32)
    recorder = Recorder(offsets_ns)
    scenario = _scenario(endpoint, load, seed)
    folder = RunFolder.create(out, scenario.name)
    manifest: dict[str, Any] = {
        "scenario": to_json(scenario),
        "seed": seed,
        "started": environment.now_utc(),
        "environment": environment.describe(),
        "endpoint": {"host": endpoint.host, "port": endpoint.port, "model": endpoint.model},
    }
    folder.write_manifest({**manifest, "status": "running"})
    sending = Sending(endpoint.kind, endpoint.protocol, endpoint.host, endpoint.port, requests, order, load.timeout_s)
    error: BaseException | None = None

    def on_tick(progress: Progress) -> None:
        latest = recorder.latest_response_s(progress.sent, LATEST)
        p50_s, p99_s = np.percentile(latest, [50, 99]) if len(latest) else (np.nan, np.nan)
        show(Live(progress, float(p50_s), float(p99_s)))

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
            loop.run(drive(sending, recorder, Pace(rate, load.warmup_s, load.workers, load.timeout_s), on_tick))
    except (BenchError, KeyboardInterrupt) as caught:
        if isinstance(caught, BenchError) and not recorder.sent:
            folder.discard()
            raise
        error = caught
    rows, generator, offered = measured(recorder)
    point = Point(endpoint.model, rate, 1, load.warmup_s, load.duration_s, rows, None, generator, offered)
    folder.write_point(point)
    manifest |= {"finished": environment.now_utc(), "status": status_of(error)}
    folder.write_manifest(manifest)
    return folder.path, report(folder), manifest, error


def close_manifest(folder: Path, manifest: dict[str, Any], verdict: str, exit_code: int) -> None:
    """Writes the manifest for the last time, with the verdict in words and the exit code."""
    RunFolder(folder).write_manifest({**manifest, "verdict": verdict, "exit_code": exit_code})


def _scenario(endpoint: Endpoint, load: Load, seed: int) -> Scenario:
    """What was done, in a scenario's words, so that `report` reads it like any run."""
    server = Server(endpoint.model, endpoint.kind, runtime="attach")
    return Scenario(f"load-{endpoint.model}", External(endpoint.model), (server,), load=load, seed=seed)
