"""saturation.csv -> what each configuration serves at saturation, beside N·B/(c + Bm) of the occupancy layer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from bench.analysis.calibration import visits
from bench.analysis.law import LayerFit
from bench.analysis.speedups import Speedup, speedups_of
from bench.analysis.verdict import Verdict, judge
from bench.scenario.spec import Server
from bench.theory.interval import Interval
from bench.theory.ratio import paired_ratio

Floats = NDArray[np.float64]

OCCUPANCY, CAPACITY = "occupancy", "capacity"
"""Purposes of a visit in saturation.csv: exact batches, for the fit; the model as the scenario serves it."""
SERIAL_OCCUPANCY = "occupancy_serial"
FULL = 0.95  # of the largest batch size: batches at saturation are smaller only when something is wrong


@dataclass(frozen=True, slots=True)
class Capacity:
    """One row of capacity.csv: a configuration's throughput at saturation, per second, with its 95 % t interval.

    predicted: N·B/(c + B·m) with the c and m of the occupancy layer of N instances, NaN without one. of_n_times_one:
    throughput of N instances over N times that of one, both in batches of B, paired by block; NaN where not measured.
    """

    server: str
    purpose: str
    batching: int
    instances: int
    batch_size: int
    visits: int
    throughput_per_s: float
    throughput_lo_per_s: float
    throughput_hi_per_s: float
    predicted_per_s: float
    relative_error: float
    mean_batch_size: float
    compute_s: float
    occupancy_s: float
    of_n_times_one: float
    of_n_times_one_lo: float
    of_n_times_one_hi: float


def occupancy_layer(instances: int) -> str:
    """The layer of calibration.csv whose times are the occupancy of a batch when so many instances run."""
    return OCCUPANCY if instances == 1 else f"{OCCUPANCY}_n{instances}"


def capacities(server: str, saturation: pd.DataFrame, fits: Mapping[str, LayerFit]) -> list[Capacity]:
    """Of one server. saturation: its rows of saturation.csv; fits: by layer."""
    keys = ["purpose", "batching", "instances", "batch_size"]
    return [_capacity(server, saturation, own, fits) for _, own in saturation.groupby(keys, sort=True)]


def _capacity(server: str, saturation: pd.DataFrame, own: pd.DataFrame, fits: Mapping[str, LayerFit]) -> Capacity:
    first = own.iloc[0]
    purpose, batching = str(first["purpose"]), int(first["batching"])
    n, size = int(first["instances"]), int(first["batch_size"])
    throughput = throughput_of(own)
    predicted = _predicted(fits.get(occupancy_layer(n)), n, size) if batching else math.nan
    scaled = purpose == OCCUPANCY and batching and n > 1
    scaling = _scaling(saturation, n, size) if scaled else None
    ends = (scaling.value, scaling.lo, scaling.hi) if scaling else (math.nan, math.nan, math.nan)
    return Capacity(
        server, purpose, batching, n, size, len(own), throughput.value, throughput.lo, throughput.hi, predicted,
        throughput.value / predicted - 1, float(own["mean_batch_size"].mean()), float(own["compute_s"].mean()),
        n * size / throughput.value, *ends,
    )  # fmt: skip


def throughput_of(visited: pd.DataFrame) -> Interval:
    """Requests per second, the mean of the visits with its 95 % t interval; one visit gives 0 … ∞."""
    rates = (visited["requests"] / visited["seconds"]).to_numpy(dtype=np.float64)
    mean = float(rates.mean())
    if len(rates) < 2:
        return Interval(mean, 0.0, math.inf)
    half = float(stats.t.ppf(0.975, len(rates) - 1)) * float(rates.std(ddof=1)) / math.sqrt(len(rates))
    return Interval(mean, max(0.0, mean - half), mean + half)


def _predicted(fit: LayerFit | None, instances: int, batch_size: int) -> float:
    return (
        math.nan
        if fit is None or not fit.claims(batch_size)
        else float(fit.model.throughput_per_s(batch_size, instances))
    )


def _scaling(saturation: pd.DataFrame, instances: int, batch_size: int) -> Interval | None:
    exact = saturation[(saturation["purpose"] == OCCUPANCY) & (saturation["batching"] == 1)]
    same = exact[exact["batch_size"] == batch_size].assign(rate=lambda rows: rows["requests"] / rows["seconds"])
    by_block = same.pivot_table(index="block", columns="instances", values="rate")
    if not {1, instances} <= set(by_block.columns):
        return None
    both = by_block[[instances, 1]].dropna().to_numpy(dtype=np.float64)
    return paired_ratio(both[:, 0], instances * both[:, 1]) if len(both) else None


def capacity_verdict(server: Server, measured: Sequence[Capacity], tolerance: float) -> Verdict | None:
    """The throughput of the model as the scenario serves it, against the prediction; None when it was not measured."""
    mine = [capacity for capacity in measured if capacity.purpose == CAPACITY]
    if not mine:
        return None
    (own,) = mine
    value, predicted = own.throughput_per_s, own.predicted_per_s
    subject = f"N={server.instances}, B={server.max_batch_size}"
    if not math.isfinite(predicted):
        why = f"{value:.1f}/s measured; there is no occupancy layer to predict it from"
        return Verdict("capacity", server.name, subject, "unknown", value, tolerance, "not applicable", why)
    ends = (value, own.throughput_lo_per_s, own.throughput_hi_per_s)
    outcome, why = judge(Interval(*(end / predicted - 1 for end in ends)), tolerance)
    if outcome == "invalid":
        outcome = "not applicable"  # both stand as they are; that they cannot be told apart makes neither worse
    if own.mean_batch_size < FULL * server.max_batch_size:
        why += f"; its batches held {own.mean_batch_size:.1f} requests at saturation, not {server.max_batch_size}"
    return Verdict("capacity", server.name, subject, predicted, value, tolerance, outcome, why)


def throughput_speedups(server: str, samples: pd.DataFrame, fit: LayerFit, tolerance: float) -> list[Speedup]:
    """S(B) by throughput for every B > 1: that of saturated batches of B over that without batching, both of one
    instance, beside the S(B) of the fitted occupancy."""
    table, serial = visits(samples, OCCUPANCY), visits(samples, SERIAL_OCCUPANCY)
    rows = speedups_of(server, OCCUPANCY, table, serial[1], fit, tolerance) if 1 in serial.columns else []
    # The law is checked by times; of a throughput too unsteady to say more, nothing is claimed.
    return [replace(row, outcome="not applicable") if row.outcome == "invalid" else row for row in rows]


def throughput_speedup_verdicts(rows: Sequence[Speedup], tolerance: float) -> list[Verdict]:
    """One for each row."""
    return [
        Verdict(
            "speedup at saturation", row.server, f"B={row.batch_size}", row.expected, row.measured, tolerance,
            row.outcome, row.why,
        )
        for row in rows
    ]  # fmt: skip


def between_the_layers(fits: Mapping[str, LayerFit]) -> str:
    """What occupancy and path add to compute, as one sentence without a full stop; empty without lines of all three."""
    layers = {name: fits[name] for name in ("compute", OCCUPANCY, "path") if name in fits}
    since = [fit.holds_from for fit in layers.values() if fit.holds_from is not None]
    if len(since) < 3:
        return ""
    compute, occupancy, path = layers.values()

    def more(longer: LayerFit, shorter: LayerFit) -> str:
        c_ms, m_ms = ((a - b) * 1e3 for a, b in ((longer.c_s, shorter.c_s), (longer.m_s, shorter.m_s)))
        return f"{c_ms:+.2f} ms a batch and {m_ms:+.3f} ms a request"

    opening = f"From B = {max(since):g} on an" if any(fit.has_knee for fit in layers.values()) else "An"
    return (
        f"{opening} instance is busy for longer than it computes, {more(occupancy, compute)}: handing batches over, "
        f"unpacking and answering requests; a client at exactly B waits {more(path, compute)} beyond compute: that and "
        "the way there and back"
    )
