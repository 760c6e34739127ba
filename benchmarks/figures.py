"""What one run came to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.cell import Cell
from benchmarks.closed_form import NOT_FROZEN, Expected
from benchmarks.ks import NOT_MEASURED, Distance
from benchmarks.latency import NOT_TOLD, Latency
from benchmarks.memory import NOT_SAMPLED, Resident

COMPLETED_WITHIN = 0.05


@dataclass(frozen=True, slots=True)
class Figures:
    """One run's figures, in seconds and requests per second; NaN where not measured, counts -1.

    `planned` requests were asked for, `arrived` reached the receiver and `ok` were answered. `rate_error` compares
    real sends with the schedule (peers: arrivals with the asked rate, so a Poisson count's chance is in it).
    `send_gaps` (all; beyond: from 200 µs on) and `planned_gaps` are ours, `arrival_gaps` are the receiver's;
    `shortest_gap_s` is the shortest between two sends of ours. `latency` is what the tool shows (ours: from the
    schedule), `from_send` is ours beside it, `expected` what the schedule comes to under a freeze. `resident` is the
    generator's memory under load, `peak_bytes` the most that it ever had by its own word, 0 where it does not say.
    `load_average` is that of the minute before the run, `others_cores` what all else kept busy during it.
    """

    cell: Cell
    load_average: float
    others_cores: float = math.nan
    planned: int = -1
    arrived: int = 0
    ok: int = -1
    achieved_per_s: float = math.nan
    rate_error: float = math.nan
    delay_p50_s: float = math.nan
    delay_p99_s: float = math.nan
    delay_max_s: float = math.nan
    cpu_s: float = math.nan
    receiver_cpu_s: float = math.nan
    send_gaps: Distance = NOT_MEASURED
    send_gaps_beyond: Distance = NOT_MEASURED
    planned_gaps: Distance = NOT_MEASURED
    arrival_gaps: Distance = NOT_MEASURED
    shortest_gap_s: float = math.nan
    sends_within: float = math.nan
    arrivals_within: float = math.nan
    latency: Latency = NOT_TOLD
    from_send: Latency = NOT_TOLD
    expected: Expected = NOT_FROZEN
    resident: Resident = NOT_SAMPLED
    peak_bytes: int = 0
    problem: str = ""

    @property
    def failed(self) -> int:
        """Planned and not answered well: lost, refused or never sent; -1 where the tool does not say."""
        return self.planned - self.ok if min(self.planned, self.ok) >= 0 else -1

    @property
    def completed(self) -> bool:
        """All that was planned was answered, at the asked rate within 5 % (a short Poisson run varies by chance)."""
        asked = self.cell.rate_per_s
        return not self.problem and self.failed == 0 and abs(self.achieved_per_s / asked - 1) <= COMPLETED_WITHIN


def of(runs: Sequence[Figures], purpose: str, tool: str, arrivals: str = "", rate_per_s: float = 0.0) -> list[Figures]:
    """Those of a purpose and a tool; of any arrivals and rate where none is given."""
    return [
        run
        for run in runs
        if (run.cell.purpose, run.cell.tool) == (purpose, tool)
        and arrivals in ("", run.cell.arrivals)
        and rate_per_s in (0.0, run.cell.rate_per_s)
    ]
