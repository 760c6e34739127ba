"""Carrying out a plan, and telling on standard error how far it has come."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from benchmarks.cell import Cell
from benchmarks.figures import Figures
from benchmarks.machine import wait_until_quiet
from benchmarks.measure import measure
from benchmarks.plan import Plan, climb_s
from benchmarks.tools import Tool

LADDER_TRIES = 2


class Runs:
    """The runs so far, in `done`. quiet_s: how long to wait, at most, for a quiet machine before each."""

    def __init__(self, tools: Mapping[str, Tool], quiet_s: float) -> None:
        self.done: list[Figures] = []
        self.interrupted = False
        self._tools, self._quiet_s = tools, quiet_s
        self._left_s = 0.0

    def make(self, plan: Plan) -> None:
        """All of the plan; with Ctrl-C, what ran so far is kept."""
        self._left_s = plan.expected_s
        try:
            for cell in plan.steady:
                self._run(cell)
            for steps in plan.ladders:
                self._climb(steps)
        except KeyboardInterrupt:
            self.interrupted = True
            say("interrupted: what ran so far is written")

    def _run(self, cell: Cell) -> Figures:
        say(f"{cell.purpose}: {cell.tool}, {cell.load}, {cell.seconds:.1f} s ({left(self._left_s)} left)")
        if self._quiet_s and not wait_until_quiet(self._quiet_s):
            say("  the machine was not quiet; run all the same")
        figures = measure(cell, self._tools[cell.tool])
        self.done.append(figures)
        self._left_s = max(0.0, self._left_s - cell.expected_s)
        if figures.problem:
            say(f"  {figures.problem}")
        return figures

    def _climb(self, steps: Sequence[Cell]) -> None:
        """Up the ladder until a rate is not completed in two tries; what is spared above it is no longer left."""
        after_s = self._left_s - climb_s(steps)
        for cell in steps:
            if not any(self._run(cell).completed for _ in range(LADDER_TRIES)):
                break
        self._left_s = max(0.0, after_s)


def left(seconds: float) -> str:
    """'about 12 min', and of the last two minutes 'about 80 s'."""
    return f"about {seconds / 60:.0f} min" if seconds > 120 else f"about {seconds:.0f} s"


def say(text: str) -> None:
    """One line on standard error, with the time and the machine's load."""
    sys.stderr.write(f"{datetime.now(UTC):%H:%M:%S} load {os.getloadavg()[0]:.2f}  {text}\n")
    sys.stderr.flush()
