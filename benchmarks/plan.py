"""Which runs are made, and in which order: repeats outermost, tools innermost, so that noise falls on all alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from benchmarks.cell import Cell
from benchmarks.names import (
    ARRIVALS,
    ASYNC,
    CEILING,
    CONSTANT_ONLY,
    DEFAULT,
    FREEZE,
    GAPS,
    HEY,
    LADDER,
    LOCUST,
    OURS,
    OURS_TABLES,
    PACING,
    PURPOSES,
    SOAK,
    WRK,
)
from benchmarks.sizes import CONSTANT, GAMMA, POISSON, Size

GAPS_RATE_PER_S = 500.0
ARRIVALS_PER_S = (500.0, 1000.0, 5000.0)
BEYOND_GAPS = 1.06
"""A Poisson count varies: with 6 % more than needed, 5,000 gaps are missed once in 10⁴ schedules."""

FREEZE_RATE_PER_S = 500.0
FREEZE_SECONDS, FREEZE_AFTER_S, FREEZE_S = 1.2, 0.1, 1.0
"""Five sixths of the arrivals are due while the receiver stands still, so the median is in the closed form too."""
FROZEN_FOR = (OURS, DEFAULT, ASYNC, LOCUST, HEY)

SOAK_RATE_PER_S, TABLES_RATE_PER_S = 10_000.0, 15_000.0
"""Of 20,000/s for 100 s a busy machine of two cores lost 7 %; 15,000/s leaves it room, and takes half a minute more."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`steady` runs are all made; each ladder is gone up until a rate is not completed."""

    steady: list[Cell]
    ladders: list[list[Cell]]

    @property
    def expected_s(self) -> float:
        """Seconds for all of it, ladders to their tops."""
        return sum(cell.expected_s for cell in self.steady) + sum(map(climb_s, self.ladders))


def climb_s(steps: Sequence[Cell]) -> float:
    """Seconds for a ladder to its top, and one second try there."""
    return sum(cell.expected_s for cell in steps) + (steps[-1].expected_s if steps else 0.0)


def everything(size: Size, tools: Collection[str], only: Collection[str] = ()) -> Plan:
    """Every run of that size for the tools that there are, or those for the purposes in `only`."""
    steady = [*pacing(size, tools), *freezes(size, tools), *ceilings(size, tools)]
    steady.sort(key=lambda cell: cell.repeat)  # stable: repeats outermost
    steady += [*arrivals(size, tools), *send_gaps(size), *soaks(size)]
    ladders = [ladder(size, tool, repeat) for repeat in range(size.ladder_repeats) for tool in size.ladders]
    wanted = only or PURPOSES
    return Plan(
        [cell for cell in steady if cell.purpose in wanted and cell.tool in tools],
        [steps for steps in ladders if LADDER in wanted and steps[0].tool in tools],
    )


def pacing(size: Size, tools: Collection[str]) -> list[Cell]:
    """Every tool at every rate and kind of arrivals that it has."""
    paces = {tool: dict(size.paces[tool]) for tool in size.paces if tool in tools}
    rates = sorted({rate for by_kind in paces.values() for rates in by_kind.values() for rate in rates})
    return [
        Cell(PACING, tool, kind[0], rate, size.seconds, repeat + 1, repeat, kind[1])
        for repeat in range(size.repeats)
        for kind in (POISSON, CONSTANT, GAMMA)
        for rate in rates
        for tool in paces
        if rate in paces[tool].get(kind, ())
    ]


def send_gaps(size: Size) -> list[Cell]:
    """Ours, once for each seed, long enough for the gaps that the test takes."""
    seconds = BEYOND_GAPS * size.gaps / GAPS_RATE_PER_S
    return [
        # Gamma gaps of CV 2 make the count vary twice as much.
        Cell(GAPS, OURS, kind, GAPS_RATE_PER_S, seconds * (1.06 if kind == "gamma" else 1), seed, 0, cv)
        for seed in range(1, size.seeds + 1)
        for kind, cv in (POISSON, GAMMA, CONSTANT)
        if kind != "constant" or seed == 1
    ]


def arrivals(size: Size, tools: Collection[str]) -> list[Cell]:
    """Poisson at a receiver that polls, long enough for the gaps that the test takes."""
    return [
        Cell(ARRIVALS, tool, "poisson", rate, BEYOND_GAPS * size.gaps / rate, repeat + 1, repeat)
        for repeat in range(size.ladder_repeats)
        for rate in ARRIVALS_PER_S
        for tool in (OURS, ASYNC, DEFAULT)
        if tool in tools
    ]


def freezes(size: Size, tools: Collection[str]) -> list[Cell]:
    """Poisson, where a tool has it."""
    return [
        Cell(FREEZE, tool, _arrivals(tool), FREEZE_RATE_PER_S, FREEZE_SECONDS, repeat + 1, repeat)
        for repeat in range(size.repeats)
        for tool in FROZEN_FOR
        if tool in tools
    ]


def ceilings(size: Size, tools: Collection[str]) -> list[Cell]:
    return [
        Cell(CEILING, WRK, "closed loop", 0.0, size.ladder_seconds, 0, repeat)
        for repeat in range(size.repeats)
        if WRK in tools
    ]


def soaks(size: Size) -> list[Cell]:
    """Three million requests in five minutes, and two million that become the product's tables."""
    return [
        Cell(SOAK, OURS, "poisson", SOAK_RATE_PER_S, size.soak_seconds, 1),
        Cell(SOAK, OURS_TABLES, "poisson", TABLES_RATE_PER_S, size.tables_seconds, 1),
    ]


def ladder(size: Size, tool: str, repeat: int) -> list[Cell]:
    """Rising rates, to be gone up until one is not completed."""
    return [
        Cell(LADDER, tool, _arrivals(tool), rate, size.ladder_seconds, repeat + 1, repeat)
        for rate in size.ladders[tool]
    ]


def _arrivals(tool: str) -> str:
    return "constant" if tool in CONSTANT_ONLY else "poisson"
