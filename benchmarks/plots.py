"""One picture: what a request costs at each rate, and what each tool tells of a receiver that stood still."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.figures import Figures
from benchmarks.groups import middle
from benchmarks.latency import Latency
from benchmarks.names import ASYNC, CONSTANT_ONLY, DEFAULT, FREEZE, HEY, LOCUST, OURS, OURS_2, OURS_GRPC, PACING

LOOKS = {
    OURS: ("#0072b2", "o"),
    OURS_2: ("#56b4e9", "s"),
    OURS_GRPC: ("#009e73", "D"),
    DEFAULT: ("#d55e00", "^"),
    ASYNC: ("#e69f00", "v"),
    LOCUST: ("#cc79a7", "P"),
    HEY: ("#666666", "X"),
}
"""Colour (told apart also by the colour-blind) and marker."""
US, MS = 1e6, 1e3


def write_picture(path: Path, runs: Sequence[Figures]) -> bool:
    """Whether there was anything to draw."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.2), layout="constrained")
    drawn = _cost(left, runs), _told(right, runs)
    if any(drawn):
        figure.savefig(path, dpi=110)
    plt.close(figure)
    return any(drawn)


def _cost(axes: Axes, runs: Sequence[Figures]) -> bool:
    """Poisson arrivals, or constant where a tool has no other."""
    ticks: set[float] = set()
    for tool, (colour, marker) in LOOKS.items():
        arrivals = "constant" if tool in CONSTANT_ONLY else "poisson"
        mine = [
            run
            for run in runs
            if (run.cell.purpose, run.cell.tool, run.cell.arrivals) == (PACING, tool, arrivals)
            and math.isfinite(run.cpu_s)
        ]
        rates = sorted({run.cell.rate_per_s for run in mine})
        cost = [middle((run for run in mine if run.cell.rate_per_s == rate), lambda run: run.cpu_s) for rate in rates]
        if rates:
            label = f"{tool} ({arrivals})" if arrivals == "constant" else tool
            axes.loglog(rates, [US * seconds for seconds in cost], color=colour, marker=marker, label=label)
            ticks |= set(rates)
    axes.set(xlabel="asked rate, requests per s", ylabel="CPU per request, µs", title="What a request costs")
    plain = FuncFormatter(lambda value, _at: f"{value:,.0f}")
    axes.set_xticks(sorted(ticks))
    axes.margins(y=0.15)
    low, high = axes.get_ylim()
    axes.set_yticks([step for step in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if low <= step <= high])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(plain)
        axis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True, which="major", alpha=0.3)
    if ticks:
        axes.legend(fontsize=8)
    return bool(ticks)


def _told(axes: Axes, runs: Sequence[Figures]) -> bool:
    """Median and p99 as each tool shows them, beside the closed form of the schedule."""
    frozen = [run for run in runs if run.cell.purpose == FREEZE]
    tools = [tool for tool in LOOKS if any(run.cell.tool == tool for run in frozen)]
    _bars(axes, frozen, tools, ("p50", -0.2, 0.5, ":"), lambda told: told.p50_s)
    _bars(axes, frozen, tools, ("p99", 0.2, 1.0, "--"), lambda told: told.p99_s)
    axes.set_yticks(range(len(tools)), tools)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, loc="upper center", ncols=2, bbox_to_anchor=(0.5, -0.12), frameon=False)
    axes.invert_yaxis()
    axes.set_xlim(0, 1250)
    axes.set(xlabel="latency as the tool shows it, ms", title="500/s, receiver frozen for 1 s of 1.5 s")
    axes.grid(visible=True, axis="x", alpha=0.3)
    return bool(tools)


def _bars(
    axes: Axes,
    frozen: Sequence[Figures],
    tools: Sequence[str],
    looks: tuple[str, float, float, str],
    value_s: Callable[[Latency], float],
) -> None:
    """One bar a tool, and a line for the closed form. looks: name, shift down from the tool's line, opacity, line."""
    name, shift, alpha, line = looks
    shown = [MS * middle(_of_tool(frozen, tool), lambda run: value_s(run.latency)) for tool in tools]
    bars = axes.barh(
        [place + shift for place in range(len(tools))],
        [0 if math.isnan(value) else value for value in shown],
        height=0.36,
        color=[LOOKS[tool][0] for tool in tools],
        alpha=alpha,
    )
    texts = [f"{name} not told" if math.isnan(value) else f"{name} {value:,.3g} ms" for value in shown]
    for label in axes.bar_label(bars, texts, padding=6, fontsize=9):
        label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1})
    expected = MS * middle(frozen, lambda run: value_s(run.expected.in_turn))
    if math.isfinite(expected):
        axes.axvline(expected, ls=line, color="black", label=f"closed form, {name}: {expected:,.3g} ms", zorder=0)


def _of_tool(runs: Sequence[Figures], tool: str) -> list[Figures]:
    return [run for run in runs if run.cell.tool == tool]
