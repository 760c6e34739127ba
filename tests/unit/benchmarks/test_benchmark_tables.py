"""The document, the CSV and the picture of runs made by hand."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from runs_by_hand import run

from benchmarks.checks import check_all
from benchmarks.closed_form import Expected
from benchmarks.document import markdown
from benchmarks.groups import probability, table
from benchmarks.latency import Latency
from benchmarks.names import ASYNC, FREEZE, GAPS, HEY, LADDER, OURS, OURS_2, SOAK
from benchmarks.plots import write_picture
from benchmarks.runs_csv import as_csv
from benchmarks.tables import cpu, freeze, three

WIDEST_TABLE = 9


def test_the_document_names_what_is_missing_and_what_failed() -> None:
    text = markdown(
        [run(problem="perf_analyzer: no result; it said: a|b")], [], ["wrk: skipped, not found"], {"cpu": "x"}
    )
    assert "- wrk: skipped, not found" in text
    assert "- pacing, poisson, 1000/s: perf_analyzer: no result; it said: a|b" in text
    assert "nan" not in text


def test_promises_stand_before_all_else_those_by_ratio_first() -> None:
    runs = [run(), run(purpose=FREEZE), run(purpose=GAPS), run(purpose=LADDER), run(purpose=SOAK)]
    text = markdown(runs, check_all(runs), [], {"cpu": "x"}, "picture.png")
    marks = ["## Promises: ", "### By ratio", "### In absolute", "](picture.png)", "## Measured on", "## Pacing"]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "nan" not in text


def test_no_table_is_wider_than_a_screen_takes() -> None:
    purposes = [run(purpose=purpose) for purpose in (FREEZE, GAPS, LADDER, SOAK)]
    text = markdown([run(), *purposes], check_all([]), [], {})
    heads = [line for line in text.splitlines() if line.startswith("| ---")]
    assert max(head.count("---") for head in heads) <= WIDEST_TABLE


def test_a_purpose_that_was_not_run_has_no_section() -> None:
    assert "## Memory" not in markdown([run()], [], [], {})


def test_cost_has_a_line_for_each_tool_and_kind_and_a_column_for_each_rate() -> None:
    runs = [run(rate=500, cpu_s=2e-4, receiver_cpu_s=5e-5), run(ASYNC, 1000, arrivals="constant", cpu_s=3e-4)]
    assert cpu(runs).splitlines() == [
        "| tool | arrivals | 500/s | 1,000/s |",
        "| --- | --- | --- | --- |",
        "| serve-bench | poisson | 200 (50.0) |  |",
        "| perf_analyzer --async | constant |  | 300 (–) |",
    ]


def test_under_a_freeze_ours_stands_beside_what_it_should_be_and_a_peer_has_what_it_shows() -> None:
    ours = run(
        rate=500,
        purpose=FREEZE,
        latency=Latency(0.3, 0.99, 1.0),
        from_send=Latency(0.29, 0.98, 1.0),
        expected=Expected(Latency(0.25, 0.985, 1.0), Latency(0.299, 0.99, 1.0), 0.04),
    )
    lines = freeze([ours, run(HEY, 500, FREEZE, arrivals="constant", latency=Latency(0.0005, 0.998))]).splitlines()
    shown = "300 / 990 / 1000 | 290 / 980 / 1000 | 250 / 985 / 1000 | 299 / 990 / 1000"
    assert lines[2] == f"| serve-bench (poisson) | 100 | {shown} |"
    assert lines[3] == "| hey (constant) | 100 | 0.500 / 998 / – | – | – | – |"


def test_three_figures_are_medians_and_one_that_is_not_told_is_a_dash() -> None:
    assert three([Latency(0.1, 0.2), Latency(0.3, 0.4), Latency(0.2, 0.3)]) == "200 / 300 / –"
    assert three([Latency()]) == "–"


def test_a_table_escapes_its_own_separator() -> None:
    assert table(("a", "b"), [("1|2", "3")]) == "| a | b |\n| --- | --- |\n| 1\\|2 | 3 |"


def test_a_probability_is_never_shown_as_zero() -> None:
    assert [probability(p) for p in (0.425, 0.0092, 1e-30, math.nan)] == ["0.42", "0.0092", "< 0.001", "–"]


def test_csv_has_a_line_a_run_and_leaves_empty_what_was_not_measured() -> None:
    lines = list(csv.DictReader(as_csv([run(), run(ASYNC, ok=-1)]).splitlines()))
    assert [line["tool"] for line in lines] == [OURS, ASYNC]
    assert lines[0]["delay_p50_s"] == lines[0]["p99_s"] == lines[0]["peak_bytes"] == ""
    assert (lines[0]["failed"], lines[1]["failed"]) == ("0", "-1")
    assert math.isclose(float(lines[0]["achieved_per_s"]), 1000)


def test_a_picture_is_drawn_of_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    assert not write_picture(path, [run(purpose=GAPS)])
    assert not path.exists()
    frozen = run(HEY, 500, FREEZE, arrivals="constant", latency=Latency(0.0005, 0.998))
    assert write_picture(path, [run(cpu_s=1e-4), run(OURS_2, 10_000, cpu_s=5e-5), frozen])
    assert path.read_bytes().startswith(b"\x89PNG")
