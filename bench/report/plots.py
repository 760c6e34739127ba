"""plots/*.png: latency against batch size, speedup, memory, response time against load, latency budget."""

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
from bench.analysis.law import LayerFit
from bench.analysis.run import Analysis, RawRun
from bench.report import budget

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # told apart also by the colour-blind
MS = 1000.0
MB = 1e6
SHOWN_LAYERS = (("compute", "o", "-"), ("occupancy", "^", ":"), ("path", "s", "--"))


def write_plots(folder: Path, raw: RawRun, analysis: Analysis) -> None:
    """Every plot there is data for."""
    folder.mkdir(parents=True, exist_ok=True)
    draw: dict[str, Callable[[Axes, RawRun, Analysis], bool]] = {
        "latency_vs_batch": _latency_vs_batch,
        "speedup": _speedup,
        "response_vs_load": _response_vs_load,
        "latency_budget": _latency_budget,
        "memory_vs_batch": _memory_vs_batch,
    }
    for name, onto in draw.items():
        figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
        if onto(axes, raw, analysis):
            figure.savefig(folder / f"{name}.png", dpi=120)
        plt.close(figure)


def _latency_vs_batch(axes: Axes, raw: RawRun, analysis: Analysis) -> bool:
    drawn = False
    for (server, fits), colour in zip(analysis.fits.items(), cycle(COLOURS), strict=False):
        samples = raw.calibrated(server)
        for layer, marker, line in SHOWN_LAYERS:
            if layer not in fits:
                continue
            fit, table = fits[layer], visits(samples, layer)
            sizes = np.asarray(table.columns, dtype=np.float64)
            low, middle, high = np.nanpercentile(table.to_numpy(dtype=np.float64) * MS, [10, 50, 90], axis=0)
            spread = (middle - low, high - middle)
            points = axes.errorbar(sizes, middle, spread, fmt=marker, color=colour, capsize=3, ms=5)
            if fit.holds_from is None:
                points.set_label(f"{server}, {layer}: no line")
            else:
                since = f" from B = {fit.holds_from:g} on" if fit.has_knee else ""
                label = f"{server}, {layer}: {fit.c_s * MS:.2f} + {fit.m_s * MS:.3f} B ms{since}"
                grid = np.linspace(fit.holds_from if fit.has_knee else 0, sizes.max(), 50)
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
        _predicted_speedup(axes, server, fits["compute"], sizes.max(), colour)
    axes.set(
        xlabel="batch size B",
        ylabel="speedup S(B)",
        title="Speedup of a batch over its requests one at a time",
    )
    axes.set_ylim(bottom=0)
    return _finish(axes, bool(analysis.speedups))


def _predicted_speedup(axes: Axes, server: str, fit: LayerFit, largest: float, colour: str) -> None:
    """Where c and m hold: the curve, and the ceiling unless m cannot be told from 0."""
    if fit.holds_from is None:
        return
    law, limit = ("B·T(1)/(c+Bm)", "T(1)/m") if fit.has_knee else ("B(c+m)/(c+Bm)", "1 + c/m")
    grid = np.linspace(fit.holds_from, largest, 100)
    axes.plot(grid, fit.speedup(grid), "-", color=colour, label=f"{server}, {law}")
    if not fit.unbounded and np.isfinite(fit.speedup_limit):
        label = f"{server}, ceiling {limit} = {fit.speedup_limit:.2f}"
        axes.axhline(fit.speedup_limit, ls=":", color=colour, label=label)


def _by_throughput(axes: Axes, analysis: Analysis, server: str, colour: str) -> None:
    rows = [row for row in analysis.speedups if row.server == server and row.layer == "occupancy"]
    if rows:
        label = f"{server}, by throughput at saturation"
        sizes, measured = [row.batch_size for row in rows], [row.measured for row in rows]
        axes.plot(sizes, measured, "^", color=colour, mfc="none", ms=9, label=label)


def _response_vs_load(axes: Axes, raw: RawRun, analysis: Analysis) -> bool:
    if analysis.load.empty:
        return False
    responses = analysis.tables["response"]
    for server, colour in zip(analysis.fits, cycle(COLOURS), strict=False):
        for q, marker, line in ((50.0, "o", "-"), (99.0, "^", "--")):
            own = responses[(responses["server"] == server) & (responses["percentile"] == q)]
            value, lo, hi = (own[name].to_numpy(dtype=np.float64) * MS for name in ("value_s", "lo_s", "hi_s"))
            # No bar where no interval is known, and none upwards where it has no upper end.
            down, up = (np.where(np.isfinite(end), np.abs(value - end), 0.0) for end in (lo, hi))
            label = f"{server}, p{q:g}"
            axes.errorbar(own["rate_per_s"], value, (down, up), fmt=marker + line, color=colour, capsize=3, label=label)
    _highest_rates(axes, analysis)
    if raw.scenario.slo is not None:
        objective = raw.scenario.slo
        label = f"objective, p{objective.percentile:g} within"
        axes.axhline(objective.response_time_s * MS, ls=":", color="black", label=label)
    axes.set(
        xlabel="arrival rate λ, per s",
        ylabel="response time from the schedule, ms",
        title="Response time against load (all replications, 95 % intervals)",
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
    table = analysis.tables.get("budget")
    return table is not None and _finish(axes, budget.draw(axes, table))


def _memory_vs_batch(axes: Axes, raw: RawRun, analysis: Analysis) -> bool:
    fits = analysis.tables.get("memory_fit")
    if fits is None:
        return False
    for fit, colour in zip(fits.to_dict("records"), cycle(COLOURS), strict=False):
        server, failed_at = str(fit["server"]), float(fit["out_of_memory_at"])
        rows = raw.table("memory", server)
        axes.plot(rows["batch_size"], rows["rss_peak_bytes"] / MB, "o", color=colour, ms=5, alpha=0.8)
        if np.isfinite(fit["a_bytes"]):
            grid = np.linspace(0, fit["largest_batch"], 50)
            label = f"{server}: {fit['a_bytes'] / MB:.0f} + {fit['b_bytes'] / MB:.3g} B MB"
            axes.plot(grid, (fit["a_bytes"] + fit["b_bytes"] * grid) / MB, "-", color=colour, label=label)
        if np.isfinite(failed_at):
            axes.axvline(failed_at, ls=":", color=colour, label=f"{server}: B = {failed_at:g} did not fit")
    axes.set(
        xlabel="batch size B",
        ylabel="peak resident memory, MB (the axis does not begin at 0)",
        title="Memory of the process that serves batches of B",
    )
    axes.set_xlim(left=0)
    return _finish(axes, True)


def _finish(axes: Axes, drawn: bool) -> bool:
    if drawn:
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize=8)
    return drawn
