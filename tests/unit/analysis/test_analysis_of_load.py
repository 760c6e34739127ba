from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from raw_by_hand import fail, point, rows, steady

from bench.analysis.load import Counted, Point, load_row, objective_verdict, rate_verdicts, rates
from bench.analysis.verdict import Verdict, exit_code

COLUMNS = [
    "server", "rate_per_s", "replication", "scheduled", "sent", "completed", "errors", "shed", "throughput_per_s",
    "goodput_per_s", "response_mean_s", "response_p50_s", "response_p90_s", "response_p95_s", "response_p99_s",
    "response_p999_s", "response_max_s", "round_trip_mean_s", "round_trip_p50_s", "round_trip_p99_s",
    "dispatch_delay_p50_s", "dispatch_delay_p99_s", "dispatch_delay_max_s", "mean_batch_size", "queue_wait_mean_s",
    "compute_mean_s", "network_mean_s", "valid", "reason",
    "saturated", "growth_s_per_s", "growth_lo_s_per_s", "growth_hi_s_per_s",
    "generator_cpu_s_per_request", "generator_cores",
    "offered_rate_per_s", "offered_cv_of_gaps", "offered_index_of_dispersion",
    "refused", "overload",
]  # fmt: skip


def by_check(verdicts: list[Verdict]) -> dict[str, Verdict]:
    return {verdict.check: verdict for verdict in verdicts}


def test_a_row_of_load_csv_has_the_promised_columns_in_their_order() -> None:
    assert list(load_row(point(), None)) == COLUMNS


def test_a_steady_load_is_counted_in_its_window_alone() -> None:
    row = load_row(point(), 0.060)
    assert (row["server"], row["rate_per_s"], row["replication"]) == ("triton", 100.0, 1)
    assert [row[name] for name in ("scheduled", "sent", "completed", "errors", "shed")] == [1000, 1000, 1000, 0, 0]
    assert row["throughput_per_s"] == 100.0
    assert row["goodput_per_s"] == 100.0
    assert row["response_mean_s"] == pytest.approx(0.020)
    assert row["response_p999_s"] == pytest.approx(0.020)
    assert row["dispatch_delay_max_s"] == 0.0
    assert (row["valid"], row["reason"]) == (True, "")


def test_goodput_counts_only_what_met_the_objective() -> None:
    response = np.where(steady() < 7, 0.020, 0.080)  # half of the window's 1000
    assert load_row(point(rows(steady(), response)), 0.060)["goodput_per_s"] == pytest.approx(50.0)
    assert load_row(point(rows(steady(), response)), None)["goodput_per_s"] == pytest.approx(100.0)


def test_a_round_trip_has_no_dispatch_delay_in_it_and_a_response_time_has() -> None:
    row = load_row(point(rows(steady(), response_s=0.020, late_s=0.0005)), None)
    assert row["response_mean_s"] == pytest.approx(0.0200)
    assert row["round_trip_mean_s"] == pytest.approx(0.0195)
    assert row["dispatch_delay_p50_s"] == pytest.approx(0.0005)
    assert row["valid"] is True


def test_the_servers_own_counts_split_the_round_trip() -> None:
    # 1200 requests in 400 executions; 6 s of queueing and 12 s of compute in all; 20 ms of round trip.
    row = load_row(point(counted=Counted(1200, 6.0, 12.0, 400)), None)
    assert row["mean_batch_size"] == pytest.approx(3.0)
    assert row["queue_wait_mean_s"] == pytest.approx(0.005)
    assert row["compute_mean_s"] == pytest.approx(0.010)
    assert row["network_mean_s"] == pytest.approx(0.005)


def test_batches_told_by_the_answers_are_counted_once_each() -> None:
    # One batch of 2 and one of 4: 6 rows, 2 batches; 10 ms for two of the rows and 40 ms for four.
    frame = rows(steady(0.06), response_s=0.050)
    frame["batch_size"] = pd.array([2, 2, 4, 4, 4, 4], dtype="Int32")
    frame["compute_s"] = [0.010, 0.010, 0.040, 0.040, 0.040, 0.040]
    row = load_row(point(frame, warmup_s=0, duration_s=0.06, counted=Counted(6, 0.012, None, None)), None)
    assert row["mean_batch_size"] == pytest.approx(3.0)
    assert row["queue_wait_mean_s"] == pytest.approx(0.002)
    assert row["compute_mean_s"] == pytest.approx(0.030)
    assert row["network_mean_s"] == pytest.approx(0.018)


def test_what_no_one_tells_is_nan() -> None:
    row = load_row(point(), None)
    for name in ("mean_batch_size", "queue_wait_mean_s", "compute_mean_s", "network_mean_s"):
        assert math.isnan(row[name])  # type: ignore[arg-type]


def test_a_server_that_counted_no_request_divides_nothing_by_zero() -> None:
    row = load_row(point(counted=Counted(0, 0.0, 0.0, None)), None)
    assert math.isnan(row["queue_wait_mean_s"])  # type: ignore[arg-type]


def test_failed_requests_are_rows_and_errors_and_in_no_response_time() -> None:
    frame = fail(rows(steady()), slice(500, 530), 503, "queue full")
    frame = fail(frame, slice(600, 610), 0, "timeout", answered=False)
    one = point(frame)
    row = load_row(one, 0.060)
    assert [row[name] for name in ("scheduled", "sent", "completed", "errors", "shed")] == [1000, 1000, 960, 40, 0]
    assert row["throughput_per_s"] == pytest.approx(96.0)
    errors = by_check(rate_verdicts([one], 1))["errors"]
    assert errors.outcome == "fails"
    assert errors.measured == 40.0
    assert errors.why == "30 × queue full, 10 × timeout"
    assert exit_code([errors]) == 1


def test_a_point_of_nothing_but_errors_has_a_row_without_times() -> None:
    frame = fail(rows(steady()), slice(None), 0, "connection refused")
    row = load_row(point(frame), 0.060)
    assert [row[name] for name in ("scheduled", "sent", "completed", "errors")] == [1000, 1000, 0, 1000]
    assert row["goodput_per_s"] == 0.0
    assert math.isnan(row["response_p99_s"])  # type: ignore[arg-type]


def test_a_server_that_answers_nothing_but_errors_fails_and_the_generator_is_not_blamed() -> None:
    verdicts = by_check(rate_verdicts([point(fail(rows(steady()), slice(None), 503, "queue full"))], 1))
    assert verdicts["generator"].outcome == "holds"
    assert (verdicts["errors"].outcome, verdicts["errors"].measured) == ("fails", 1000.0)


def test_a_point_that_was_cancelled_before_its_first_request_can_be_read() -> None:
    frame = fail(rows(steady()), slice(None), -1, "never sent", answered=False)
    frame["sent_s"] = math.nan
    row = load_row(point(frame), 0.060)
    assert [row[name] for name in ("scheduled", "sent", "completed", "errors", "shed")] == [1000, 0, 0, 0, 1000]
    assert row["valid"] is False
    (generator,) = rate_verdicts([point(frame)], 1)
    assert generator.outcome == "invalid"
    assert "all sent 0 sent, expected 1200 scheduled requests sent" in generator.why


def test_a_point_without_a_row_can_be_read() -> None:
    row = load_row(point(rows([])), 0.060)
    assert row["scheduled"] == 0
    assert row["valid"] is False
    assert exit_code(rate_verdicts([point(rows([]))], 1)) == 4


def test_a_steady_point_holds_in_every_verdict() -> None:
    verdicts = rate_verdicts([point()], 1)
    assert [(v.check, v.subject, v.outcome) for v in verdicts] == [
        ("generator", "100/s", "holds"),
        ("steady", "100/s, replication 1", "holds"),
        ("Little's law", "100/s, replication 1", "holds"),
        ("errors", "100/s, replication 1", "holds"),
    ]
    assert (verdicts[0].expected, verdicts[0].measured) == (1, 1)
    assert exit_code(verdicts) == 0


def late(replication: int = 1) -> Point:
    """Every request is sent 20 ms late and answered after 40, a response time that the generator made."""
    return point(rows(steady(), response_s=0.040, late_s=0.020), replication=replication)


def test_a_late_generator_makes_its_point_invalid_and_the_exit_code_4() -> None:
    row = load_row(late(), None)
    assert row["valid"] is False
    assert "p99 dispatch delay: 20 ms, expected at most 10 ms" in str(row["reason"])
    assert "mean dispatch delay: 20 ms, expected at most 2 ms" in str(row["reason"])
    (generator,) = rate_verdicts([late()], 1)
    assert (generator.check, generator.outcome) == ("generator", "invalid")
    assert (generator.expected, generator.measured) == (1, 0)
    assert "100/s, replication 1: p99 dispatch delay 20 ms, expected at most 10 ms" in generator.why
    assert generator.why.endswith("lower the rate, or run the generator on cores the server does not use")
    assert exit_code([generator]) == 4


def test_a_late_replication_that_was_repeated_is_left_out_and_named() -> None:
    verdicts = rate_verdicts([late(1), point(replication=2)], 1)
    assert [(v.check, v.subject, v.outcome) for v in verdicts] == [
        ("generator", "100/s", "holds"),
        ("steady", "100/s, replication 2", "holds"),
        ("Little's law", "100/s, replication 2", "holds"),
        ("errors", "100/s, replication 2", "holds"),
    ]
    assert "100/s, replication 1: p99 dispatch delay 20 ms" in verdicts[0].why


def test_a_late_replication_has_no_part_in_the_objective() -> None:
    verdict = objective_verdict([late(1), point(replication=2)], 99, 0.030)
    assert verdict.outcome == "holds"
    assert verdict.why.startswith("1000 requests pooled, ")
    assert verdict.why.endswith("; each replication alone: 20 ms")


def test_an_objective_of_late_replications_alone_is_invalid() -> None:
    verdict = objective_verdict([late()], 99, 0.060)
    assert verdict.outcome == "invalid"
    assert verdict.measured == "nothing"
    assert verdict.why == "no valid replication: see the generator's verdict"


def test_errors_come_first_and_those_of_a_late_replication_too() -> None:
    failed = slice(500, 530)
    frame = fail(rows(steady(), response_s=0.040, late_s=0.020), failed, 503, "queue full")
    good = fail(rows(steady()), failed, 503, "queue full")
    verdicts = rate_verdicts([point(frame), point(good, replication=2), point(replication=3)], 2)
    assert [(v.check, v.subject, v.outcome) for v in verdicts if v.check in ("errors", "generator")] == [
        ("errors", "100/s, replication 1", "fails"),
        ("errors", "100/s, replication 2", "fails"),
        ("generator", "100/s", "holds"),
        ("errors", "100/s, replication 3", "holds"),
    ]
    assert [v.check for v in verdicts[:3]] == ["errors", "errors", "generator"]
    assert verdicts[0].why == "30 × queue full"


def test_too_few_replications_of_a_run_that_ended_early_are_invalid() -> None:
    generator = rate_verdicts([point()], 3)[0]
    assert (generator.outcome, generator.expected, generator.measured) == ("invalid", 3, 1)
    assert generator.why == "the run ended before"


def test_a_full_queue_is_an_overload_by_what_it_refuses() -> None:
    # Every other request is refused from 4 s on; the window begins at 2 s.
    frame = rows(steady())
    refused = fail(frame, slice(400, None, 2), 503, "queue full or no workers")
    one = point(refused, warmup_s=2.0, duration_s=10.0)
    verdict = by_check(rate_verdicts([one], 1))["steady"]
    assert (verdict.outcome, verdict.measured) == ("fails", pytest.approx(1.0, rel=0.01))
    assert "it refused 400 of 800 and served 50/s, so the rate is 2.00 × what the server serves" in verdict.why
    row = load_row(one, None)
    assert (row["saturated"], row["refused"], row["valid"]) == (True, 400, True)
    assert row["overload"] == pytest.approx(1.0, rel=0.01)
    assert row["response_p99_s"] == pytest.approx(0.020)  # a bounded queue has a steady response time
    assert objective_verdict([one], 99, 10.0).outcome == "fails"


def test_a_few_refusals_are_errors_and_no_overload() -> None:
    one = point(fail(rows(steady()), slice(500, 530), 503, "queue full"))
    assert load_row(one, None)["saturated"] is False
    assert by_check(rate_verdicts([one], 1))["steady"].outcome == "holds"


def test_an_overload_fails_and_does_not_blame_the_measurement() -> None:
    # Response times grow by 0.2 s per second: 0.9 s in the window's first half on average, 1.9 s in its second.
    overloaded = point(rows(steady(), response_s=0.2 * steady()))
    verdicts = by_check(rate_verdicts([overloaded], 1))
    assert "Little's law" not in verdicts
    assert verdicts["steady"].outcome == "fails"
    assert "saturated: response time grows by +0.200 s per s" in verdicts["steady"].why
    assert "1.20 × what the server serves" in verdicts["steady"].why
    row = load_row(overloaded, None)
    assert (row["valid"], row["saturated"]) == (True, True)
    assert math.isnan(float(str(row["response_p99_s"])))
    assert objective_verdict([overloaded], 99, 10.0).outcome == "fails"
    assert exit_code(rate_verdicts([overloaded], 1)) == 1


def test_requests_that_vanish_without_any_growth_make_the_point_invalid() -> None:
    lost = rows(steady())
    lost.loc[lost.index % 5 == 0, ["status", "cause", "completed_s"]] = [0, "in flight at the end", math.nan]
    little = by_check(rate_verdicts([point(lost)], 1))["Little's law"]
    assert little.outcome == "invalid"
    assert "requests were lost" in little.why


def test_an_objective_over_three_replications_has_an_interval() -> None:
    rng = np.random.default_rng(1)
    each = [point(rows(steady(), rng.exponential(0.010, len(steady()))), replication=k) for k in (1, 2, 3)]
    verdict = objective_verdict(each, 95, 0.060)
    found = re.search(r"95 % interval ([\d.]+) to ([\d.]+) ms \(t over 3 replications\)", verdict.why)
    assert found is not None
    assert float(found[1]) < 1000 * verdict.measured < float(found[2])
    assert float(found[1]) < 30.0 < float(found[2])  # 10 ms · ln 20


def test_an_objective_is_judged_over_the_pooled_replications() -> None:
    fast = point(rows(steady(), 0.020), replication=1)
    slow = point(rows(steady(), 0.050), replication=2)
    verdict = objective_verdict([fast, slow], 99, 0.060)
    assert (verdict.check, verdict.server, verdict.subject) == ("objective", "triton", "p99 at 100/s")
    assert verdict.outcome == "holds"
    assert verdict.expected == 0.060
    assert verdict.measured == pytest.approx(0.050)
    assert verdict.why.startswith("2000 requests pooled, no interval: ")
    assert verdict.why.endswith("; each replication alone: 20, 50 ms")


def test_a_missed_objective_fails_and_the_exit_code_is_1() -> None:
    verdict = objective_verdict([point()], 99, 0.019)
    assert verdict.outcome == "fails"
    assert verdict.measured == pytest.approx(0.020)
    assert exit_code([verdict]) == 1


def test_response_times_on_the_objective_to_the_digit_meet_it() -> None:
    due = np.arange(1000) / 64  # exact in binary, as 1/32 is
    one = point(rows(due, 0.03125), warmup_s=0, duration_s=16)
    assert objective_verdict([one], 99, 0.03125).outcome == "holds"


def test_too_few_successes_make_an_objective_invalid_however_good_they_are() -> None:
    # p99 needs 500; two replications of 249 and 250 have 499.
    first, second = point(rows(steady(4.49))), point(rows(steady(4.5)), replication=2)
    verdict = objective_verdict([first, second], 99, 0.060)
    assert verdict.outcome == "invalid"
    assert verdict.why.startswith("499 successful requests, expected at least 500")
    assert exit_code([verdict]) == 4
    enough = objective_verdict([second, second], 99, 0.060)
    assert enough.outcome == "holds"


def test_an_objective_without_a_single_success_is_invalid() -> None:
    failed = point(fail(rows(steady()), slice(None), 503, "queue full"))
    verdict = objective_verdict([failed], 99, 0.060)
    assert verdict.outcome == "invalid"
    assert math.isnan(verdict.measured)  # type: ignore[arg-type]


def test_replications_are_gathered_by_server_and_rate() -> None:
    a, b = point(), point(replication=2)
    c, d = point(rate_per_s=200.0), point(server="torchserve")
    assert rates([a, c, b, d]) == {("triton", 100.0): [a, b], ("triton", 200.0): [c], ("torchserve", 100.0): [d]}
