"""One open-loop point's rows and the server's own counts -> a row of load.csv, and the verdicts on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from bench.analysis.verdict import Outcome, Verdict, from_gate
from bench.measure.gates import Gate, enough_samples, load_point_gates
from bench.measure.latency import percentile, summarise
from bench.measure.overload import Overload, overload
from bench.measure.percentile_interval import percentile_with_interval
from bench.measure.requests import QUEUE_FULL, Requests
from bench.measure.trend import LEAST_SLOPE

# Of the generator's making; Little's law is the load's own, and an overload breaks it honestly.
GENERATOR_GATES = ("all sent", "last send on time", "p99 dispatch delay", "mean dispatch delay", "send gaps")
ENDED_EARLY = "ended early"
MOST_CPU = 0.8
LOAD_COLUMNS = (
    "server", "rate_per_s", "replication", "scheduled", "sent", "completed", "errors", "shed",
    "throughput_per_s", "goodput_per_s",
    *(f"response_{name}_s" for name in ("mean", "p50", "p90", "p95", "p99", "p999", "max")),
    *(f"round_trip_{name}_s" for name in ("mean", "p50", "p99")),
    *(f"dispatch_delay_{name}_s" for name in ("p50", "p99", "max")),
    "mean_batch_size", "queue_wait_mean_s", "compute_mean_s", "network_mean_s", "valid", "reason",
    "saturated", "growth_s_per_s", "growth_lo_s_per_s", "growth_hi_s_per_s",
    "generator_cpu_s_per_request", "generator_cores",
    "offered_rate_per_s", "offered_cv_of_gaps", "offered_index_of_dispersion",
    "refused", "overload",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Counted:
    """What the server counted over a point: sums over its requests in seconds, None where it does not tell.

    total_s: from arrival to answer; held_s: with the instance or worker that executes, over held_requests of them.
    """

    requests: int
    queue_s: float
    compute_s: float | None
    executions: int | None
    total_s: float | None = None
    held_requests: int | None = None
    held_s: float | None = None

    @property
    def tells_times(self) -> bool:
        """Whether its times are of these requests: TorchServe counts those that come over gRPC, and times none."""
        return self.total_s is None or self.total_s > 0


@dataclass(frozen=True, slots=True)
class Generator:
    """What sending took: CPU seconds of all its processes together, the seconds it lasted, how many processes."""

    cpu_s: float
    wall_s: float
    workers: int

    @property
    def cores(self) -> float:
        """Cores kept busy, of one for each process."""
        return self.cpu_s / self.wall_s if self.wall_s > 0 else math.nan


@dataclass(frozen=True, slots=True)
class Offered:
    """What the schedule offered: mean rate, CV of the gaps, index of dispersion of the counts; NaN: too few to tell."""

    rate_per_s: float
    cv_of_gaps: float
    index_of_dispersion: float


@dataclass(frozen=True, slots=True)
class Point:
    """One replication at one rate. rows: columns as in samples/*.parquet, seconds from the point's start."""

    server: str
    rate_per_s: float
    replication: int
    warmup_s: float
    duration_s: float
    rows: pd.DataFrame
    counted: Counted | None
    generator: Generator | None = None
    offered: Offered | None = None
    searched: bool = False  # one of `load.search`, not of `load.rates`

    @property
    def label(self) -> str:
        return f"{self.rate_per_s:g}/s, replication {self.replication}"

    @property
    def requests(self) -> Requests:
        """All but those that were not sent because the point was ended early."""
        rows = self._planned
        ok = (rows["status"] == 200).to_numpy()
        times = {name: rows[name].to_numpy(dtype=np.float64) for name in ("scheduled_s", "sent_s", "completed_s")}
        return Requests(**times, ok=ok)

    @property
    def measured_s(self) -> float:
        """Length of the window: duration_s, or what of it had come when the point was ended early."""
        early = self.rows["cause"] == ENDED_EARLY
        if not early.any():
            return self.duration_s
        return max(1e-9, float(self.rows.loc[early, "scheduled_s"].min()) - self.warmup_s)

    def window(self) -> Requests:
        return self.requests.scheduled_within(self.warmup_s, self.measured_s)

    def overload(self) -> Overload:
        """Whether the response time grows through the window, or the server refuses for a full queue."""
        refused = self._planned["cause"].astype(str).str.startswith(QUEUE_FULL).to_numpy()
        return overload(self.requests, refused, self.warmup_s, self.measured_s)

    @property
    def _planned(self) -> pd.DataFrame:
        return self.rows[self.rows["cause"] != ENDED_EARLY]


def load_row(point: Point, objective_s: float | None) -> dict[str, object]:
    """The point's row of load.csv, NaN where nothing tells.

    The mean batch size, queue wait, compute and network are over the whole point, warm-up included, since the
    server's counters are read before and after it; network is what is left of the mean round trip.
    """
    overload = point.overload()
    trend = overload.growth
    summary = asdict(summarise(point.requests, point.warmup_s, point.measured_s, objective_s))
    if trend.saturated:  # a percentile of a time that grows says only how long one looked
        summary |= {name: math.nan for name in summary if name.startswith(("response_", "round_trip_"))}
    failed = [gate for gate in generator_gates(point) if not gate.holds]
    queue_s, compute_s, batch_size = _server_side(point)
    ok = point.requests.where(point.requests.ok)
    round_trip_s = float(np.mean(ok.round_trip_s)) if len(ok) else math.nan
    row = {
        "server": point.server,
        "rate_per_s": point.rate_per_s,
        "replication": point.replication,
        **summary,
        "mean_batch_size": batch_size,
        "queue_wait_mean_s": queue_s,
        "compute_mean_s": compute_s,
        "network_mean_s": round_trip_s - queue_s - compute_s,
        "valid": not failed,
        "reason": "; ".join(f"{gate.name}: {gate.measured}, expected {gate.expected}" for gate in failed),
        "saturated": overload.saturated,
        "growth_s_per_s": trend.slope,
        "growth_lo_s_per_s": trend.lo,
        "growth_hi_s_per_s": trend.hi,
        "generator_cpu_s_per_request": _cpu_per_request_s(point),
        "generator_cores": point.generator.cores if point.generator else math.nan,
        "offered_rate_per_s": point.offered.rate_per_s if point.offered else math.nan,
        "offered_cv_of_gaps": point.offered.cv_of_gaps if point.offered else math.nan,
        "offered_index_of_dispersion": point.offered.index_of_dispersion if point.offered else math.nan,
        "refused": overload.refused,
        "overload": overload.excess if overload.saturated else 0.0,
    }
    return {column: row[column] for column in LOAD_COLUMNS}


def generator_gates(point: Point) -> tuple[Gate, ...]:
    """The gates that say whether the generator did its part."""
    gates = tuple(g for g in _gates(point) if g.name in GENERATOR_GATES)
    return gates if point.generator is None else (*gates, _cpu_gate(point.generator))


def is_valid(point: Point) -> bool:
    """Whether the generator did its part."""
    return all(gate.holds for gate in generator_gates(point))


def rate_verdicts(points: Sequence[Point], replications: int) -> list[Verdict]:
    """One server at one rate: enough valid replications, and of each valid one steadiness, Little's law and errors.

    A replication in which the generator was late stays in load.csv as invalid and is not used; it was repeated.
    """
    # Errors of every replication, and first: they explain a lateness better than the generator does.
    verdicts = [verdict for verdict in map(_errors, points) if verdict.outcome != "holds"]
    verdicts.append(_generator(points, replications))
    for point in filter(is_valid, points):
        overload = point.overload()
        verdicts.append(_steady(point, overload))
        if not overload.saturated:  # Little's law is about a steady state
            own = (gate for gate in _gates(point) if gate.name not in GENERATOR_GATES)
            verdicts += [from_gate(gate, point.server, point.label) for gate in own]
        errors = _errors(point)
        verdicts += [errors] if errors.outcome == "holds" else []
    return verdicts


def objective_verdict(points: Sequence[Point], q: float, objective_s: float) -> Verdict:
    """The percentile of all valid replications' response times at one rate, pooled, against the objective."""
    server, rate = points[0].server, points[0].rate_per_s
    subject = f"p{q:g} at {rate:g}/s"
    each = [window.response_s[window.ok] for window in (p.window() for p in points if is_valid(p))]
    pooled = np.concatenate([np.empty(0), *each])
    if not each:
        why = "no valid replication: see the generator's verdict"
        return Verdict("objective", server, subject, objective_s, "nothing", 0.0, "invalid", why)
    saturated = [p for p in points if is_valid(p) and p.overload().saturated]
    if saturated and len(pooled):
        why = f"{len(saturated)} of {len(each)} replications are saturated: no steady state to take a percentile of"
        return Verdict("objective", server, subject, objective_s, "saturated", 0.0, "fails", why)
    enough = enough_samples(len(pooled), q)
    estimate = percentile_with_interval([values for values in each if len(values)], q)
    measured = estimate.value
    if not enough.holds:
        why = f"{enough.measured} successful requests, expected {enough.expected}: {enough.remedy}"
        return Verdict("objective", server, subject, objective_s, measured, 0.0, "invalid", why)
    alone = ", ".join(f"{percentile(values, q) * 1000:.3g}" for values in each)
    end = f"to {estimate.hi * 1000:.3g} ms" if math.isfinite(estimate.hi) else "ms or more"
    known = f"95 % interval {estimate.lo * 1000:.3g} {end} ({estimate.method})"
    known = f"no interval: {estimate.refused}" if estimate.refused else known
    why = f"{len(pooled)} requests pooled, {known}; each replication alone: {alone} ms"
    return Verdict(
        "objective",
        server,
        subject,
        objective_s,
        measured,
        0.0,
        "holds" if measured <= objective_s else "fails",
        why,
    )


def _gates(point: Point) -> tuple[Gate, ...]:
    return load_point_gates(point.requests, point.warmup_s, point.measured_s)


def _cpu_gate(generator: Generator) -> Gate:
    """A generator that is busy most of the time queues its own sends, whatever its send times say."""
    share = generator.cores / generator.workers
    return Gate(
        "generator CPU",
        share <= MOST_CPU,
        f"at most {MOST_CPU:.0%} of a core for each of its processes",
        f"{share:.0%}",
        "raise load.workers, send smaller payloads, or run the generator on another machine",
    )


def _cpu_per_request_s(point: Point) -> float:
    sent = int(point.rows["sent_s"].notna().sum())
    return point.generator.cpu_s / sent if point.generator and sent else math.nan


def _generator(points: Sequence[Point], replications: int) -> Verdict:
    server, subject = points[0].server, f"{points[0].rate_per_s:g}/s"
    late = [(point, gate) for point in points for gate in generator_gates(point) if not gate.holds]
    valid = sum(is_valid(point) for point in points)
    why = "; ".join(f"{point.label}: {gate.name} {gate.measured}, expected {gate.expected}" for point, gate in late)
    outcome: Outcome = "holds"
    if valid < replications:
        outcome = "invalid"
        why += f"; {late[0][1].remedy}" if late else "the run ended before"
    return Verdict("generator", server, subject, replications, valid, 0.0, outcome, why)


def _errors(point: Point) -> Verdict:
    window = point.window()
    errors = int(np.count_nonzero(window.sent & ~window.ok))
    due, cause = point.rows["scheduled_s"], point.rows["cause"]
    inside = (due >= point.warmup_s) & (due < point.warmup_s + point.measured_s)
    causes = cause[inside & ~cause.isin(["", "shed", "never sent", ENDED_EARLY])].astype(str).value_counts()
    why = ", ".join(f"{count} × {cause}" for cause, count in causes.items())
    return Verdict("errors", point.server, point.label, 0.0, float(errors), 0.0, "fails" if errors else "holds", why)


def _steady(point: Point, overload: Overload) -> Verdict:
    """Fails for a saturated point; measured: λ/capacity − 1."""
    outcome: Outcome = "fails" if overload.saturated else "holds"
    growth = overload.growth
    why = f"response time grows by {growth.slope:+.3f} s per s [{growth.lo:+.3f}, {growth.hi:+.3f}]"
    if overload.refused:
        filling = f"until the queue was full, {why}; then it" if growth.saturated else "it"
        served_per_s = (overload.offered - overload.refused) / overload.full_s if overload.full_s > 0 else math.nan
        why = f"{filling} refused {overload.refused} of {overload.offered} and served {served_per_s:.0f}/s"
    if overload.saturated:
        why = f"saturated: {why}, so the rate is {1 + overload.excess:.2f} × what the server serves; no steady state"
    return Verdict("steady", point.server, point.label, 0.0, overload.excess, LEAST_SLOPE, outcome, why)


def _server_side(point: Point) -> tuple[float, float, float]:
    """(mean queue wait, mean compute, mean batch size) of a request; NaN where neither server nor rows tell."""
    rows, counted = point.rows, point.counted
    told = rows[rows["batch_size"].notna()]
    queue_s = counted.queue_s / counted.requests if counted and counted.requests and counted.tells_times else math.nan
    if counted and counted.compute_s is not None and counted.executions and counted.requests:
        return queue_s, counted.compute_s / counted.requests, counted.requests / counted.executions
    if told.empty:
        return queue_s, math.nan, math.nan
    # Each batch of b appears in b rows, so a row stands for 1/b of a batch.
    return queue_s, float(told["compute_s"].mean()), len(told) / float((1 / told["batch_size"]).sum())


def rates(points: Sequence[Point]) -> Mapping[tuple[str, float], list[Point]]:
    """(server, rate) -> its replications, in order."""
    grouped: dict[tuple[str, float], list[Point]] = {}
    for point in points:
        grouped.setdefault((point.server, point.rate_per_s), []).append(point)
    return grouped
