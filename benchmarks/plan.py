"""Which runs are made, and in which order: repeats outermost, tools innermost, so that noise falls on all alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

OURS, OURS_2 = "serve-bench", "serve-bench, 2 workers"
ASYNC, DEFAULT = "perf_analyzer --async", "perf_analyzer"
WRK = "wrk"

PACING, LADDER, GAPS, FREEZE, CEILING = "pacing", "highest rate", "send gaps", "freeze", "ceiling"


@dataclass(frozen=True, slots=True)
class Cell:
    """One run: which tool, for which purpose, at what load. `cv` is that of gamma gaps."""

    purpose: str
    tool: str
    arrivals: str
    rate_per_s: float
    seconds: float
    seed: int
    repeat: int = 0
    cv: float = 1.0

    @property
    def load(self) -> str:
        """'gamma CV 2, 500/s'."""
        kind = f"gamma CV {self.cv:g}" if self.arrivals == "gamma" else self.arrivals
        return f"{kind}, {self.rate_per_s:g}/s" if self.rate_per_s else kind


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run."""

    rates_per_s: tuple[float, ...]
    arrivals: tuple[tuple[str, float], ...]
    """(kind, CV)"""
    seconds: float
    repeats: int
    seeds: int
    gaps: int
    our_ladder_per_s: tuple[float, ...]
    peer_ladder_per_s: tuple[float, ...]
    ladder_seconds: float


FULL = Size(
    rates_per_s=(500, 1000, 5000, 10_000, 20_000),
    arrivals=(("poisson", 1.0), ("constant", 1.0), ("gamma", 2.0)),
    seconds=5.0,
    repeats=3,
    seeds=10,
    gaps=5000,
    our_ladder_per_s=(20_000, 25_000, 30_000, 35_000, 40_000, 45_000, 50_000),
    peer_ladder_per_s=(2000, 4000, 6000, 8000, 10_000, 12_000, 15_000, 20_000),
    ladder_seconds=3.0,
)
QUICK = Size(
    rates_per_s=(500, 1000, 5000, 20_000),
    arrivals=(("poisson", 1.0),),
    seconds=1.5,
    repeats=1,
    seeds=1,
    gaps=2000,
    our_ladder_per_s=(20_000, 30_000, 40_000),
    peer_ladder_per_s=(4000, 8000, 12_000, 16_000),
    ladder_seconds=1.5,
)
PEER_ARRIVALS = ("poisson", "constant")
PEER_HIGHEST_PER_S = 5000.0
"""Up to here the peers keep pace; what is beyond is the ladder's to find."""
GAPS_RATE_PER_S = 500.0
FREEZE_RATE_PER_S = 500.0
FREEZE_SECONDS, FREEZE_AFTER_S, FREEZE_S = 6.0, 2.0, 1.0
BEYOND_GAPS = 1.06
"""A Poisson count varies: with 6 % more than needed, 5,000 gaps are missed once in 10⁴ schedules."""


def pacing(size: Size, tools: Sequence[str]) -> list[Cell]:
    """Every tool at every rate and kind of arrivals that it has."""
    return [
        Cell(PACING, tool, kind, rate, size.seconds, repeat + 1, repeat, cv)
        for repeat in range(size.repeats)
        for kind, cv in size.arrivals
        for rate in size.rates_per_s
        for tool in tools
        if tool in (OURS, OURS_2) or (tool != WRK and kind in PEER_ARRIVALS and rate <= PEER_HIGHEST_PER_S)
    ]


def send_gaps(size: Size) -> list[Cell]:
    """Ours, once for each seed, long enough for the gaps that the test takes."""
    seconds = BEYOND_GAPS * size.gaps / GAPS_RATE_PER_S
    kinds = (("poisson", 1.0), ("gamma", 2.0), ("constant", 1.0))
    return [
        # Gamma gaps of CV 2 make the count vary twice as much.
        Cell(GAPS, OURS, kind, GAPS_RATE_PER_S, seconds * (1.06 if kind == "gamma" else 1), seed, 0, cv)
        for seed in range(1, size.seeds + 1)
        for kind, cv in kinds
        if kind != "constant" or seed == 1
    ]


def freezes(size: Size, tools: Sequence[str]) -> list[Cell]:
    return [
        Cell(FREEZE, tool, "poisson", FREEZE_RATE_PER_S, FREEZE_SECONDS, repeat + 1, repeat)
        for repeat in range(size.repeats)
        for tool in tools
        if tool != WRK
    ]


def ceilings(size: Size, tools: Sequence[str]) -> list[Cell]:
    return [
        Cell(CEILING, tool, "closed loop", 0.0, size.ladder_seconds, 0, repeat)
        for repeat in range(size.repeats)
        for tool in tools
        if tool == WRK
    ]


def ladder(size: Size, tool: str, repeat: int) -> list[Cell]:
    """Rising rates, to be gone up until one is not completed."""
    rates = size.our_ladder_per_s if tool in (OURS, OURS_2) else size.peer_ladder_per_s
    return [Cell(LADDER, tool, "poisson", rate, size.ladder_seconds, repeat + 1, repeat) for rate in rates]
