"""The stages that put open-loop load on a server: the rates asked for, the traced pass, the search."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

from bench.analysis.load import Counted, Point, is_valid
from bench.analysis.search import probe_of
from bench.experiments import open_loop, tracing
from bench.job import Job, subject_of, then_close
from bench.load.recorder import Recorder
from bench.measure.search import Goal, bracket, next_rate
from bench.scenario.arms import Arm
from bench.servers.server import NoTraces, RunningServer

MOST_REPEATS = 2
SEARCH_SEED = 1_000_000  # no index of a rate


def load_rate(job: Job, running: RunningServer, loop: asyncio.Runner, arm: Arm, rate_index: int) -> list[Point]:
    """Replications at one rate; one in which the generator was late, as on a disturbed host, is repeated."""
    wanted = job.scenario.load.replications
    rate = job.scenario.load.rates_per_s[rate_index]
    points = job.folder.points(running.spec.name, rate) if job.resumed else []
    for replication in range(1, wanted + max(MOST_REPEATS, wanted) + 1):
        if sum(map(is_valid, points)) == wanted:
            break
        if replication in {point.replication for point in points}:
            continue  # an earlier part of the run has it
        of = f"of {wanted}" if replication <= wanted else "(a repeat)"
        label = f"{rate:g}/s, replication {replication} {of}"
        seeds = (job.scenario.seed, rate_index, replication)
        point = load_point(job, running, loop, arm, Planned(rate, replication, seeds, label))
        points.append(point)
    return points


def trace_rate(job: Job, running: RunningServer, loop: asyncio.Runner, arm: Arm, rate_index: int) -> None:
    """The first replication once more, with the server noting each request's stages: for the latency budget alone."""
    if job.folder.has_traced(running.spec.name, job.scenario.load.rates_per_s[rate_index]):
        return  # by an earlier part of the run
    subject = subject_of(job, running, job.scenario.load.protocol)
    experiment = tracing.run_traced(subject, arm, job.scenario.load, job.scenario.seed, rate_index)
    try:
        job.folder.write_point(loop.run(then_close(subject, experiment)), traced=True)
    except NoTraces as error:
        job.notes.append(f"{error}; its latency budget is made from its counters")


def search(job: Job, running: RunningServer, loop: asyncio.Runner, arm: Arm, goal: Goal) -> None:
    """The highest rate that meets the objective: a point wherever the search wants the next one."""
    earlier = job.folder.searched_points(running.spec.name) if job.resumed else []
    probes = [probe_of(point, goal) for point in earlier if is_valid(point)]
    made = Counter(point.rate_per_s for point in earlier)
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
    subject = subject_of(job, running, plan.protocol)
    pace = open_loop.Pace(rate, plan.warmup_s, plan.workers, plan.timeout_s)
    counted: Counted | None = None
    try:
        experiment = open_loop.run_point(subject, arm, recorder, payloads, plan.protocol, pace, planned.label)
        statistics = loop.run(then_close(subject, experiment))
        counted = open_loop.counted(statistics)
    finally:
        rows, generator, offered = open_loop.measured(recorder, counted)
        point = Point(
            name, rate, replication, plan.warmup_s, plan.duration_s, rows, counted, generator, offered, planned.searched
        )
        job.folder.write_point(point)
    return point
