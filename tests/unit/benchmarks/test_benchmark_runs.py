"""Carrying out a plan: how far ladders go, and the time that is said to be left."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchmarks import runs as module
from benchmarks.cell import Cell
from benchmarks.figures import Figures
from benchmarks.names import LADDER, OURS, PACING
from benchmarks.plan import Plan
from benchmarks.runs import Runs, left

STEADY = Cell(PACING, OURS, "poisson", 500, 10.0, 1)
STEPS = [Cell(LADDER, OURS, "poisson", rate, 10.0, 1) for rate in (1000, 2000, 3000)]


def made(monkeypatch: pytest.MonkeyPatch, plan: Plan, good_per_s: float) -> tuple[Runs, list[str]]:
    """Runs in which the tool completes every rate up to that one."""

    def measure(cell: Cell, _tool: object) -> Figures:
        ok = 100 if cell.rate_per_s <= good_per_s else 99
        return Figures(cell, 0.0, planned=100, ok=ok, achieved_per_s=cell.rate_per_s)

    said: list[str] = []
    monkeypatch.setattr(module, "measure", measure)
    monkeypatch.setattr(module, "say", said.append)
    runs = Runs({OURS: None}, 0.0)  # type: ignore[dict-item]
    runs.make(plan)
    return runs, said


def seconds_left(said: list[str]) -> list[int]:
    return [int(found[1]) for line in said if (found := re.search(r"about (\d+) s left", line))]


def test_a_ladder_is_left_after_two_tries_at_a_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, _ = made(monkeypatch, Plan([], [STEPS]), 1000)
    assert [run.cell.rate_per_s for run in runs.done] == [1000, 2000, 2000]


def test_what_a_ladder_spares_is_no_longer_left(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan([STEADY], [STEPS, [replace(step, repeat=1) for step in STEPS[:1]]])
    _, said = made(monkeypatch, plan, 500)
    one = STEADY.expected_s
    assert seconds_left(said) == pytest.approx([k * one for k in (7, 6, 5, 2, 1)], abs=0.51)


def test_an_interrupted_plan_keeps_what_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(cell: Cell, _tool: object) -> Figures:
        if cell.rate_per_s > 1000:
            raise KeyboardInterrupt
        return Figures(cell, 0.0)

    monkeypatch.setattr(module, "measure", measure)
    monkeypatch.setattr(module, "say", lambda _: None)
    runs = Runs({OURS: None}, 0.0)  # type: ignore[dict-item]
    runs.make(Plan([STEADY, *STEPS], []))
    assert (len(runs.done), runs.interrupted) == (2, True)


def test_time_left_is_in_minutes_until_the_last_two() -> None:
    assert (left(700), left(80)) == ("about 12 min", "about 80 s")
