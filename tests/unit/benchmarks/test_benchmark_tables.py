"""Verdicts, tables and CSV of runs made by hand."""

from __future__ import annotations

import csv
import math
from typing import Any

from benchmarks.checks import FAILS, HOLDS, NOT_RUN, Check, check_all, highest
from benchmarks.ks import Distance
from benchmarks.measure import Figures
from benchmarks.plan import ASYNC, GAPS, LADDER, OURS, PACING, Cell
from benchmarks.tables import as_csv, markdown, table


def run(
    tool: str = OURS,
    rate: float = 1000,
    purpose: str = PACING,
    repeat: int = 0,
    arrivals: str = "poisson",
    **figures: Any,
) -> Figures:
    given: dict[str, Any] = {
        "planned": 100,
        "ok": 100,
        "arrived": 100,
        "achieved_per_s": rate,
        "rate_error": 0.0,
        **figures,
    }
    return Figures(Cell(purpose, tool, arrivals, rate, 2.0, 1, repeat), 0.5, **(given | figures))


def verdict(runs: list[Figures], name: str) -> Check:
    return next(check for check in check_all(runs) if check.name == name)


def test_with_no_runs_nothing_is_judged() -> None:
    assert {check.verdict for check in check_all([])} == {NOT_RUN}


def test_a_bound_is_judged_by_the_median_over_repeats() -> None:
    runs = [run(repeat=k, delay_p50_s=delay) for k, delay in enumerate((59e-6, 500e-6, 10e-6))]
    found = verdict(runs, "dispatch delay p50 at 1,000/s")
    assert (found.verdict, found.measured) == (HOLDS, "59.0 µs (10.0 to 500)")
    runs.append(run(repeat=3, delay_p50_s=500e-6))
    assert verdict(runs, "dispatch delay p50 at 1,000/s").verdict == FAILS


def test_the_rate_error_is_judged_by_the_worst_repeat() -> None:
    name = "rate error at 20,000/s Poisson, worst"
    assert verdict([run(rate=20_000, rate_error=0.001)], name).verdict == HOLDS
    assert verdict([run(rate=20_000, rate_error=0.001), run(rate=20_000, rate_error=-0.006)], name).verdict == FAILS


def test_one_request_that_was_not_answered_fails_the_full_load() -> None:
    found = verdict([run(rate=20_000, ok=99)], "20,000/s Poisson answered")
    assert (found.verdict, found.measured) == (FAILS, "99 of 100")


def ladder(tool: str, rate: float, repeat: int, **figures: Any) -> Figures:
    return run(tool, rate, LADDER, repeat, **figures)


def test_the_highest_rate_is_the_last_that_was_answered_in_full_and_on_time() -> None:
    runs = [
        ladder(ASYNC, 2000, 0),
        ladder(ASYNC, 4000, 0, ok=99),
        ladder(ASYNC, 4000, 1),
        ladder(ASYNC, 6000, 1, achieved_per_s=5600.0),
        ladder(ASYNC, 2000, 2, problem="ended with exit status 1"),
    ]
    assert highest(runs, ASYNC) == [2000, 4000, 0]
    runs += [ladder(OURS, 6000, repeat) for repeat in range(3)]
    name = "highest rate, best of 1 and 2 workers"
    assert verdict(runs, name).verdict == HOLDS
    assert verdict([*runs, ladder(ASYNC, 4000, 0)], name).verdict == FAILS


def test_gaps_hold_only_when_no_seed_is_rejected() -> None:
    good, bad = (run(rate=500, purpose=GAPS, send_gaps=Distance(d, p, 5000)) for d, p in ((0.01, 0.4), (0.03, 0.001)))
    assert verdict([good, good], "send gaps, Poisson 500/s").verdict == HOLDS
    found = verdict([good, bad], "send gaps, Poisson 500/s")
    assert found.verdict == FAILS
    assert found.measured.startswith("1 of 2")


def test_the_document_names_what_is_missing_and_what_failed() -> None:
    text = markdown(
        [run(problem="perf_analyzer: no result; it said: a|b")], [], ["wrk: skipped, not found"], {"cpu": "x"}
    )
    assert "- wrk: skipped, not found" in text
    assert "- pacing, poisson, 1000/s: perf_analyzer: no result; it said: a|b" in text
    assert "nan" not in text


def test_a_table_escapes_its_own_separator() -> None:
    assert table(("a", "b"), [("1|2", "3")]) == "| a | b |\n| --- | --- |\n| 1\\|2 | 3 |"


def test_csv_has_a_line_a_run_and_leaves_empty_what_was_not_measured() -> None:
    lines = list(csv.DictReader(as_csv([run(), run(ASYNC, ok=-1)]).splitlines()))
    assert [line["tool"] for line in lines] == [OURS, ASYNC]
    assert lines[0]["delay_p50_s"] == ""
    assert (lines[0]["failed"], lines[1]["failed"]) == ("0", "-1")
    assert math.isclose(float(lines[0]["achieved_per_s"]), 1000)
