"""The highest rate that the search finds beside the one of a fine sweep, on both real servers started once each.

    python -m benchmarks.search_against_sweep                       about half an hour on two cores
    python -m benchmarks.search_against_sweep --server torchserve

A calibrated model of c = 4 ms, m = 2 ms, p99 within 60 ms. The sweep goes from half of the capacity to all of it in
steps of 2 % of it, three times, in a random order each time; the search is made after the second. Its answer is where
an isotonic regression of the share of requests beyond the objective crosses 1 %; without the search's own model. Prints
the table and writes it to benchmarks/search_against_sweep.md when both servers were measured. Exits 1 when the two are
further than 5 % apart or the search took more than a third of the sweep's time.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import uvloop
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from bench.analysis.load import Point
from bench.analysis.search import Found, found, goal_of, probe_of
from bench.environment import describe
from bench.job import Job, started
from bench.report.status import StatusLine
from bench.runner import Options, prepared
from bench.scenario.spec import Calibrated, Calibration, Load, Objective, Scenario, Search, Server, ServerKind
from bench.stages_cost import measure_capacity
from bench.stages_load import Planned, load_point, search

HERE = Path(__file__).parent
FROM, STEP = 0.5, 0.02  # of the capacity
REPLICATIONS = 3
APART, SHARE_OF_TIME = 0.05, 1 / 3
SWEEP_SEED = 2_000_000  # no index of a rate

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """One server: the search's answer and the sweep's, per second, and the seconds that each took.

    alone: the sweep's answer from each of its replications by itself.
    """

    server: str
    capacity_per_s: float
    searched: Found
    search_s: float
    swept_per_s: float
    alone_per_s: tuple[float, ...]
    rates: int
    sweep_s: float

    @property
    def apart(self) -> float:
        return self.searched.rate_per_s / self.swept_per_s - 1

    @property
    def share(self) -> float:
        return self.search_s / self.sweep_s

    def broken(self) -> bool:
        return not (abs(self.apart) <= APART and self.share <= SHARE_OF_TIME)


def scenario(server: ServerKind) -> Scenario:
    spec = Server(server, server, max_batch_size=16)
    load = Load(duration_s=7, warmup_s=1, search=Search())
    return Scenario("sweep", Calibrated(4e-3, 2e-3), (spec,), Calibration(), load, Objective(99, 0.060))


def crossing(rates: Sequence[float], beyond: Sequence[float], allowed: float) -> float:
    """Where the share beyond the objective, made to rise with the rate, crosses what is allowed; NaN where it does not.

    rates: rising; beyond: shares, in the same order.
    """
    rising: Floats = isotonic_regression(np.asarray(beyond, np.float64)).x
    over = int(np.argmax(rising > allowed))
    if over == 0:
        return float("nan")
    lower, upper = rising[over - 1], rising[over]
    within = (allowed - lower) / (upper - lower)
    return float(rates[over - 1] + within * (rates[over] - rates[over - 1]))


def measure(server: ServerKind, folder: Path, tell: StatusLine) -> Row:
    """Capacity, two passes of the sweep, the search, the third pass."""
    asked = scenario(server)
    job = prepared(asked, Options(folder / "results", folder), tell.tell)
    production = job.artifacts[server].arms[0]
    with started(job, asked.servers[0]) as running, asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        measure_capacity(job, running, loop, production)
        capacity = job.folder.capacity_per_s(server)
        rates = [round(float(share) * capacity, 1) for share in np.arange(FROM, 1 + STEP / 2, STEP)]
        points: list[Point] = []
        sweep_s = search_s = 0.0
        for replication in range(1, REPLICATIONS + 1):
            if replication == REPLICATIONS:
                began = time.monotonic()
                search(job, running, loop, production, goal_of(asked, capacity))
                search_s = time.monotonic() - began
            began = time.monotonic()
            for rate in np.random.default_rng([1, replication]).permutation(rates).tolist():
                seeds = (1, SWEEP_SEED, round(rate * 1000), replication)
                planned = Planned(rate, replication, seeds, f"sweep {replication}, {rate:g}/s")
                points.append(load_point(job, running, loop, production, planned))
            sweep_s += time.monotonic() - began
    return _row(job, asked, points, capacity, rates, (search_s, sweep_s))


def _row(
    job: Job,
    asked: Scenario,
    points: Sequence[Point],
    capacity: float,
    rates: Sequence[float],
    took: tuple[float, float],
) -> Row:
    server, goal = asked.servers[0].name, goal_of(asked, capacity)
    allowed = 1 - goal.percentile / 100
    seen = {(point.rate_per_s, point.replication): probe_of(point, goal) for point in points}

    def answer(replications: Sequence[int]) -> float:
        chosen = [[seen[rate, replication] for replication in replications] for rate in rates]
        shares = [sum(p.beyond for p in probes) / sum(p.requests for p in probes) for probes in chosen]
        return crossing(rates, shares, allowed)

    every = range(1, REPLICATIONS + 1)
    searched = found(asked, server, job.folder.read().searched, [])
    alone = tuple(answer([replication]) for replication in every)
    return Row(server, capacity, searched, took[0], answer(list(every)), alone, len(rates), took[1])


def markdown(rows: Sequence[Row], here: dict[str, object]) -> str:
    lines = [
        "# The search against a fine sweep",
        "",
        "Made by `python -m benchmarks.search_against_sweep`: the highest rate at which p99 stays within 60 ms, of a",
        "model of c = 4 ms, m = 2 ms with batches of at most 16, on one start of each real server.",
        "",
        f"{here['cpu']}, {here['cores']} cores, {here['system']}; revision {here['git_revision']}.",
        "",
        "| server | capacity | search | its 95 % interval | took | sweep | alone | took | apart | time |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        by, alone = row.searched, ", ".join(f"{rate:.0f}" for rate in row.alone_per_s)
        lines.append(
            f"| {row.server} | {row.capacity_per_s:.0f}/s | {by.rate_per_s:.0f}/s | {by.lo_per_s:.0f} to "
            f"{by.hi_per_s:.0f} | {by.replications} replications, {row.search_s:.0f} s | {row.swept_per_s:.0f}/s | "
            f"{alone} | {row.rates} rates × {REPLICATIONS}, {row.sweep_s:.0f} s | {row.apart:+.1%} | "
            f"{row.share:.2f} |"
        )
    broken = [row.server for row in rows if row.broken()]
    told = f"fail on {', '.join(broken)}" if broken else "hold"
    return "\n".join([*lines, "", f"Within 5 % and in at most a third of the time: {told}.", ""])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.search_against_sweep",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--server", action="append", choices=("triton", "torchserve"), help="one of the two only")
    servers: list[ServerKind] = parser.parse_args(arguments).server or ["triton", "torchserve"]
    status = StatusLine(sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        rows = [measure(server, Path(scratch), status) for server in servers]
    status.clear()
    document = markdown(rows, describe())
    sys.stdout.write(document)
    if len(rows) == 2:
        (HERE / "search_against_sweep.md").write_text(document, encoding="utf-8")
    return 1 if any(row.broken() for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
