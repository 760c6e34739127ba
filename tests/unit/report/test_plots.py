from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from matplotlib import pyplot as plt
from reported_by_hand import calibration, nothing, point, scenario, whole

from bench.analysis.run import RawRun, analyse
from bench.report.plots import write_plots
from bench.scenario.spec import Objective

FOUR = {"latency_vs_batch.png", "speedup.png", "response_vs_load.png", "latency_budget.png"}
LARGEST_EMPTY_PNG = 2000


def plotted(folder: Path, raw: RawRun) -> set[str]:
    """The names of the plots, each of which is a PNG with something in it."""
    write_plots(folder / "plots", raw, analyse(raw))
    files = list((folder / "plots").iterdir())
    for file in files:
        content = file.read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(content) > LARGEST_EMPTY_PNG
    return {file.name for file in files}


def test_a_whole_run_has_four_plots_over_those_of_before_and_leaves_no_figure_open(tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "speedup.png").write_text("of before")
    assert plotted(tmp_path, whole(Objective(99.0, 0.060))) == FOUR
    assert plt.get_fignums() == []


def test_a_run_of_nothing_has_no_plots_and_no_error(tmp_path: Path) -> None:
    assert plotted(tmp_path, nothing()) == set()


def test_one_of_two_servers_is_drawn_alone(tmp_path: Path) -> None:
    raw = RawRun(scenario(), calibration("triton"), (point("triton", 50.0, 1),), None)
    assert plotted(tmp_path, raw) == FOUR


def test_without_load_there_are_the_two_plots_of_calibration(tmp_path: Path) -> None:
    raw = RawRun(scenario(), calibration("triton"), (), None)
    assert plotted(tmp_path, raw) == {"latency_vs_batch.png", "speedup.png"}


def test_without_calibration_there_are_the_two_plots_of_load(tmp_path: Path) -> None:
    raw = replace(nothing(), points=(point("triton", 50.0, 1),))
    assert plotted(tmp_path, raw) == {"response_vs_load.png", "latency_budget.png"}


def test_points_of_nothing_but_errors_are_drawn_without_a_warning(tmp_path: Path) -> None:
    failed = tuple(point("triton", 50.0, replication, status=503) for replication in (1, 2))
    assert {"response_vs_load.png", "latency_budget.png"} <= plotted(tmp_path, replace(nothing(), points=failed))


def test_a_model_without_a_ceiling_is_drawn_without_one(tmp_path: Path) -> None:
    raw = whole()
    made = analyse(raw)
    fit = replace(made.fits["triton"]["compute"], m_s=0.0)
    write_plots(tmp_path, raw, replace(made, fits=dict(made.fits) | {"triton": {"compute": fit}}))
    assert (tmp_path / "speedup.png").exists()


def test_a_fifth_server_is_drawn_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("a", "b", "c", "d", "e")
    raw = RawRun(scenario(names), pd.concat([calibration(name) for name in names]), (), None)
    labels: list[str] = []
    plot = plt.Axes.plot

    def recorded(self: plt.Axes, *arguments: object, **options: object) -> object:
        labels.append(str(options.get("label", "")))
        return plot(self, *arguments, **options)

    monkeypatch.setattr(plt.Axes, "plot", recorded)
    write_plots(tmp_path, raw, analyse(raw))
    assert [label for label in labels if label.startswith("e, ")]
