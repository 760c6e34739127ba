"""Verdicts on runs made by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from runs_by_hand import run

from benchmarks.checks import check_all
from benchmarks.checks_pacing import highest
from benchmarks.closed_form import Expected
from benchmarks.figures import Figures
from benchmarks.ks import Distance
from benchmarks.latency import Latency
from benchmarks.memory import Resident
from benchmarks.names import ASYNC, FREEZE, GAPS, LADDER, OURS, OURS_2, OURS_GRPC, OURS_TABLES, SOAK
from benchmarks.verdicts import FAILS, HOLDS, NOT_RUN, OUT_OF_REACH, Check


def verdict(runs: list[Figures], name: str) -> Check:
    return next(check for check in check_all(runs) if check.name == name)


def test_with_no_runs_nothing_is_judged() -> None:
    assert {check.verdict for check in check_all([])} == {NOT_RUN}


def test_promises_by_ratio_come_first() -> None:
    by_ratio = [check.by_ratio for check in check_all([])]
    assert by_ratio == sorted(by_ratio, reverse=True)
    assert 0 < sum(by_ratio) < len(by_ratio)


def test_a_bound_is_judged_by_the_median_over_repeats() -> None:
    runs = [run(repeat=k, delay_p50_s=delay) for k, delay in enumerate((59e-6, 500e-6, 10e-6))]
    found = verdict(runs, "dispatch delay p50 at 1,000/s")
    assert (found.verdict, found.measured) == (HOLDS, "59.0 µs (10.0 to 500)")
    runs.append(run(repeat=3, delay_p50_s=500e-6))
    assert verdict(runs, "dispatch delay p50 at 1,000/s").verdict == FAILS


def test_the_cost_of_a_grpc_request_is_judged_at_2000_per_s_alone() -> None:
    name = "CPU per gRPC request at 2,000/s"
    dear = run(OURS_GRPC, 500, cpu_s=400e-6)
    assert verdict([dear], name).verdict == NOT_RUN
    assert verdict([dear, run(OURS_GRPC, 2000, cpu_s=249e-6)], name).verdict == HOLDS
    assert verdict([run(OURS_GRPC, 2000, cpu_s=251e-6), run(OURS, 2000, cpu_s=1e-6)], name).verdict == FAILS


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
    runs += [ladder(OURS, 5000, repeat) for repeat in range(3)] + [ladder(OURS_2, 6000, repeat) for repeat in range(3)]
    name = "highest rate, best of 1 and 2 workers"
    assert verdict(runs, name).verdict == HOLDS
    assert verdict([*runs, ladder(ASYNC, 4000, 0)], name).verdict == FAILS


def test_no_multiple_is_claimed_of_a_peer_that_completed_no_rate_at_all() -> None:
    runs = [ladder(ASYNC, 8000, 0, ok=99), ladder(OURS, 20_000, 0)]
    found = verdict(runs, "highest rate, best of 1 and 2 workers")
    assert (found.verdict, found.measured) == (NOT_RUN, "20,000/s against less than the lowest rate tried")


def test_gaps_hold_only_when_no_seed_is_rejected() -> None:
    good, bad = (run(rate=500, purpose=GAPS, send_gaps=Distance(d, p, 5000)) for d, p in ((0.01, 0.4), (0.03, 0.001)))
    assert verdict([good, good], "send gaps, Poisson 500/s").verdict == HOLDS
    found = verdict([good, bad], "send gaps, Poisson 500/s")
    assert found.verdict == FAILS
    assert found.measured.startswith("1 of 2")


def test_all_gamma_gaps_are_out_of_reach_by_the_shortest_gap_that_was_sent_and_those_beyond_count() -> None:
    sent = run(
        rate=500,
        purpose=GAPS,
        arrivals="gamma",
        send_gaps=Distance(0.2, 0.0, 5000),
        send_gaps_beyond=Distance(0.01, 0.4, 5000),
        shortest_gap_s=8e-6,
    )
    found = verdict([sent], "send gaps, gamma CV 2 500/s, all of them")
    assert found.verdict == OUT_OF_REACH
    assert "D = 0.196" in found.expected
    assert "8.00 µs" in found.expected
    assert "from 0.0230" in found.expected
    assert "1.51 ns" in found.expected
    assert verdict([sent], "send gaps from 200 µs on, gamma CV 2 500/s").verdict == HOLDS


FROZEN = "receiver frozen for 1 s: p50, p99, max from the schedule"
IN_TURN, AT_ONCE = Latency(0.25, 0.99, 1.0), Latency(0.3, 0.99, 1.0)


def frozen(p50_s: float) -> Figures:
    told = Latency(p50_s, 0.99, 1.0)
    return run(rate=500, purpose=FREEZE, latency=told, expected=Expected(AT_ONCE, IN_TURN, 0.04))


def test_a_freeze_is_judged_by_the_worst_repeat_against_the_closed_form() -> None:
    found = verdict([frozen(0.3), frozen(0.312)], FROZEN)
    assert (found.verdict, found.by_ratio) == (HOLDS, True)
    assert found.measured.startswith("4 % off at worst (24.8 % where ")
    assert "40.0 ms" in found.measured
    assert verdict([frozen(0.3), frozen(0.32)], FROZEN).verdict == FAILS


def test_a_freeze_of_which_nothing_is_told_does_not_hold() -> None:
    assert verdict([frozen(0.3), run(rate=500, purpose=FREEZE)], FROZEN).verdict == FAILS
    assert verdict([run(rate=500, purpose=FREEZE)], FROZEN).verdict == NOT_RUN


@pytest.mark.parametrize(("most", "wanted"), [(104_900_000, HOLDS), (105_100_000, FAILS)])
def test_memory_is_flat_when_it_grows_by_less_than_a_twentieth(most: int, wanted: str) -> None:
    found = verdict(
        [run(rate=10_000, purpose=SOAK, resident=Resident(100_000_000, most))],
        "resident memory flat over 5 minutes at 10,000/s",
    )
    assert found.verdict == wanted
    assert "105 MB at most" in found.measured


def test_the_tables_are_judged_by_the_peak_of_the_process() -> None:
    name = "2 million requests in one run: resident memory"
    held = run(OURS_TABLES, 15_000, SOAK, planned=2_000_000, ok=1_999_999, peak_bytes=377_000_000)
    found = verdict([held], name)
    assert (found.verdict, found.measured) == (
        HOLDS,
        "377 MB for 2,000,000 requests (1,999,999 of them answered) and their tables",
    )
    assert verdict([run(OURS_TABLES, 15_000, SOAK, peak_bytes=401_000_000)], name).verdict == FAILS
    assert verdict([run(OURS_TABLES, 15_000, SOAK)], name).verdict == NOT_RUN


def test_a_figure_that_was_not_measured_is_not_judged() -> None:
    assert verdict([run(delay_p50_s=math.nan)], "dispatch delay p50 at 1,000/s").verdict == NOT_RUN
