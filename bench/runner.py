"""One scenario from start to end: artifacts, servers, experiments, store, analysis, report, in that order."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import uvloop

from bench import clients, environment, servers
from bench.analysis.answers import difference_text, worst_difference
from bench.analysis.calibration import precise_enough
from bench.analysis.capacity import CAPACITY, OCCUPANCY
from bench.analysis.load import Counted, Point, is_valid
from bench.analysis.run import Analysis, analyse
from bench.analysis.search import goal_of, probe_of
from bench.artifacts.build import Artifact, build
from bench.errors import BenchError, MeasurementInvalid, OutOfMemory
from bench.experiments import answers, calibration, memory, open_loop, saturation, tracing
from bench.experiments.calibration import Sample
from bench.experiments.saturation import Saturated
from bench.experiments.starts import Starts, shortage_note, shortage_row
from bench.experiments.subject import Subject
from bench.load.recorder import Recorder
from bench.measure.search import Goal, Probe, bracket, next_rate
from bench.models.model import Floats, ServedModel
from bench.models.prepare import prepare
from bench.progress import Tell
from bench.report.plots import write_plots
from bench.scenario.arms import Arm, saturated_sizes
from bench.scenario.spec import Protocol, Scenario, Server
from bench.scenario.stored import to_json
from bench.servers.process import interrupts_deferred
from bench.servers.runtime import Runtime, cache_folder, ensure_runtime
from bench.servers.server import NoTraces, RunningServer
from bench.store import FORMAT_VERSION, RunFolder

T = TypeVar("T")
MOST_REPEATS = 2
SEARCH_SEED = 1_000_000  # no index of a rate
SATURATION_SHARE = 0.3  # of calibration.max_duration; the rest goes to batches one at a time
CAPACITY_VISITS, CAPACITY_VISIT_S = 5, 0.5
FEWEST_CAPACITY_VISITS, CAPACITY_S = 3, 8.0  # of a model whose batches take long


@dataclass(frozen=True, slots=True)
class Options:
    """Where a run reads and writes. work: holds model_stores/ and triton_repo/."""

    out: Path = Path("results")
    work: Path = Path()
    rebuild: bool = False


@dataclass(slots=True)
class Job:
    """A run in the making."""

    scenario: Scenario
    runtime: Runtime
    model: ServedModel
    artifacts: dict[str, Artifact]
    folder: RunFolder
    manifest: dict[str, Any]
    tell: Tell
    notes: list[str] = field(default_factory=list)


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
    runtime = ensure_runtime(cache_folder(), tell)
    model = prepare(scenario.model, runtime.python, cache_folder(), tell)
    artifacts = build_artifacts(scenario, model, options, tell)
    job = _begin(scenario, runtime, model, artifacts, options, tell)
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


def build_artifacts(scenario: Scenario, model: ServedModel, options: Options, tell: Tell) -> dict[str, Artifact]:
    """Server name -> its artifact under options.work."""
    tell("building the artifacts", None)
    return {s.name: build(scenario, s, model, options.work, rebuild=options.rebuild) for s in scenario.servers}


def check_answers(job: Job, server: Server) -> None:
    """Starts the server once, before anything is measured on any: every held-out answer must be right. Where a full
    batch does not fit into memory, half as many are asked for together, on a server started anew."""
    together, served = None, None
    while served is None:
        try:
            served = _answers(job, server, together)
        except OutOfMemory as error:
            _ran_out(job, server.name, error, "answers")
            together = error.batch_size // 2
    job.folder.write_answers(server.name, served, job.model.expected, job.model.labels)
    worst = worst_difference(served, job.model.expected)
    tolerance = job.scenario.checks.output_tolerance
    if not worst.within(tolerance):
        raise MeasurementInvalid(f"{server.name} answers wrongly: {difference_text(worst, tolerance)}")


def measure(job: Job, server: Server) -> None:
    """Calibration at exactly B, on as many started servers as it takes; then the capacity and the open-loop points on
    the last of them. A server that has run out of memory at a batch that its load may form is given no load.
    """
    production, off, *rest = job.artifacts[server.name].arms
    plan, short = job.scenario.calibration, job.manifest["out_of_memory"]
    starts = Starts(tuple(rest), plan.restarts + 1, (1 - SATURATION_SHARE) * plan.max_duration_s)
    if server.name in short:
        starts.give_up_from(short[server.name])
    while starts.left:
        with _started(job, server) as running, asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
            alone = running.process.processes()
            try:
                subject = _subject(job, running)
                together = short[server.name] // 2 if server.name in short else None
                loop.run(_then_close(subject, answers.prove_ready(subject, production, together)))
                running.serve([off, *starts.arms])
                for arm in (off, *starts.arms):
                    running.confirm(arm)
                calibrate(job, running, loop, off, starts)
                saturate(job, running, loop, off, starts)
                starts.left -= 1
            except OutOfMemory as error:
                _ran_out(job, server.name, error, "calibration")
                starts.give_up_from(error.batch_size)
            if starts.left or server.name in short:
                continue
            running.withdraw([off, *starts.arms])
            running.wait_for_processes(alone)
            capacity_per_s = measure_capacity(job, running, loop, production)
            for rate_index in range(len(job.scenario.load.rates_per_s)):
                points = load_rate(job, running, loop, production, rate_index)
                if running.traces and not any(point.overload().saturated for point in points):
                    trace_rate(job, running, loop, production, rate_index)
            if job.scenario.load.search is not None:
                search(job, running, loop, production, goal_of(job.scenario, capacity_per_s))


def calibrate(job: Job, running: RunningServer, loop: asyncio.Runner, off: Arm, starts: Starts) -> None:
    """Samples of T(B) of one start into calibration.csv, those of an interrupted calibration too."""
    plan, name = job.scenario.calibration, running.spec.name
    subject = _subject(job, running)
    taken, processes = starts.begin(), memory.loaded(running, starts.exact)
    rng = np.random.default_rng([job.scenario.seed, _order(job, name), 0, taken.start])

    def enough(samples: Sequence[Sample]) -> bool:
        return precise_enough(pd.DataFrame([asdict(sample) for sample in samples]), plan.precision)

    visits = calibration.plan_visits(subject, starts.exact, off)
    try:
        experiment = calibration.calibrate(subject, visits, starts.share_s, rng, enough, taken)
        loop.run(_then_close(subject, experiment))
        job.folder.append("memory", memory.memory_rows(running, processes, taken))
    finally:
        starts.budget_s -= taken.seconds
        job.folder.append_calibration(name, (asdict(sample) for sample in taken.samples))
        unproven = job.manifest["unproven_batches"]
        unproven[name] = unproven.get(name, 0) + taken.unproven
        if taken.unsettled:
            job.notes.append(f"{name}: not known to have settled when the warm-up ended: {', '.join(taken.unsettled)}")


def saturate(job: Job, running: RunningServer, loop: asyncio.Runner, off: Arm, starts: Starts) -> None:
    """Throughput at saturation of some exact sizes, alone and by N, and without batching: the occupancy layer."""
    plan, name = job.scenario.calibration, running.spec.name
    subject = _subject(job, running)
    sizes = saturated_sizes(arm.max_batch_size for arm in starts.exact)
    chosen = [off, *(arm for arm in starts.arms if arm.max_batch_size in sizes)]
    rng = np.random.default_rng([job.scenario.seed, _order(job, name), 1, starts.taken.start])
    taken: list[Saturated] = []

    def enough(visits: Sequence[Saturated]) -> bool:
        samples = pd.DataFrame([sample for visit in visits for sample in saturation.samples(visit)])
        return precise_enough(samples, plan.precision, OCCUPANCY)

    try:
        most_s = SATURATION_SHARE * plan.max_duration_s / (plan.restarts + 1)
        first, start = starts.saturated_blocks, starts.taken.start
        experiment = saturation.saturate_in_blocks(subject, chosen, most_s, rng, enough, taken, first, start)
        loop.run(_then_close(subject, experiment))
    finally:
        starts.saturated_blocks = max((visit.block + 1 for visit in taken), default=starts.saturated_blocks)
        job.folder.append_calibration(name, (sample for visit in taken for sample in saturation.samples(visit)))
        job.folder.append("saturation", (saturation.row(name, OCCUPANCY, visit) for visit in taken))


def measure_capacity(job: Job, running: RunningServer, loop: asyncio.Runner, arm: Arm) -> float:
    """Requests per second of the model as the scenario serves it, saturated and with nothing else loaded."""
    name, rates = running.spec.name, list[float]()
    began = time.monotonic()
    for block in range(CAPACITY_VISITS):
        if block >= FEWEST_CAPACITY_VISITS and time.monotonic() - began > CAPACITY_S:
            break
        job.tell(f"{name}: measuring the capacity", block / CAPACITY_VISITS)
        subject = _subject(job, running)
        visit = loop.run(_then_close(subject, saturation.saturate(subject, arm, block, CAPACITY_VISIT_S)))
        job.folder.append("saturation", [saturation.row(name, CAPACITY, visit)])
        rates.append(visit.requests / visit.seconds)
    return sum(rates) / len(rates)


def load_rate(job: Job, running: RunningServer, loop: asyncio.Runner, arm: Arm, rate_index: int) -> list[Point]:
    """Replications at one rate; one in which the generator was late, as on a disturbed host, is repeated."""
    wanted = job.scenario.load.replications
    points: list[Point] = []
    for replication in range(1, wanted + max(MOST_REPEATS, wanted) + 1):
        of = f"of {wanted}" if replication <= wanted else "(a repeat)"
        rate = job.scenario.load.rates_per_s[rate_index]
        label = f"{rate:g}/s, replication {replication} {of}"
        seeds = (job.scenario.seed, rate_index, replication)
        point = load_point(job, running, loop, arm, Planned(rate, replication, seeds, label))
        points.append(point)
        if sum(map(is_valid, points)) == wanted:
            break
    return points


def trace_rate(job: Job, running: RunningServer, loop: asyncio.Runner, arm: Arm, rate_index: int) -> None:
    """The first replication once more, with the server noting each request's stages: for the latency budget alone."""
    subject = _subject(job, running, job.scenario.load.protocol)
    experiment = tracing.run_traced(subject, arm, job.scenario.load, job.scenario.seed, rate_index)
    try:
        job.folder.write_point(loop.run(_then_close(subject, experiment)), traced=True)
    except NoTraces as error:
        job.notes.append(f"{error}; its latency budget is made from its counters")


def search(job: Job, running: RunningServer, loop: asyncio.Runner, arm: Arm, goal: Goal) -> None:
    """The highest rate that meets the objective: a point wherever the search wants the next one."""
    probes: list[Probe] = []
    made: Counter[float] = Counter()
    while (rate := next_rate(goal, probes)) is not None and sum(made.values()) < 2 * goal.most:
        made[rate] += 1
        low, high = bracket(goal, probes)
        label = f"searching between {low or goal.from_per_s:g} and {high or goal.to_per_s:g}/s, {rate:g}/s"
        seeds = (job.scenario.seed, SEARCH_SEED, round(rate * 1e6), made[rate])
        point = load_point(job, running, loop, arm, Planned(rate, made[rate], seeds, label, searched=True))
        if is_valid(point):
            probes.append(probe_of(point, goal))


@dataclass(frozen=True, slots=True)
class Planned:
    """A point to be made: its rate, which repeat of it, where its randomness comes from, and what it is called."""

    rate_per_s: float
    replication: int
    seeds: tuple[int, ...]
    label: str
    searched: bool = False


def load_point(job: Job, running: RunningServer, loop: asyncio.Runner, arm: Arm, planned: Planned) -> Point:
    """One rate, one replication: the same schedule and payloads for every server."""
    plan, name = job.scenario.load, running.spec.name
    rate, replication = planned.rate_per_s, planned.replication
    offsets_ns, rng = open_loop.planned(plan, rate, planned.seeds)
    payloads = rng.integers(len(job.model.payloads), size=len(offsets_ns))
    recorder = Recorder(offsets_ns)
    subject = _subject(job, running, plan.protocol)
    pace = open_loop.Pace(rate, plan.warmup_s, plan.workers, plan.timeout_s)
    counted: Counted | None = None
    try:
        experiment = open_loop.run_point(subject, arm, recorder, payloads, plan.protocol, pace, planned.label)
        statistics = loop.run(_then_close(subject, experiment))
        counted = open_loop.counted(statistics)
    finally:
        rows, generator, offered = open_loop.measured(recorder, counted)
        point = Point(
            name, rate, replication, plan.warmup_s, plan.duration_s, rows, counted, generator, offered, planned.searched
        )
        job.folder.write_point(point)
    return point


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


def _begin(
    scenario: Scenario,
    runtime: Runtime,
    model: ServedModel,
    artifacts: dict[str, Artifact],
    options: Options,
    tell: Tell,
) -> Job:
    folder = RunFolder.create(options.out, scenario.name)
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
    }
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


@contextmanager
def _started(job: Job, server: Server) -> Iterator[RunningServer]:
    """The server, with the model ready on every instance and read back as the scenario asks."""
    artifact = job.artifacts[server.name]
    production = artifact.arms[0]
    log = job.folder.server_folder(server.name) / "server.log"
    running = servers.KINDS[server.kind](server, artifact.folder, job.runtime, log, job.tell)
    with running:
        running.serve([production])
        settings = running.confirm(production)
        version = running.version()
        job.manifest["servers"][server.name] = {"kind": server.kind, "version": version}
        job.folder.write_server_json(server.name, "read_back.json", [asdict(setting) for setting in settings])
        job.folder.write_server_json(server.name, "config_as_read_back.json", running.configuration(production))
        for file, content in running.sent_configuration(production).items():
            (job.folder.server_folder(server.name) / file).write_bytes(content)
        yield running


def _answers(job: Job, server: Server, together: int | None) -> Floats:
    with _started(job, server) as running, asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        subject, production = _subject(job, running), job.artifacts[server.name].arms[0]
        return loop.run(_then_close(subject, answers.collect_answers(subject, production, together)))


def _ran_out(job: Job, server: str, error: OutOfMemory, during: str) -> None:
    """A batch that did not fit is something measured: a row, a note, and the smallest such size in the manifest.

    Raises it again when it was one request: then there is nothing to measure.
    """
    if error.batch_size == 1:
        raise error
    smallest = job.manifest["out_of_memory"]
    smallest[server] = min(error.batch_size, smallest.get(server, error.batch_size))
    job.folder.append("out_of_memory", [shortage_row(server, error, during)])
    job.notes.append(shortage_note(error, during))


def _subject(job: Job, running: RunningServer, protocol: Protocol = "http") -> Subject:
    model, spec = job.model, running.spec
    client, pool = clients.make(spec.kind, protocol, running.host, running.ports, model.input.name, model.output.name)
    return Subject(running, client, pool, model, job.scenario.checks.output_tolerance, job.tell)


async def _then_close(subject: Subject, experiment: Awaitable[T]) -> T:
    try:
        return await experiment
    finally:
        await subject.pool.close()


def _order(job: Job, server: str) -> int:
    return [s.name for s in job.scenario.servers].index(server)
