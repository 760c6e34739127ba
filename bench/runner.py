"""One scenario from start to end: artifacts, servers, experiments, store, analysis, report, in that order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvloop

from bench import environment
from bench.analysis.run import Analysis, analyse
from bench.analysis.search import goal_of
from bench.artifacts.build import Artifact, build
from bench.errors import BenchError, OutOfMemory
from bench.experiments import answers, open_loop
from bench.experiments.starts import Starts
from bench.job import Job, ran_out, started, subject_of, then_close
from bench.models.model import ServedModel
from bench.models.prepare import prepare
from bench.progress import Tell
from bench.report.plots import write_plots
from bench.scenario.spec import Scenario, Server
from bench.scenario.stored import to_json
from bench.servers.process import interrupts_deferred
from bench.servers.runtime import Runtime, cache_folder, ensure_runtime
from bench.stages_cost import SATURATION_SHARE, calibrate, check_answers, measure_capacity, saturate
from bench.stages_load import load_rate, search, trace_rate
from bench.store.run_folder import FORMAT_VERSION, RunFolder


@dataclass(frozen=True, slots=True)
class Options:
    """Where a run reads and writes. work: holds model_stores/ and triton_repo/."""

    out: Path = Path("results")
    work: Path = Path()
    rebuild: bool = False
    resume: Path | None = None  # the folder of a run of this scenario that ended early


@dataclass(frozen=True, slots=True)
class Finished:
    """What came of it. error: why it ended early, if it did."""

    folder: Path
    scenario: Scenario
    analysis: Analysis
    manifest: dict[str, Any]
    error: BaseException | None


def run_scenario(scenario: Scenario, options: Options, tell: Tell) -> Finished:
    """The main job. What was measured before an error or Ctrl-C is on disk, analysed and returned with it."""
    RunFolder.check(options.out)
    for rate_index, rate in enumerate(scenario.load.rates_per_s):  # a bad trace is told before minutes are spent
        open_loop.planned(scenario.load, rate, (scenario.seed, rate_index, 1))
    job = prepared(scenario, options, tell)
    error: BaseException | None = None
    try:
        for server in scenario.servers:
            check_answers(job, server)
        for server in scenario.servers:
            measure(job, server)
    except (BenchError, KeyboardInterrupt, OSError) as caught:
        error = caught
    with interrupts_deferred(again=False) as came:  # a second Ctrl-C must not lose what the first one saved
        finished = finish(job, error)
    if came and finished.error is None:
        finished.manifest["status"] = "interrupted"
        return replace(finished, error=KeyboardInterrupt())
    return finished


def prepared(scenario: Scenario, options: Options, tell: Tell) -> Job:
    """The job with all that it needs before a server is started: runtime, model, artifacts, folder.

    Raises ServerError where one of them cannot be had, a GPU that is asked for among them.
    """
    environment.demand_gpu(server.name for server in scenario.servers if server.device == "gpu")
    runtime = ensure_runtime(cache_folder(), tell)
    model = prepare(scenario.model, runtime.python, cache_folder(), tell)
    artifacts = build_artifacts(scenario, model, options, tell)
    return _begin(scenario, runtime, model, artifacts, options, tell)


def build_artifacts(scenario: Scenario, model: ServedModel, options: Options, tell: Tell) -> dict[str, Artifact]:
    """Server name -> its artifact under options.work."""
    tell("building the artifacts", None)
    return {s.name: build(scenario, s, model, options.work, rebuild=options.rebuild) for s in scenario.servers}


def measure(job: Job, server: Server) -> None:
    """Calibration at exactly B, on as many started servers as it takes; then the capacity and the open-loop points on
    the last of them. A server that has run out of memory at a batch that its load may form is given no load.
    """
    if job.is_done(server.name, "loaded"):
        return
    calibrated = job.is_done(server.name, "calibrated")
    if job.resumed and not calibrated:
        job.folder.forget_calibration(server.name)  # of blocks that would be numbered again
    production, off, *rest = job.artifacts[server.name].arms
    plan, short = job.scenario.calibration, job.manifest["out_of_memory"]
    starts = Starts(tuple(rest), plan.restarts + 1, (1 - SATURATION_SHARE) * plan.max_duration_s)
    if server.name in short:
        starts.give_up_from(short[server.name])
    if calibrated:
        starts.left = 0 if server.name in short else 1
    while starts.left:
        with started(job, server) as running, asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
            alone = running.process.processes()
            try:
                subject = subject_of(job, running)
                together = short[server.name] // 2 if server.name in short else None
                loop.run(then_close(subject, answers.prove_ready(subject, production, together)))
                if not calibrated:
                    running.serve([off, *starts.arms])
                    for arm in (off, *starts.arms):
                        running.confirm(arm)
                    calibrate(job, running, loop, off, starts)
                    saturate(job, running, loop, off, starts)
                starts.left -= 1
            except OutOfMemory as error:
                ran_out(job, server.name, error, "calibration")
                starts.give_up_from(error.batch_size)
            if starts.left or server.name in short:
                continue
            if not calibrated:
                running.withdraw([off, *starts.arms])
                running.wait_for_processes(alone)
                measure_capacity(job, running, loop, production)
                job.mark(server.name, "calibrated")
            for rate_index in range(len(job.scenario.load.rates_per_s)):
                points = load_rate(job, running, loop, production, rate_index)
                if running.traces and not any(point.overload().saturated for point in points):
                    trace_rate(job, running, loop, production, rate_index)
            if job.scenario.load.search is not None:
                goal = goal_of(job.scenario, job.folder.capacity_per_s(server.name))
                search(job, running, loop, production, goal)
    job.mark(server.name, "loaded")


def finish(job: Job, error: BaseException | None) -> Finished:
    """Everything that is made from the raw files, the verdict, and the manifest that says how it ended."""
    job.tell("analysing and plotting", None)
    status = status_of(error)
    job.manifest |= {
        "finished": environment.now_utc(),
        "status": status,
        "error": str(error) if error is not None else "",
        "notes": job.notes,
    }
    job.folder.write_manifest(job.manifest)  # before anything else can go wrong; unproven_batches are read from it
    analysis = report(job.folder)
    return Finished(job.folder.path, job.scenario, analysis, job.manifest, error)


def status_of(error: BaseException | None) -> str:
    """How a run ended, as its manifest says it."""
    return "complete" if error is None else "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"


def report(folder: RunFolder) -> Analysis:
    """Tables and plots of a run, made from its raw files alone."""
    raw = folder.read()
    analysis = analyse(raw)
    folder.write_tables(analysis)
    write_plots(folder.path / "plots", raw, analysis)
    return analysis


def close_manifest(finished: Finished, verdict: str, exit_code: int) -> None:
    """Writes the manifest for the last time, with the verdict in words and the exit code."""
    finished.manifest.update(verdict=verdict, exit_code=exit_code)
    RunFolder(finished.folder).write_manifest(finished.manifest)


def _taken_over(before: dict[str, Any]) -> dict[str, Any]:
    """Of the manifest of a run that is resumed: what is still true of it."""
    kept = ("unproven_batches", "out_of_memory", "done")
    parts = [*before.get("parts", ()), {name: before.get(name) for name in ("started", "finished", "status", "error")}]
    return {**{name: before.get(name, {}) for name in kept}, "parts": parts}


def _begin(
    scenario: Scenario,
    runtime: Runtime,
    model: ServedModel,
    artifacts: dict[str, Artifact],
    options: Options,
    tell: Tell,
) -> Job:
    folder = RunFolder(options.resume) if options.resume else RunFolder.create(options.out, scenario.name)
    manifest: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "scenario": to_json(scenario),
        "seed": scenario.seed,
        "started": environment.now_utc(),
        "status": "running",
        "environment": environment.describe(),
        "servers": {},
        "image_digests": {},
        "unproven_batches": {},
        "out_of_memory": {},
        "done": {},
    }
    if options.resume:
        manifest |= _taken_over(folder.manifest())
    folder.write_manifest(manifest)
    job = Job(scenario, runtime, model, artifacts, folder, manifest, tell)
    for artifact in artifacts.values():
        about = {"folder": str(artifact.folder), "sha256": artifact.checksums}
        folder.write_server_json(artifact.server, "artifact.json", about)
        if artifact.altered:
            job.notes.append(
                f"{artifact.server}: {', '.join(artifact.altered)} in {artifact.folder} changed since it was built and "
                f"is used as it stands; --rebuild builds it anew"
            )
    return job
