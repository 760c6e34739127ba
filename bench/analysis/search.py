"""The points of a search -> the highest rate that meets the objective: a row of search.csv and a verdict a server."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.analysis.capacity import CAPACITY, Capacity
from bench.analysis.load import Point, is_valid
from bench.analysis.verdict import Outcome, Verdict
from bench.measure.autocorrelation import autocorrelation_time
from bench.measure.search import Goal, HighestRate, Probe, highest_rate
from bench.scenario.spec import Scenario


@dataclass(frozen=True, slots=True)
class Found:
    """One row of search.csv: the answer with its 95 % interval, per second, and what it took in load, seconds."""

    server: str
    percentile: float
    objective_s: float
    rate_per_s: float
    lo_per_s: float
    hi_per_s: float
    found: bool
    rates: int
    replications: int
    seconds: float
    why: str


def goal_of(scenario: Scenario, capacity_per_s: float | None) -> Goal:
    """What the scenario's search looks for. Raises ValueError for a scenario without `load.search` and `slo`."""
    search, objective = scenario.load.search, scenario.slo
    if search is None or objective is None:
        raise ValueError("a search needs load.search and slo")
    to_per_s = math.inf if search.to_per_s is None else search.to_per_s
    return Goal(
        objective.percentile, objective.response_time_s, search.from_per_s, to_per_s, search.resolution,
        search.replications, capacity_per_s,
    )  # fmt: skip


def probe_of(point: Point, goal: Goal) -> Probe:
    """A replication as the search sees it: a failed request took for ever, and a saturated point meets nothing."""
    window = point.window()
    response_s = np.where(window.ok, window.response_s, math.inf)[window.sent]
    if point.overload().saturated or not len(response_s):
        return Probe(point.rate_per_s, math.inf, max(1, len(response_s)), max(1, len(response_s)))
    beyond = response_s > goal.objective_s
    # Of two neighbours the larger: between a time and no answer there is nothing to interpolate.
    percentile_s = float(np.percentile(response_s, goal.percentile, method="higher"))
    return Probe(point.rate_per_s, percentile_s, len(beyond), int(beyond.sum()), autocorrelation_time([beyond]))


def found(scenario: Scenario, server: str, points: Sequence[Point], served: Sequence[Capacity]) -> Found:
    """The answer of one server from its valid points."""
    capacity = [row.throughput_per_s for row in served if (row.server, row.purpose) == (server, CAPACITY)]
    goal = goal_of(scenario, capacity[0] if capacity else None)
    valid = [point for point in points if is_valid(point)]
    probes = [probe_of(point, goal) for point in valid]
    answer = (
        highest_rate(goal, probes) if probes else HighestRate(math.nan, 0.0, math.inf, False, "nothing was measured")
    )
    return Found(
        server, goal.percentile, goal.objective_s, answer.rate_per_s, answer.lo_per_s, answer.hi_per_s, answer.found,
        len({probe.rate_per_s for probe in probes}), len(probes),
        sum(point.warmup_s + point.measured_s for point in points), answer.why,
    )  # fmt: skip


def search_verdict(row: Found) -> Verdict:
    """holds with an answer; not applicable where the rates tried all meet or all miss; invalid without any."""
    subject = f"p{row.percentile:g} within {row.objective_s * 1000:g} ms"
    outcome: Outcome = "holds" if row.found else "not applicable" if row.replications else "invalid"
    why = f"{row.why}; {row.replications} replications at {row.rates} rates, {row.seconds:.0f} s of load"
    if row.found:
        why = f"between {row.lo_per_s:.4g} and {row.hi_per_s:.4g}/s, {why}"
    elif row.replications:
        why += "; change load.search.from or to, or the objective"
    measured = row.rate_per_s if math.isfinite(row.rate_per_s) else "none"
    return Verdict("highest rate", row.server, subject, "found", measured, "", outcome, why)
