"""The latency budget for people: a table, a stacked plot, and why batches are as large as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bench.analysis.budget import MEAN, SLOWEST
from bench.analysis.parts import PARTS
from bench.report import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEADERS = (
    "server", "rate/s", "of", "response", "late", "wait w", "compute", "handover", "network", "unexplained", "batch",
)  # fmt: skip
# (column, name in the plot, colour, hatch), from the bottom of a bar to its top
DRAWN = (
    ("dispatch_delay_s", "dispatch delay", "#cc79a7", ""),
    ("queue_wait_s", "queue wait w", "#e69f00", ""),
    ("compute_s", "compute c + Bm", "#56b4e9", ""),
    ("handover_s", "handover", "#009e73", ""),
    ("network_s", "network t_net", "#999999", ""),
    ("unexplained_s", "unexplained", "#ffffff", "////"),
)
MS = 1000.0
WIDTH = 0.38


def rows(budget: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """Cells under HEADERS, times in ms."""
    for row in budget.to_dict("records"):
        times = (quantity.ms(row[name]) for name in ("response_s", *PARTS, "unexplained_s"))
        batch = quantity.number(row["mean_batch_size"])
        yield str(row["server"]), quantity.number(row["rate_per_s"]), str(row["of"]), *times, batch


def sentences(budget: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """(server, why its batches are as large as they are at its lowest and its highest rate)."""
    told = budget[(budget["of"] == MEAN) & (budget["batches"] != "")]
    for server, own in told.groupby("server", sort=False):
        yield str(server), "; ".join(dict.fromkeys(own["batches"].iloc[[0, -1]]))


def draw(axes: Axes, budget: pd.DataFrame) -> bool:
    """Bars of the mean and of the slowest 1 % side by side, a tick where the measured response time is.

    What counts twice is an unexplained part below 0.
    """
    if budget.empty:
        return False
    places = list(dict.fromkeys(zip(budget["server"], budget["rate_per_s"], strict=True)))
    x = np.arange(len(places))
    for of, shift in ((MEAN, -WIDTH / 2), (SLOWEST, WIDTH / 2)):
        bars = budget[budget["of"] == of]
        at, bottom = x + shift, np.zeros(len(bars))
        for column, label, colour, hatch in DRAWN:
            height = np.nan_to_num(bars[column].to_numpy(dtype=np.float64)) * MS
            name = label if of == MEAN else "_"
            foot = np.where(height < 0, 0.0, bottom)
            axes.bar(at, height, WIDTH * 0.9, foot, label=name, color=colour, hatch=hatch, edgecolor="black", lw=0.4)
            bottom += np.maximum(height, 0)
        response = bars["response_s"].to_numpy(dtype=np.float64) * MS
        name = "response time as measured" if of == MEAN else "_"
        for place, top, left in zip(at, response, bars["unexplained_s"].to_numpy() * MS, strict=True):
            if np.isfinite(left) and top > 0:
                axes.annotate(quantity.share(left / top), (place, top), (0, 3), textcoords="offset points",
                              ha="center", fontsize=7)  # fmt: skip
        axes.hlines(response, at - WIDTH / 2, at + WIDTH / 2, colors="black", lw=1.6, label=name)
    axes.set_xticks(x, [f"{server}\n{rate:g}/s" for server, rate in places])
    axes.set(
        ylabel="ms",
        title="Latency budget: the mean request (left bar) and the slowest 1 % (right bar)\n"
        "above each bar: the share that is unexplained",
    )
    axes.axhline(0, color="black", lw=0.8)
    return True
