"""One run as it is planned, and how long it takes."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.names import LOCUST, OURS_2, OURS_GRPC, OURS_TABLES, SOAK

AROUND_S = {OURS_2: 1.6, OURS_GRPC: 1.4, OURS_TABLES: 2.5, LOCUST: 1.6}
AROUND_OTHERS_S = 0.9
"""Receiver and generator started, connections opened, outputs read."""
AROUND_SOAK_S = 3.0
"""Millions of times are written, read and sorted."""


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
        return f"{self.kind}, {self.rate_per_s:g}/s" if self.rate_per_s else self.kind

    @property
    def kind(self) -> str:
        """'gamma CV 2'."""
        return f"gamma CV {self.cv:g}" if self.arrivals == "gamma" else self.arrivals

    @property
    def expected_s(self) -> float:
        """The load's own seconds, and those that a run takes around it."""
        around_s = AROUND_S.get(self.tool, AROUND_OTHERS_S)
        return self.seconds + around_s + (AROUND_SOAK_S if self.purpose == SOAK else 0.0)
