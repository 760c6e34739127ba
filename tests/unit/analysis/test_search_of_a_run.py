"""The highest rate from the points that a search made."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from raw_by_hand import calibration, point, rows, scenario

from bench.analysis.run import RawRun, analyse
from bench.analysis.search import goal_of, probe_of
from bench.scenario.spec import Load, Scenario, Search


def searching() -> Scenario:
    made = scenario("triton")
    return replace(made, load=Load(rates_per_s=(), search=Search(10.0, None, 0.03, 2)))


def test_failed_requests_take_for_ever() -> None:
    goal = goal_of(searching(), 400.0)
    n = 1000
    frame = rows(np.arange(n) / 100, np.full(n, 0.010))
    frame.loc[frame.index[-20:], "status"] = 503
    made = replace(point(), rows=frame, warmup_s=0.0, duration_s=n / 100)
    probe = probe_of(made, goal)
    assert math.isinf(probe.percentile_s)
    assert (probe.requests, probe.beyond) == (n, 20)
    assert goal.capacity_per_s == 400.0


def test_a_run_tells_the_highest_rate_of_its_points_and_nothing_without_points() -> None:
    made = searching()
    objective_s = made.slo.response_time_s if made.slo else 0.0
    rng = np.random.default_rng(3)
    points = []
    for rate, p99 in ((100.0, 0.8), (104.0, 0.97), (108.0, 1.1), (150.0, 2.0)):
        for replication in (1, 2):
            n = round(rate * 20)
            response_s = rng.exponential(p99 * objective_s / math.log(100), n)
            frame = rows(np.arange(n) / rate, response_s)
            one = replace(point(), rows=frame, warmup_s=0.0, duration_s=20.0, rate_per_s=rate, replication=replication)
            points.append(replace(one, searched=True))
    analysis = analyse(RawRun(made, calibration(), (), None, searched=tuple(points)))
    (row,) = analysis.tables["search"].to_dict("records")
    assert row["found"]
    assert row["rate_per_s"] == pytest.approx(105, rel=0.08)
    assert row["lo_per_s"] < row["rate_per_s"] < row["hi_per_s"]
    assert (row["rates"], row["replications"]) == (4, 8)
    (verdict,) = [verdict for verdict in analysis.verdicts if verdict.check == "highest rate"]
    assert verdict.outcome == "holds"
    nothing = analyse(RawRun(made, calibration(), (), None))
    (verdict,) = [verdict for verdict in nothing.verdicts if verdict.check == "highest rate"]
    assert verdict.outcome == "invalid"


def test_a_scenario_without_a_search_says_nothing_of_it() -> None:
    analysis = analyse(RawRun(scenario("triton"), calibration(), (), None))
    assert analysis.tables["search"].empty
    assert not [verdict for verdict in analysis.verdicts if verdict.check == "highest rate"]
    with pytest.raises(ValueError, match=r"load\.search"):
        goal_of(scenario("triton"), None)
