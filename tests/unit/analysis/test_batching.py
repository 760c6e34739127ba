"""Batch sizes that theory lets expect, by numbers worked out by hand: c = 4 ms, m = 2 ms."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from bench.analysis.batching import expected, sentence
from bench.scenario.spec import Server
from bench.theory.law import CostModel

LAW = CostModel(0.004, 0.002)
TRITON = Server("triton", "triton", max_batch_size=16, max_queue_delay_s=0.005)
TORCHSERVE = replace(TRITON, name="torchserve", kind="torchserve")


@pytest.mark.parametrize(
    ("server", "rate_per_s", "fresh", "backlog"),
    [
        # λ·c/(1 − λm): 0.4/0.8, 1.2/0.4
        (TRITON, 100.0, 1.5, 0.5),
        (TRITON, 300.0, 2.5, 3.0),
        # λ·(c + d)/(1 − λm): 0.9/0.8, 2.7/0.4
        (TORCHSERVE, 100.0, 1.5, 1.125),
        (TORCHSERVE, 300.0, 2.5, 6.75),
        # two instances: 1.2/(2 − 0.6)
        (replace(TRITON, instances=2), 300.0, 2.5, 1.2 / 1.4),
        (replace(TRITON, max_queue_delay_s=0.0), 300.0, 1.0, 3.0),
    ],
)
def test_a_batch_is_the_first_and_its_delays_arrivals_or_what_arrives_in_a_cycle(
    server: Server, rate_per_s: float, fresh: float, backlog: float
) -> None:
    found = expected(rate_per_s, server, LAW)
    assert (found.fresh, found.backlog) == (pytest.approx(fresh), pytest.approx(backlog))
    assert found.batch_size == pytest.approx(max(fresh, backlog))


def test_what_arrives_in_a_cycle_is_a_fixed_point_of_the_law() -> None:
    B = expected(300.0, TORCHSERVE, LAW).backlog
    assert pytest.approx(300 * (0.004 + 0.002 * B + 0.005)) == B


def test_no_batch_is_larger_than_the_largest() -> None:
    assert expected(440.0, TORCHSERVE, LAW).batch_size == 16
    over = expected(500.0, TRITON, LAW)  # λm = 1: every cycle brings more than it takes away
    assert (over.backlog, over.batch_size) == (math.inf, 16)


@pytest.mark.parametrize(
    ("rate_per_s", "found", "says"),
    [
        (20.0, 1.1, "no backlog, no batch (0.12 more requests arrive in the time of one request)"),
        (160.0, 1.4, "no backlog, no batch (0.96 more requests arrive in the time of one request)"),
        (100.0, 1.6, "the first and those that arrive in its delay make 1.5"),  # batched, though there is no backlog
        (300.0, 1.4, "what arrives in a cycle of 10 ms makes 3"),  # λ·T(1) = 1.8
        (300.0, 3.2, "what arrives in a cycle of 10 ms makes 3"),
        (450.0, 15.7, "more than a full batch arrives in a cycle"),
    ],
)
def test_one_sentence_says_why_batches_are_as_large_as_they_are(rate_per_s: float, found: float, says: str) -> None:
    text = sentence(rate_per_s, found, TRITON, LAW)
    assert text == f"at {rate_per_s:g}/s a batch holds {found:g} of at most 16: {says}"


def test_a_delay_longer_than_a_request_is_what_arrivals_are_counted_in() -> None:
    text = sentence(20.0, 1.3, replace(TRITON, max_queue_delay_s=0.020), LAW)
    assert text.endswith("no backlog, no batch (0.4 more requests arrive in the delay)")
    text = sentence(60.0, 1.4, replace(TRITON, max_queue_delay_s=0.020), LAW)
    assert text.endswith("the first and those that arrive in its delay make 2.2")


def test_nothing_is_said_of_what_is_not_known() -> None:
    assert sentence(100.0, math.nan, TRITON, LAW) == ""
    assert sentence(100.0, 1.2, TRITON, None) == ""
