"""The stages of one started server that say what a batch costs: answers, calibration, saturation, capacity."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
import uvloop

from bench.analysis.answers import difference_text, worst_difference
from bench.analysis.calibration import precise_enough
from bench.analysis.capacity import CAPACITY, OCCUPANCY
from bench.errors import MeasurementInvalid, OutOfMemory
from bench.experiments import answers, calibration, memory, saturation
from bench.experiments.calibration import Sample
from bench.experiments.saturation import Saturated
from bench.experiments.starts import Starts
from bench.job import Job, order_of, ran_out, started, subject_of, then_close
from bench.models.model import Floats
from bench.scenario.arms import Arm, saturated_sizes
from bench.scenario.spec import Server
from bench.servers.server import RunningServer

SATURATION_SHARE = 0.3  # of calibration.max_duration; the rest goes to batches one at a time
CAPACITY_VISITS, CAPACITY_VISIT_S = 5, 0.5
FEWEST_CAPACITY_VISITS, CAPACITY_S = 3, 8.0  # of a model whose batches take long


def check_answers(job: Job, server: Server) -> None:
    """Starts the server once, before anything is measured on any: every held-out answer must be right. Where a full
    batch does not fit into memory, half as many are asked for together, on a server started anew."""
    together, served = None, None
    while served is None:
        try:
            served = _answers(job, server, together)
        except OutOfMemory as error:
            ran_out(job, server.name, error, "answers")
            together = error.batch_size // 2
    job.folder.write_answers(server.name, served, job.model.expected, job.model.labels)
    worst = worst_difference(served, job.model.expected)
    tolerance = job.scenario.checks.output_tolerance
    if not worst.within(tolerance):
        raise MeasurementInvalid(f"{server.name} answers wrongly: {difference_text(worst, tolerance)}")


def calibrate(job: Job, running: RunningServer, loop: asyncio.Runner, off: Arm, starts: Starts) -> None:
    """Samples of T(B) of one start into calibration.csv, those of an interrupted calibration too."""
    plan, name = job.scenario.calibration, running.spec.name
    subject = subject_of(job, running)
    taken, processes = starts.begin(), memory.loaded(running, starts.exact)
    rng = np.random.default_rng([job.scenario.seed, order_of(job, name), 0, taken.start])

    def enough(samples: Sequence[Sample]) -> bool:
        return precise_enough(pd.DataFrame([asdict(sample) for sample in samples]), plan.precision)

    visits = calibration.plan_visits(subject, starts.exact, off)
    try:
        experiment = calibration.calibrate(subject, visits, starts.share_s, rng, enough, taken)
        loop.run(then_close(subject, experiment))
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
    subject = subject_of(job, running)
    sizes = saturated_sizes(arm.max_batch_size for arm in starts.exact)
    chosen = [off, *(arm for arm in starts.arms if arm.max_batch_size in sizes)]
    rng = np.random.default_rng([job.scenario.seed, order_of(job, name), 1, starts.taken.start])
    taken: list[Saturated] = []

    def enough(visits: Sequence[Saturated]) -> bool:
        samples = pd.DataFrame([sample for visit in visits for sample in saturation.samples(visit)])
        return precise_enough(samples, plan.precision, OCCUPANCY)

    try:
        most_s = SATURATION_SHARE * plan.max_duration_s / (plan.restarts + 1)
        first, start = starts.saturated_blocks, starts.taken.start
        experiment = saturation.saturate_in_blocks(subject, chosen, most_s, rng, enough, taken, first, start)
        loop.run(then_close(subject, experiment))
    finally:
        starts.saturated_blocks = max((visit.block + 1 for visit in taken), default=starts.saturated_blocks)
        job.folder.append_calibration(name, (sample for visit in taken for sample in saturation.samples(visit)))
        job.folder.append("saturation", (saturation.row(name, OCCUPANCY, visit) for visit in taken))


def measure_capacity(job: Job, running: RunningServer, loop: asyncio.Runner, arm: Arm) -> None:
    """Throughput of the model as the scenario serves it, saturated and with nothing else loaded."""
    name, began = running.spec.name, time.monotonic()
    for block in range(CAPACITY_VISITS):
        if block >= FEWEST_CAPACITY_VISITS and time.monotonic() - began > CAPACITY_S:
            break
        job.tell(f"{name}: measuring the capacity", block / CAPACITY_VISITS)
        subject = subject_of(job, running)
        visit = loop.run(then_close(subject, saturation.saturate(subject, arm, block, CAPACITY_VISIT_S)))
        job.folder.append("saturation", [saturation.row(name, CAPACITY, visit)])


def _answers(job: Job, server: Server, together: int | None) -> Floats:
    with started(job, server) as running, asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        subject, production = subject_of(job, running), job.artifacts[server.name].arms[0]
        return loop.run(then_close(subject, answers.collect_answers(subject, production, together)))
