"""plots/*.png: latency against batch size, speedup, response time against load, latency budget."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench.analysis.calibration import visits
from bench.analysis.run import Analysis, RawRun

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # told apart also by the colour-blind
PARTS = (
    ("queue_wait_mean_s", "queue wait w", "#e69f00"),
    ("compute_mean_s", "compute c + Bm", "#56b4e9"),
    ("network_mean_s", "network t_net", "#999999"),
)
MS = 1000.0
SHOWN_LAYERS = (("compute", "o", "-"), ("occupancy", "^", ":"), ("path", "s", "--"))


def write_plots(folder: Path, raw: RawRun, analysis: Analysis) -> None:
    """Every plot there is data for."""
    folder.mkdir(parents=True, exist_ok=True)
    draw: dict[str, Callable[[Axes, RawRun, Analysis], bool]] = {
        "latency_vs_batch": _latency_vs_batch,
        "speedup": _speedup,
        "response_vs_load": _response_vs_load,
        "latency_budget": _latency_budget,
    }
    for name, onto in draw.items():
        figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
        if onto(axes, raw, analysis):
            figure.savefig(folder / f"{name}.png", dpi=120)
        plt.close(figure)


def _latency_vs_batch(axes: Axes, raw: RawRun, analysis: Analysis) -> bool:
    drawn = False
    for (server, fits), colour in zip(analysis.fits.items(), cycle(COLOURS), strict=False):
        samples = raw.samples[raw.samples["server"] == server]
        for layer, marker, line in SHOWN_LAYERS:
            if layer not in fits:
                continue
            fit, table = fits[layer], visits(samples, layer)
            sizes = np.asarray(table.columns, dtype=np.float64)
            low, middle, high = np.nanpercentile(table.to_numpy(dtype=np.float64) * MS, [10, 50, 90], axis=0)
            label = f"{server}, {layer}: {fit.c_s * MS:.2f} + {fit.m_s * MS:.3f} B ms"
            axes.errorbar(sizes, middle, (middle - low, high - middle), fmt=marker, color=colour, capsize=3, ms=5)
            grid = np.linspace(0, sizes.max(), 50)
            axes.plot(grid, (fit.c_s + fit.m_s * grid) * MS, line, color=colour, label=label)
            drawn = True
    axes.set(
        xlabel="batch size B",
        ylabel="time of one batch T(B), ms",
        title="Latency against batch size (median, 10th to 90th percentile of the visits)",
    )
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    return _finish(axes, drawn)


def _speedup(axes: Axes, _raw: RawRun, analysis: Analysis) -> bool:
    for (server, fits), colour in zip(analysis.fits.items(), cycle(COLOURS), strict=False):
        rows = [row for row in analysis.speedups if row.server == server and row.layer == "compute"]
        if not rows:
            continue
        _by_throughput(axes, analysis, server, colour)
        sizes = np.array([row.batch_size for row in rows])
        measured = np.array([row.measured for row in rows])
        spread = np.array([(row.measured - row.measured_lo, row.measured_hi - row.measured) for row in rows]).T
        axes.errorbar(
            sizes,
            measured,
            spread,
            fmt="o",
            color=colour,
            capsize=3,
            label=f"{server}, measured (95 % interval)",
        )
        model = fits["compute"].model
        grid = np.linspace(1, sizes.max(), 100)
        axes.plot(grid, model.speedup(grid), "-", color=colour, label=f"{server}, B(c+m)/(c+Bm)")
        if np.isfinite(model.ceiling):
            axes.axhline(model.ceiling, ls=":", color=colour, label=f"{server}, ceiling 1 + c/m = {model.ceiling:.2f}")
    axes.set(
        xlabel="batch size B",
        ylabel="speedup S(B)",
        title="Speedup of a batch over its requests one at a time",
    )
    axes.set_ylim(bottom=0)
    return _finish(axes, bool(analysis.speedups))


def _by_throughput(axes: Axes, analysis: Analysis, server: str, colour: str) -> None:
    rows = [row for row in analysis.speedups if row.server == server and row.layer == "occupancy"]
    if rows:
        label = f"{server}, by throughput at saturation"
        sizes, measured = [row.batch_size for row in rows], [row.measured for row in rows]
        axes.plot(sizes, measured, "^", color=colour, mfc="none", ms=9, label=label)


def _response_vs_load(axes: Axes, raw: RawRun, analysis: Analysis) -> bool:
    load = analysis.load
    if load.empty:
        return False
    for server, colour in zip(analysis.fits, cycle(COLOURS), strict=False):
        own = load[load["server"] == server]
        for column, marker, line in (("response_p50_s", "o", "-"), ("response_p99_s", "^", "--")):
            grouped = own.groupby("rate_per_s")[column]
            middle = grouped.median() * MS
            spread = np.abs(np.stack([grouped.min() * MS - middle, grouped.max() * MS - middle]))
            axes.errorbar(
                middle.index,
                middle,
                spread,
                fmt=marker + line,
                color=colour,
                capsize=3,
                label=f"{server}, {column.split('_')[1]}",
            )
    _highest_rates(axes, analysis)
    if raw.scenario.slo is not None:
        objective = raw.scenario.slo
        label = f"objective, p{objective.percentile:g} within"
        axes.axhline(objective.response_time_s * MS, ls=":", color="black", label=label)
    axes.set(
        xlabel="arrival rate λ, per s",
        ylabel="response time from the schedule, ms",
        title="Response time against load (median and range of the replications)",
    )
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    return _finish(axes, True)


def _highest_rates(axes: Axes, analysis: Analysis) -> None:
    """A band for the interval of the highest rate, where it was searched for."""
    rows = analysis.tables["search"].to_dict("records") if "search" in analysis.tables else []
    for server, colour in zip(analysis.fits, cycle(COLOURS), strict=False):
        for row in (row for row in rows if row["server"] == server and row["found"]):
            label = f"{server}, highest rate within the objective: {row['rate_per_s']:.3g}/s"
            axes.axvspan(row["lo_per_s"], row["hi_per_s"], color=colour, alpha=0.2, label=label)


def _latency_budget(axes: Axes, _raw: RawRun, analysis: Analysis) -> bool:
    load = analysis.load
    if load.empty:
        return False
    means = load.groupby(["server", "rate_per_s"], sort=False)[[name for name, _, _ in PARTS]].mean()
    labels = [f"{server}\n{rate:g}/s" for server, rate in means.index]
    bottom = np.zeros(len(means))
    for name, label, colour in PARTS:
        height = np.nan_to_num(means[name].to_numpy(dtype=np.float64)) * MS
        axes.bar(labels, height, bottom=bottom, label=label, color=colour, width=0.6)
        bottom += height
    axes.set(ylabel="mean round trip, ms", title="Latency budget: where the mean round trip goes")
    return _finish(axes, True)


def _finish(axes: Axes, drawn: bool) -> bool:
    if drawn:
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize=8)
    return drawn
