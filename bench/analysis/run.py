"""A whole run's raw records -> everything that is reported of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.analysis import answers as answer_checks
from bench.analysis.budget import BUDGET_COLUMNS, budget
from bench.analysis.calibration import LAW_LAYER
from bench.analysis.capacity import (
    OCCUPANCY,
    Capacity,
    between_the_layers,
    capacities,
    capacity_verdict,
    occupancy_layer,
    throughput_speedup_verdicts,
    throughput_speedups,
)
from bench.analysis.law import LayerFit, fit_all
from bench.analysis.law_notes import notes
from bench.analysis.law_verdicts import law_verdicts
from bench.analysis.load import LOAD_COLUMNS, Point, load_row, objective_verdict, rate_verdicts, rates
from bench.analysis.memory import MemoryUse, fitting, memory_table, memory_use, smallest_failed
from bench.analysis.own_clock import own_clock_verdicts
from bench.analysis.response import response_table
from bench.analysis.search import Found, found, search_verdict
from bench.analysis.sentences import sentence
from bench.analysis.speedups import Speedup, speedups
from bench.analysis.tables import RAW_COLUMNS
from bench.analysis.verdict import Outcome, Verdict, exit_code
from bench.scenario.spec import External, Scenario


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers (n, outputs) of every server to the same payloads, the in-process ones, and the labels (n,) if any."""

    served: Mapping[str, NDArray[np.float32]]
    expected: NDArray[np.float32]
    labels: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True)
class RawRun:
    """What was measured. samples: the columns of calibration.csv; unproven: batches of another size than asked;
    tables: the further raw tables by name, see `bench.analysis.tables`; traced: points whose requests' stages the
    server noted, at most one for a server and rate."""

    scenario: Scenario
    samples: pd.DataFrame
    points: tuple[Point, ...]
    answers: Answers | None
    unproven: Mapping[str, int] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    searched: tuple[Point, ...] = ()
    traced: tuple[Point, ...] = ()

    def table(self, name: str, server: str) -> pd.DataFrame:
        """One server's rows of a raw table; empty where there is none."""
        whole = self.tables.get(name, pd.DataFrame(columns=list(RAW_COLUMNS[name])))
        return whole[whole["server"] == server]

    def calibrated(self, server: str) -> pd.DataFrame:
        """One server's samples, of the batch sizes that fit into its memory."""
        return fitting(self.samples[self.samples["server"] == server], self.ran_out_at(server))

    def ran_out_at(self, server: str) -> int | None:
        """The smallest batch size that did not fit into memory."""
        return smallest_failed(self.table("out_of_memory", server))


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a run says. fits: server -> layer -> fit; sentences: server -> what batching means for it; tables: further
    tables by name, each written as a CSV; notes: server -> what else a reader of its fits has to know."""

    fits: Mapping[str, Mapping[str, LayerFit]]
    speedups: tuple[Speedup, ...]
    load: pd.DataFrame
    verdicts: tuple[Verdict, ...]
    sentences: Mapping[str, str]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdicts)


def analyse(raw: RawRun) -> Analysis:
    """Pure; leaves out what was not measured, so that an interrupted run can be read too."""
    scenario, checks = raw.scenario, raw.scenario.checks
    verdicts: list[Verdict] = []
    if raw.answers is not None:
        verdicts += answer_checks.answer_verdicts(
            dict(raw.answers.served), raw.answers.expected, raw.answers.labels, checks.output_tolerance
        )
    fits: dict[str, dict[str, LayerFit]] = {}
    rows: list[Speedup] = []
    sentences: dict[str, str] = {}
    served: list[Capacity] = []
    noted: dict[str, tuple[str, ...]] = {}
    uses: list[MemoryUse] = []
    for server in scenario.servers:
        samples, failed_at = raw.calibrated(server.name), raw.ran_out_at(server.name)
        use = memory_use(server, samples, raw.table("memory", server.name), failed_at)
        if use is not None:
            uses.append(use)
            verdicts += [use.verdict] if use.verdict else []
        fits[server.name] = fit_all(samples, checks.affine_tolerance)
        fit = fits[server.name].get(LAW_LAYER)
        if fit is None:
            if not isinstance(scenario.model, External):
                verdicts.append(_missing("calibration", server.name, "T(B)", failed_at))
            continue
        verdicts.append(_batch_sizes(server.name, samples, raw.unproven.get(server.name, 0)))
        own = speedups(server.name, samples, fit, checks.speedup_tolerance)
        rows += own
        precision = scenario.calibration.precision
        verdicts += law_verdicts(server.name, samples, fit, own, precision=precision, checks=checks)
        verdicts += own_clock_verdicts(server.name, server.kind, fits[server.name])
        largest = server.max_batch_size if failed_at is None else int(fit.largest_batch)
        said = (sentence(samples, fit, own, largest), between_the_layers(fits[server.name]))
        sentences[server.name] = ". ".join(filter(None, said))
        noted[server.name] = notes(samples, fit, own)
        occupancy = fits[server.name].get(OCCUPANCY)
        if occupancy is not None:
            by_throughput = throughput_speedups(server.name, samples, occupancy, checks.speedup_tolerance)
            rows += by_throughput
            verdicts += throughput_speedup_verdicts(by_throughput, checks.speedup_tolerance)
        own_capacity = capacities(server.name, raw.table("saturation", server.name), fits[server.name])
        served += own_capacity
        capacity = capacity_verdict(server, own_capacity, checks.capacity_tolerance)
        verdicts += [capacity] if capacity else []
    objective = scenario.slo
    measured = rates(raw.points)
    verdicts += [
        _missing("load", server.name, f"{rate:g}/s", raw.ran_out_at(server.name))
        for server in scenario.servers
        for rate in scenario.load.rates_per_s
        if (server.name, rate) not in measured
    ]
    for points in measured.values():
        verdicts += rate_verdicts(points, scenario.load.replications)
        if objective is not None:
            verdicts.append(objective_verdict(points, objective.percentile, objective.response_time_s))
    looked: list[Found] = []
    for server in scenario.servers if scenario.load.search is not None else ():
        mine = [point for point in raw.searched if point.server == server.name]
        looked.append(found(scenario, server.name, mine, served))
        failed_at = raw.ran_out_at(server.name)
        missing = None if failed_at is None else _missing("highest rate", server.name, "objective", failed_at)
        verdicts.append(missing or search_verdict(looked[-1]))
    objective_s = objective.response_time_s if objective is not None else None
    load = pd.DataFrame([load_row(p, objective_s) for p in raw.points], columns=list(LOAD_COLUMNS))
    budgets, budget_verdicts = _budgets(raw, fits)
    verdicts += budget_verdicts
    tables = {
        "search": pd.DataFrame(map(asdict, looked), columns=[f.name for f in fields(Found)]),
        "capacity": pd.DataFrame(map(asdict, served), columns=[f.name for f in fields(Capacity)]),
        "response": response_table(measured, objective),
        "budget": budgets,
    }
    tables |= {"memory_fit": memory_table(uses)} if uses else {}
    return Analysis(fits, tuple(rows), load, tuple(verdicts), sentences, tables, noted)


def _budgets(raw: RawRun, fits: Mapping[str, Mapping[str, LayerFit]]) -> tuple[pd.DataFrame, list[Verdict]]:
    """Of each server at each rate; of none where somebody else serves the model, and its delay is not known."""
    frames, verdicts = [pd.DataFrame(columns=list(BUDGET_COLUMNS))], []
    if not isinstance(raw.scenario.model, External):
        servers = {server.name: server for server in raw.scenario.servers}
        traced = {(point.server, point.rate_per_s): point for point in raw.traced}
        for (name, rate), points in rates(raw.points).items():
            server, layers = servers[name], fits.get(name, {})
            fit = layers.get(occupancy_layer(server.instances)) or layers.get(LAW_LAYER)
            rows, verdict = budget(points, traced.get((name, rate)), server, fit.model if fit else None)
            frames.append(rows)
            verdicts += [verdict] if verdict is not None else []
    return pd.concat(frames[1:] or frames, ignore_index=True), verdicts


def _missing(check: str, server: str, subject: str, failed_at: int | None) -> Verdict:
    """failed_at: the batch size that did not fit into memory, which is then the reason."""
    if failed_at is not None:
        why = f"not measured: a batch of {failed_at} did not fit into memory, see the verdict of that"
        return Verdict(check, server, subject, "measured", "nothing", "", "not applicable", why)
    why = "nothing was measured, or its file cannot be read"
    return Verdict(check, server, subject, "measured", "nothing", "", "invalid", why)


def _batch_sizes(server: str, samples: pd.DataFrame, unproven: int) -> Verdict:
    proven = int((samples["layer"].str.startswith("compute")).sum())
    why = f"{proven} batches were executed at the asked size, {unproven} were not and are left out"
    outcome: Outcome = "holds" if unproven <= 0.05 * proven else "invalid"
    return Verdict("batch sizes", server, "executed as asked", 0.0, float(unproven), 0.05 * proven, outcome, why)
