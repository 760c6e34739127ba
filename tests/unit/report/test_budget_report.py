"""The latency budget on the terminal and as a picture."""

from __future__ import annotations

import io

import pandas as pd
from matplotlib import pyplot as plt
from reported_by_hand import whole
from rich.console import Console

from bench.analysis.budget import BUDGET_COLUMNS
from bench.analysis.run import Analysis, analyse
from bench.report.budget import draw, rows, sentences
from bench.report.console import print_run

NAN = float("nan")
PARTS = (0.0001, 0.005, 0.008, 0.002, 0.001)


def table(*unexplained_s: float) -> pd.DataFrame:
    """Two rows for each, at 50/s, 100/s, …: the mean, and the slowest, of which nothing but the response is known."""
    made = []
    for number, left_s in enumerate(unexplained_s, start=1):
        rate, why = 50.0 * number, f"at {50 * number}/s a batch holds 2 of at most 16: why"
        response_s = sum(PARTS) + left_s
        mean = ("triton", rate, "mean", 500, response_s, *PARTS, left_s, 2.0, 1.5, "traces", why)
        slowest = ("triton", rate, "slowest 1 %", 5, 0.05, 0.0001, *[NAN] * 5, 2.5, 1.5, "traces", why)
        made += [mean, slowest]
    return pd.DataFrame(made, columns=list(BUDGET_COLUMNS))


def test_a_row_of_the_table_is_in_milliseconds_and_a_dash_is_what_nobody_told() -> None:
    mean, slowest = rows(table(0.0002))
    assert mean == ("triton", "50", "mean", "16.3", "0.100", "5.00", "8.00", "2.00", "1.00", "0.200", "2")
    assert slowest == ("triton", "50", "slowest 1 %", "50.0", "0.100", *["–"] * 5, "2.5")


def test_the_lowest_and_the_highest_rate_say_why_their_batches_are_so_large() -> None:
    first, last = (f"at {rate}/s a batch holds 2 of at most 16: why" for rate in (50, 150))
    assert list(sentences(table(0, 0, 0))) == [("triton", f"{first}; {last}")]
    assert list(sentences(table(0))) == [("triton", first)]
    assert list(sentences(table(0).assign(batches=""))) == []


def test_a_run_prints_its_budget_and_its_sentence_once_for_each_server() -> None:
    made = analyse(whole())
    console = Console(width=120, file=io.StringIO(), record=True)
    print_run(console, Analysis(made.fits, (), made.load, (), {}, {"budget": table(0.0002, 0.0)}))
    lines = console.export_text().splitlines()
    assert sum("Latency budget, ms" in line for line in lines) == 1
    assert sum("why" in line for line in lines) == 1
    assert max(map(len, (line.rstrip() for line in lines))) <= 120


def test_a_bar_is_as_high_as_the_response_time_and_what_counts_twice_is_below_zero() -> None:
    figure, axes = plt.subplots()
    assert draw(axes, table(0.0002, -0.001))
    tops: dict[float, float] = {}
    for bar in axes.patches:
        middle = round(bar.get_x() + bar.get_width() / 2, 2)  # type: ignore[attr-defined]
        tops[middle] = max(tops.get(middle, 0.0), bar.get_y() + bar.get_height())  # type: ignore[attr-defined]
    lowest = min(bar.get_y() + bar.get_height() for bar in axes.patches)  # type: ignore[attr-defined]
    plt.close(figure)
    assert [round(tops[x], 6) for x in sorted(tops)] == [16.3, 0.1, 16.1, 0.1]
    assert round(lowest, 6) == -1.0


def test_without_a_budget_nothing_is_drawn() -> None:
    figure, axes = plt.subplots()
    assert not draw(axes, pd.DataFrame(columns=list(BUDGET_COLUMNS)))
    plt.close(figure)
