"""How much is run: all of it, or a quick look that every part works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.names import ASYNC, DEFAULT, HEY, LOCUST, OURS, OURS_2, OURS_GRPC

POISSON, CONSTANT, GAMMA = ("poisson", 1.0), ("constant", 1.0), ("gamma", 2.0)
Paces = tuple[tuple[tuple[str, float], tuple[float, ...]], ...]
"""((kind, CV), rates per second) for each kind of arrivals."""


@dataclass(frozen=True, slots=True)
class Size:
    """Seconds are those of one run's load; `paces` and `ladders` are by tool, and what is not there is not run."""

    paces: Mapping[str, Paces]
    seconds: float
    repeats: int
    seeds: int
    gaps: int
    ladders: Mapping[str, tuple[float, ...]]
    ladder_seconds: float
    ladder_repeats: int
    soak_seconds: float
    tables_seconds: float


_COMMON = (500, 1000, 5000)
"""Up to here most peers keep pace; what is beyond is the ladder's to find."""
_CLOSED_LOOP: Paces = ((CONSTANT, _COMMON),)

FULL = Size(
    paces={
        OURS: ((POISSON, (*_COMMON, 10_000, 20_000)), (CONSTANT, _COMMON), (GAMMA, _COMMON)),
        OURS_2: ((POISSON, (10_000, 20_000)),),
        OURS_GRPC: ((POISSON, (500, 1000, 2000)),),
        DEFAULT: ((POISSON, _COMMON), (CONSTANT, _COMMON)),
        ASYNC: ((POISSON, _COMMON), (CONSTANT, _COMMON)),
        LOCUST: _CLOSED_LOOP,
        HEY: _CLOSED_LOOP,
    },
    seconds=4.0,
    repeats=3,
    seeds=10,
    gaps=5000,
    ladders={
        OURS: (20_000, 30_000, 35_000, 40_000, 45_000),
        OURS_2: (20_000, 30_000, 40_000, 45_000),
        DEFAULT: (4000, 6000, 8000, 10_000),
        ASYNC: (6000, 8000, 10_000, 12_000, 15_000, 18_000),
        LOCUST: (1000, 2000, 3000, 4000),
        HEY: (2000, 4000, 8000, 10_000),
    },
    ladder_seconds=2.0,
    ladder_repeats=2,
    soak_seconds=300.0,
    tables_seconds=134.0,
)
QUICK = Size(
    paces={
        OURS: ((POISSON, (500, 1000, 5000, 20_000)),),
        OURS_GRPC: ((POISSON, (2000,)),),
        DEFAULT: ((POISSON, (1000,)),),
        ASYNC: ((POISSON, (500, 1000, 5000)),),
        LOCUST: ((CONSTANT, (1000,)),),
        HEY: ((CONSTANT, (1000,)),),
    },
    seconds=1.5,
    repeats=1,
    seeds=1,
    gaps=2000,
    ladders={
        OURS: (20_000, 30_000, 40_000),
        DEFAULT: (4000, 8000),
        ASYNC: (4000, 8000, 12_000, 16_000),
        LOCUST: (1000, 2000),
        HEY: (4000, 8000),
    },
    ladder_seconds=1.5,
    ladder_repeats=1,
    soak_seconds=5.0,
    tables_seconds=3.0,
)
