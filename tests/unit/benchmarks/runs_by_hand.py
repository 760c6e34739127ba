"""Runs made by hand, for the tests of what follows from them."""

from __future__ import annotations

from typing import Any

from benchmarks.cell import Cell
from benchmarks.figures import Figures
from benchmarks.names import OURS, PACING


def run(
    tool: str = OURS,
    rate: float = 1000,
    purpose: str = PACING,
    repeat: int = 0,
    arrivals: str = "poisson",
    **figures: Any,
) -> Figures:
    """A hundred requests, all answered at the asked rate, but for what `figures` say."""
    given: dict[str, Any] = {
        "planned": 100,
        "ok": 100,
        "arrived": 100,
        "achieved_per_s": rate,
        "rate_error": 0.0,
    }
    cv = 2.0 if arrivals == "gamma" else 1.0
    return Figures(Cell(purpose, tool, arrivals, rate, 2.0, 1, repeat, cv), 0.5, **(given | figures))
