"""Processor time of a tree of processes laid out by hand, and the share of it that a request costs."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cpu import Sample, others_cores, per_request_s, ticks_of, tree_seconds
from benchmarks.machine import busy_ticks

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def stat(user: int, system: int, children: int = 0, name: str = "python") -> str:
    return f"7 ({name}) S 1 7 7 0 -1 4194304 100 0 0 0 {user} {system} {children} 0 20 0 1 0 12345 0 0"


def process(proc: Path, pid: int, line: str, threads: dict[int, str]) -> None:
    for thread, children in threads.items():
        (proc / str(pid) / "task" / str(thread)).mkdir(parents=True)
        (proc / str(pid) / "task" / str(thread) / "children").write_text(children)
    (proc / str(pid) / "stat").write_text(line)


def test_user_system_and_waited_for_children_are_added() -> None:
    assert ticks_of(stat(120, 30, 50)) == 200


def test_a_name_with_spaces_and_brackets_moves_no_field() -> None:
    assert ticks_of(stat(1, 2, name="a b) S (c")) == 3


def test_a_tree_is_counted_whole_whichever_thread_started_a_child(tmp_path: Path) -> None:
    process(tmp_path, 1, stat(TICKS_PER_S, 0), {1: "2 ", 11: "3 "})
    process(tmp_path, 2, stat(0, TICKS_PER_S), {2: ""})
    process(tmp_path, 3, stat(TICKS_PER_S, TICKS_PER_S), {3: "4 "})
    process(tmp_path, 4, stat(0, 0, TICKS_PER_S), {4: ""})
    assert tree_seconds(1, tmp_path) == 5.0


def test_a_process_that_is_gone_counts_nothing(tmp_path: Path) -> None:
    process(tmp_path, 1, stat(TICKS_PER_S, 0), {1: "2 "})
    assert tree_seconds(1, tmp_path) == 1.0
    assert tree_seconds(99, tmp_path) == 0.0


def test_cost_of_a_request_leaves_out_a_tenth_at_either_end() -> None:
    arrivals = np.arange(101) * 10  # 0 to 1000: samples from 100 to 900 count
    samples = [Sample(50, 0.0, 0.0), Sample(200, 5.0, 1.0), Sample(500, 6.0, 1.5), Sample(800, 8.0, 4.0)]
    samples.append(Sample(950, 90.0, 90.0))
    generator_s, receiver_s = per_request_s(samples, arrivals)
    assert generator_s == pytest.approx(3.0 / 60)
    assert receiver_s == pytest.approx(3.0 / 60)


@pytest.mark.parametrize(
    ("samples", "arrivals"),
    [
        ([], [0, 1000]),
        ([Sample(500, 1.0, 1.0)], [0, 1000]),
        ([Sample(400, 1.0, 1.0), Sample(600, 2.0, 2.0)], []),
        ([Sample(400, 1.0, 1.0), Sample(600, 2.0, 2.0)], [0, 1000]),
    ],
)
def test_no_cost_where_nothing_was_seen(samples: list[Sample], arrivals: list[int]) -> None:
    assert all(math.isnan(value) for value in per_request_s(samples, np.array(arrivals, dtype=np.int64)))


def test_busy_ticks_are_all_but_idle_and_waiting_ones() -> None:
    assert busy_ticks("cpu  10 1 5 1000 200 2 3 4 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n") == 25


def test_what_others_use_is_the_machine_less_both_sides() -> None:
    samples = [Sample(0, 1.0, 1.0, 10.0), Sample(2_000_000_000, 2.0, 1.5, 12.5)]
    assert others_cores(samples) == pytest.approx(0.5)
    assert math.isnan(others_cores(samples[:1]))
