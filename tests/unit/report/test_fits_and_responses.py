"""c, m and the ceiling with what they are worth, and percentiles with their intervals, on the terminal."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reported_by_hand import COLUMNS, scenario, whole
from rich.console import Console

from bench.analysis.law import LayerFit
from bench.analysis.response import RESPONSE_COLUMNS
from bench.analysis.run import Analysis, RawRun, analyse
from bench.report.console import print_run
from bench.report.fits import EXTRAPOLATION
from bench.report.plots import write_plots


def shown(analysis: Analysis) -> list[str]:
    console = Console(width=200, file=io.StringIO(), record=True)
    print_run(console, analysis)
    return [line.rstrip() for line in console.export_text().splitlines()]


def with_fit(**changes: Any) -> Analysis:
    made = analyse(whole())
    fit: LayerFit = replace(made.fits["triton"]["compute"], **changes)
    return replace(made, fits={"triton": {"compute": fit}}, speedups=(), verdicts=(), sentences={}, tables={})


def row(analysis: Analysis) -> str:
    (found,) = (line for line in shown(analysis) if " triton  compute" in line)
    return found


def test_a_ceiling_that_no_batch_came_near_is_marked_and_the_mark_explained() -> None:
    far = with_fit(c_s=0.060, ceiling=21.0, ceiling_lo=20.0, ceiling_hi=22.0)
    assert "21 [20, 22]*" in row(far)
    assert sum(EXTRAPOLATION in line for line in shown(far)) == 1
    assert "*" not in row(with_fit())
    assert not any(EXTRAPOLATION in line for line in shown(with_fit()))


def test_a_ceiling_without_an_upper_end_is_unbounded() -> None:
    assert " unbounded " in row(with_fit(ceiling_hi=math.inf))


def test_without_a_line_no_c_and_m_are_shown() -> None:
    found = row(with_fit(shape="staircase", holds_from=None)).split()
    assert found[:6] == ["triton", "compute", "–", "–", "–", "staircase"]


def test_a_knee_is_shown_with_the_batch_size_from_which_c_and_m_hold() -> None:
    found = row(with_fit(shape="hinge", holds_from=4.0, knee_lo=3.8, knee_hi=4.2))
    assert found.startswith(" triton  compute, B ≥ 4  ")
    assert " hinge " in found


def test_disturbances_are_a_line_below_the_fits_also_when_every_check_holds() -> None:
    noted = replace(analyse(whole()), notes={"triton": ("it became [slower]", "it was disturbed"), "torchserve": ()})
    lines = shown(noted)
    at = lines.index("triton: it became [slower].")
    assert lines[at + 1] == "triton: it was disturbed."
    assert any("Speedup S(B)" in line for line in lines[at:])
    assert any("T(B) = c + B·m" in line for line in lines[:at])


def response(percentile: float, value_s: float, lo_s: float, hi_s: float, reason: str = "") -> tuple[object, ...]:
    return ("triton", 50.0, percentile, value_s, lo_s, hi_s, 600, 480.0, "t over 3 replications", reason)


def responses(*rows: tuple[object, ...]) -> list[str]:
    table = pd.DataFrame(rows, columns=list(RESPONSE_COLUMNS))
    made = Analysis({}, (), pd.DataFrame(), (), {}, {"response": table})
    return [line for line in shown(made) if line.split()[:1] == ["triton"]]


def test_percentiles_have_their_intervals_and_the_number_of_requests() -> None:
    (found,) = responses(
        response(50, 0.0124, 0.0121, 0.0126), response(90, 1, 1, 1), response(99, 0.0174, 0.0166, math.inf)
    )
    assert found.split() == ["triton", "50", "600", "12.4", "[12.1,", "12.6]", "17.4", "[16.6,", "∞]"]


def test_a_percentile_without_an_interval_says_why() -> None:
    none = (math.nan, math.nan)
    (found,) = responses(
        response(50, 0.0124, 0.0121, 0.0126), response(99, 0.0174, *none, "400 requests, p99 needs 500")
    )
    assert found.endswith("12.4 [12.1, 12.6]  17.4  400 requests, p99 needs 500")


def test_a_rate_without_percentiles_has_no_row() -> None:
    none = (math.nan, math.nan, math.nan)
    assert responses(response(50, *none, "saturated"), response(99, *none, "saturated")) == []


def hinge(B: float) -> float:
    return max(0.009, 0.005 + 0.001 * B)


def stairs(B: float) -> float:
    return 0.002 + 0.004 * math.ceil(B / 4)


@pytest.mark.parametrize("curve", [hinge, stairs])
def test_times_that_are_no_line_everywhere_are_shown_and_drawn(curve: Callable[[float], float], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        ("triton", layer, B, 1, curve(B) * (1 + 0.01 * rng.standard_normal()), block)
        for block in range(12)
        for layer, sizes in (("compute", (1, 2, 3, 4, 6, 8, 12, 16)), ("compute_serial", (1,)))
        for B in sizes
    ]
    raw = RawRun(scenario(("triton",)), pd.DataFrame(rows, columns=COLUMNS), (), None)
    analysis = analyse(raw)
    assert "not applicable" in "\n".join(shown(analysis))
    write_plots(tmp_path, raw, analysis)
    assert {file.name for file in tmp_path.iterdir()} == {"latency_vs_batch.png", "speedup.png"}
