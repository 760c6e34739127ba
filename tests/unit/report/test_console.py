from __future__ import annotations

import io
from dataclasses import replace

import pandas as pd
import pytest
from reported_by_hand import calibration, nothing, point, scenario, whole
from rich.console import Console

from bench.analysis.run import Analysis, RawRun, analyse
from bench.analysis.verdict import Verdict
from bench.report.console import print_run
from bench.scenario.spec import Objective


def shown(analysis: Analysis, width: int = 200) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    print_run(console, analysis)
    return console.export_text()


def judged(*verdicts: Verdict) -> str:
    return shown(Analysis({}, (), pd.DataFrame(), verdicts, {}))


def line(text: str, *words: str) -> str:
    """The one line with all of these words."""
    (found,) = (line for line in text.splitlines() if all(word in line for word in words))
    return found


@pytest.fixture(scope="module")
def text() -> str:
    return shown(analyse(whole(Objective(99.0, 0.060))))


def test_a_run_shows_its_tables_in_order_and_a_sentence_for_each_server(text: str) -> None:
    titles = [
        "T(B) = c + B·m, 95 % intervals",
        "Speedup S(B)",
        "Open-loop load, ms from the schedule",
        "Response time of all replications together, ms, 95 % intervals",
        "Verdicts",
    ]
    assert [line.strip() for line in text.splitlines() if line.strip() in titles] == titles
    assert text.splitlines()[-2].startswith("triton: batching can make this up to 3 times faster: balanced; ")
    assert text.splitlines()[-1].startswith("torchserve: batching can make this up to 3 times faster: balanced; ")
    assert text.splitlines()[-1].endswith(".")


def test_the_fit_of_a_server_is_read_in_milliseconds(text: str) -> None:
    found = line(text, "triton", "compute", "affine")
    assert "6.00 [" in found
    assert "3.00 [" in found
    assert "  3 [" in found  # the ceiling
    assert line(text, "triton", "path", "affine").count("7.00 [") == 1


def test_each_batch_size_has_its_measured_and_its_predicted_speedup(text: str) -> None:
    found = line(text, "triton", " 10 ", "2.5 [")
    assert found.rstrip().endswith("holds")
    assert line(text, "torchserve", " 5 ", "2.14 [")


def test_each_point_has_its_times_and_where_they_went(text: str) -> None:
    cells = next(line for line in text.splitlines() if line.split()[:3] == ["triton", "100", "2"]).split()
    # server, rate, replication, errors, p50, p99, mean batch size, queue wait, compute, network, late
    assert cells == ["triton", "100", "2", "0", "20.0", "20.0", "2", "5.00", "10.0", "5.00", "0"]


def test_an_objective_is_read_in_milliseconds_and_never_merged(text: str) -> None:
    for rate in ("50/s", "100/s"):
        found = line(text, "objective", "triton", f"p99 at {rate}")
        assert "60.0 ms" in found
        assert "20.0 ms" in found


def test_checks_that_all_hold_are_one_line_with_their_number(text: str) -> None:
    assert line(text, "speedup", "triton", "holds").split()[:5] == ["speedup", "triton", "3", "of", "3"]
    assert "4 of 4" in line(text, "errors", "triton")
    assert "2 of 2" in line(text, "generator", "triton")
    assert "5 %" in line(text, "speedup", "triton", "3 of 3")


def test_checks_of_which_one_fails_are_each_shown_with_the_reason() -> None:
    found = shown(analyse(whole(serial_s=0.0108)))
    for size in ("B=2", "B=5", "B=10"):
        row = line(found, "speedup", "triton", size)
        assert "fails" in row
        assert "off by +" in row
    assert "20 %" in line(found, "triton", " 10 ", "3 [")


def test_what_was_not_told_is_a_dash() -> None:
    raw = RawRun(scenario(("triton",)), calibration("triton"), (point("triton", 100.0, 1, status=503),), None)
    found = shown(analyse(raw))
    row = next(line for line in found.splitlines() if line.split()[:3] == ["triton", "100", "1"])
    assert row.count("–") == 6  # p50, p99, batch, queue w, compute, network


def test_a_run_of_nothing_prints_only_what_is_missing() -> None:
    made = nothing()
    first, *rest = [line for line in shown(analyse(made)).splitlines() if line.strip()]
    assert first.strip() == "Verdicts"
    found = [row.split() for row in rest if "invalid" in row]
    assert {tuple(row[:3]) for row in found} == {
        *(("calibration", server.name, "T(B)") for server in made.scenario.servers),
        *(("load", server.name, f"{rate:g}/s") for server in made.scenario.servers
          for rate in made.scenario.load.rates_per_s),
    }  # fmt: skip
    assert all(row[3:6] == ["measured", "nothing", "invalid"] for row in found)
    assert all(" ".join(row[6:]) == "nothing was measured, or its file cannot be read" for row in found)
    assert len(rest) == len(found) + 2  # the header and its rule


def test_a_verdict_shows_why_it_does_not_hold_and_nothing_when_it_does() -> None:
    bad = Verdict("answers", "triton", "in process", 0.0, 0.5, 1e-4, "invalid", "output [3] for payload 7 is off")
    good = replace(bad, server="torchserve", measured=0.0, outcome="holds", why="largest difference")
    found = judged(bad, good)
    row = line(found, "answers", "triton", "in process")
    assert "invalid" in row
    assert "output [3] for payload 7 is off" in row
    assert "0.0001" in row
    assert "largest difference" not in found


def test_two_servers_are_never_merged() -> None:
    one = Verdict("errors", "triton", "50/s", 0.0, 0.0, 0.0, "holds", "")
    found = judged(one, replace(one, subject="100/s"), replace(one, server="torchserve"))
    assert "2 of 2" in line(found, "errors", "triton")
    assert line(found, "errors", "torchserve").split()[2] == "50/s"


def test_a_check_that_does_not_apply_keeps_its_own_line() -> None:
    one = Verdict("ceiling", "triton", "1 + c/m", 3.0, "unbounded", 0.06, "not applicable", "too few batch sizes")
    found = line(judged(one), "ceiling", "triton")
    for part in ("1 + c/m", "unbounded", "6 %", "not applicable", "too few batch sizes"):
        assert part in found


def test_an_unbounded_fit_can_be_shown() -> None:
    made = analyse(whole())
    fit = replace(made.fits["triton"]["compute"], ceiling=float("inf"), ceiling_hi=float("inf"))
    found = shown(replace(made, fits={"triton": {"compute": fit}}))
    assert "unbounded" in line(found, "triton", "compute", "affine")


def test_the_longest_reason_is_kept_on_a_narrow_terminal() -> None:
    why = "response times grow and grow from the window's first half to its second"
    bad = Verdict("Little's law", "triton", "100/s, replication 1", "x", "y", "", "fails", why)
    found = shown(Analysis({}, (), pd.DataFrame(), (bad,), {}), width=80)
    for word in why.split():
        assert word[:4] in found
