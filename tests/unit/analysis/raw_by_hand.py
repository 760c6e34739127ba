"""Raw records of runs that never took place, with laws and response times that are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from bench.analysis.law import fit_layer
from bench.analysis.law_verdicts import law_verdicts
from bench.analysis.load import Counted, Point
from bench.analysis.speedups import Speedup, speedups
from bench.analysis.verdict import Verdict
from bench.scenario.spec import Calibrated, Calibration, Checks, Load, Objective, Scenario, Server

SIZES = (1, 2, 5, 10)
# c = 6 ms, m = 3 ms.
LESSON = {1: 0.009, 2: 0.012, 5: 0.021, 10: 0.036}
CHECKS = Checks(speedup_tolerance=0.05, ceiling_tolerance=0.06, affine_tolerance=0.05)


def calibration(
    times: Mapping[int, float] = LESSON,
    *,
    server: str = "triton",
    serial_s: float | None = 0.009,
    blocks: int = 12,
    noise: float = 0.001,
    layer: str = "compute",
) -> pd.DataFrame:
    """Three repeats of every size in every block; whole blocks are `noise` too slow and too fast in turn."""
    wanted = [(layer, size, seconds) for size, seconds in times.items()]
    if serial_s is not None:
        wanted.append(("compute_serial", 1, serial_s))
    rows = [
        (server, name, size, repeat, seconds * (1 + noise * (-1) ** block), block, 0)
        for block in range(blocks)
        for name, size, seconds in wanted
        for repeat in (1, 2, 3)
    ]
    return pd.DataFrame(rows, columns=["server", "layer", "batch_size", "repeat", "time_s", "block", "start"])


def repeated(
    curve: Callable[[float], float],
    *,
    sizes: Iterable[int] = (1, 2, 3, 4, 6, 8, 12, 16),
    blocks: int = 15,
    sd: float = 0.01,
    serial_s: float | None = None,
    ends: int = 3,
) -> pd.DataFrame:
    """As a run visits: the ends `ends` times a block, all else once, each visit off by noise of its own."""
    rng, sizes = np.random.default_rng(1), tuple(sizes)
    wanted = [("compute", size, curve(size), ends if size in (sizes[0], sizes[-1]) else 1) for size in sizes]
    wanted.append(("compute_serial", 1, curve(1) if serial_s is None else serial_s, 1))
    rows = [
        ("triton", layer, size, repeat, seconds * factor, block, visit)
        for block in range(blocks)
        for layer, size, seconds, times in wanted
        for visit in range(times)
        for factor in [1 + sd * rng.standard_normal()]
        for repeat in (1, 2, 3)
    ]
    return pd.DataFrame(rows, columns=["server", "layer", "batch_size", "repeat", "time_s", "block", "visit"])


def judge(samples: pd.DataFrame, **tolerances: float) -> tuple[list[Verdict], list[Speedup]]:
    """The verdicts on the law, and the rows of speedup.csv."""
    asked = replace(CHECKS, **tolerances)
    fit = fit_layer(samples, "compute", asked.affine_tolerance)
    assert fit is not None
    measured = speedups("triton", samples, fit, asked.speedup_tolerance)
    return law_verdicts("triton", samples, fit, measured, precision=0.02, checks=asked), measured


def outcomes(verdicts: Iterable[Verdict]) -> dict[str, list[str]]:
    """Check -> its outcomes, in order."""
    found: dict[str, list[str]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.check, []).append(verdict.outcome)
    return found


def rows(
    scheduled_s: Iterable[float], response_s: float | np.ndarray = 0.020, late_s: float | np.ndarray = 0.0
) -> pd.DataFrame:
    """Every request answered with 200, nothing told of batches."""
    scheduled = np.asarray(list(scheduled_s))
    n = len(scheduled)
    return pd.DataFrame(
        {
            "scheduled_s": scheduled,
            "sent_s": scheduled + late_s,
            "completed_s": scheduled + response_s,
            "status": np.full(n, 200, dtype=np.int16),
            "batch_size": pd.array([pd.NA] * n, dtype="Int32"),
            "queue_wait_s": pd.array([pd.NA] * n, dtype="Float64"),
            "compute_s": np.full(n, math.nan),
            "cause": np.full(n, ""),
        }
    )


def steady(end_s: float = 12, rate_per_s: int = 100) -> np.ndarray:
    """One request every 1/rate seconds."""
    return np.arange(round(end_s * rate_per_s)) / rate_per_s


def point(
    frame: pd.DataFrame | None = None,
    *,
    server: str = "triton",
    rate_per_s: float = 100.0,
    replication: int = 1,
    warmup_s: float = 2.0,
    duration_s: float = 10.0,
    counted: Counted | None = None,
) -> Point:
    """By default 100/s for 12 s, of which the last 10 count: 1000 requests, each answered after 20 ms."""
    frame = rows(steady()) if frame is None else frame
    return Point(server, rate_per_s, replication, warmup_s, duration_s, frame, counted)


def fail(frame: pd.DataFrame, which: slice, status: int, cause: str, *, answered: bool = True) -> pd.DataFrame:
    """The same rows with some of them failed."""
    changed = frame.copy()
    index = changed.index[which]
    changed.loc[index, "status"] = status
    changed.loc[index, "cause"] = cause
    if not answered:
        changed.loc[index, "completed_s"] = math.nan
    return changed


def scenario(*servers: str, objective_s: float | None = 0.060, replications: int = 1) -> Scenario:
    names = servers or ("triton", "torchserve")
    return Scenario(
        "by-hand",
        Calibrated(0.006, 0.003),
        tuple(Server(name, "torchserve" if name == "torchserve" else "triton") for name in names),
        Calibration(SIZES),
        Load(rates_per_s=(100.0,), replications=replications),
        None if objective_s is None else Objective(99.0, objective_s),
    )
