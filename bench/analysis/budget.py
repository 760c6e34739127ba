"""The latency budget: where the response time went, of the mean request and of the slowest 1 %, and what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from bench.analysis.batching import expected, sentence
from bench.analysis.load import Point, is_valid
from bench.analysis.parts import CLIENT_ALONE, PARTS, TRACES, parts_of
from bench.analysis.verdict import Outcome, Verdict
from bench.scenario.spec import Server
from bench.theory.law import CostModel

TOLERANCE = 0.03
FEWEST = 50
"""Requests below which a mean of them says little."""
MEAN, SLOWEST = "mean", "slowest 1 %"
BUDGET_COLUMNS = (
    "server", "rate_per_s", "of", "requests", "response_s", *PARTS, "unexplained_s", "mean_batch_size",
    "expected_batch_size", "source", "batches",
)  # fmt: skip


def budget(
    points: Sequence[Point], traced: Point | None, server: Server, model: CostModel | None
) -> tuple[pd.DataFrame, Verdict | None]:
    """Rows of budget.csv for one server at one rate, of the mean and of the slowest 1 %, and the verdict on the mean.

    Of the replications in which the generator was on time, or of all where it never was: its lateness is a part, too.
    model: T(B) of the occupancy layer, or of the compute layer without one, for the batch sizes to expect. No verdict
    where the server tells nothing.
    """
    used = [point for point in points if is_valid(point)] or points
    saturated = any(point.overload().saturated for point in points)
    parts = parts_of(used, None if saturated else traced)
    rate, requests = points[0].rate_per_s, parts.requests
    about = {
        "server": server.name,
        "rate_per_s": rate,
        "expected_batch_size": math.nan if model is None else expected(rate, server, model).batch_size,
        "source": parts.source,
        "batches": sentence(rate, _mean_batch_size(requests), server, model),
    }
    slowest = requests.nlargest(math.ceil(len(requests) / 100), "response_s")
    if not parts.each:
        slowest = slowest.assign(**dict.fromkeys(PARTS[1:], math.nan))
    rows = [{**about, "of": of, **_means(those)} for of, those in ((MEAN, requests), (SLOWEST, slowest))]
    table = pd.DataFrame(rows, columns=list(BUDGET_COLUMNS))
    if saturated:
        table[["response_s", *PARTS, "unexplained_s"]] = math.nan
        why = "saturated: no steady state to take a mean of"
        return table, _verdict(table, "nothing", "not applicable", why)
    if requests.empty or parts.source == CLIENT_ALONE:
        return table, None
    source = parts.source
    if source == TRACES:
        untraced_s = np.concatenate([window.response_s[window.ok] for window in (point.window() for point in used)])
        source += f"; {untraced_s.mean() * 1000:.3g} ms without tracing"
    return table, _judged(table, source)


def _means(requests: pd.DataFrame) -> dict[str, float]:
    """Means over the requests, in seconds."""
    means = {name: float(requests[name].mean()) for name in ("response_s", *PARTS)}
    unexplained_s = means["response_s"] - sum(means[name] for name in PARTS)
    size = _mean_batch_size(requests)
    return {"requests": len(requests), **means, "unexplained_s": unexplained_s, "mean_batch_size": size}


def _mean_batch_size(requests: pd.DataFrame) -> float:
    """Requests over batches: each batch of b is in b rows, so a row stands for 1/b of one."""
    sizes = requests["batch_size"].dropna()
    return len(sizes) / float((1 / sizes).sum()) if len(sizes) else math.nan


def _judged(table: pd.DataFrame, source: str) -> Verdict:
    """What is unexplained of the mean response time, as a share of it."""
    requests, response_s, unexplained_s = (
        float(table[name].iloc[0]) for name in ("requests", "response_s", "unexplained_s")
    )
    share = unexplained_s / response_s
    why = f"unexplained {unexplained_s * 1000:+.3f} of {response_s * 1000:.3g} ms, by {source}"
    if requests < FEWEST:
        why = f"{requests:g} requests, expected {FEWEST} or more: raise load.duration"
        return _verdict(table, share, "not applicable", why)
    if abs(share) <= TOLERANCE:
        return _verdict(table, share, "holds", why)
    return _verdict(table, share, "fails", f"{why}: time goes where no part measures it, or the server's clocks differ")


def _verdict(table: pd.DataFrame, share: float | str, outcome: Outcome, why: str) -> Verdict:
    first = table.iloc[0]
    return Verdict("budget", first["server"], f"{first['rate_per_s']:g}/s", 0.0, share, TOLERANCE, outcome, why)
