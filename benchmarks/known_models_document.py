"""One row for a model on a server, the promises it is held against, and the table of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.report.quantity import number, share, significant

M_SHARE = 0.01
C_MS = {"torchserve": 0.35, "triton": 0.8}
M_MORE_MS = {"torchserve": 0.0, "triton": 0.1}
LAW, CAPACITY = 0.03, 0.05
LONGEST_S = 90.0

INTRODUCTION = """# Known models on both real servers

Made by `python -m benchmarks.known_models`. A model that keeps c + B·m by its own clock is served, and measured as a
run measures any other: c and m of the compute layer (what the server reports for a batch that it formed itself from
single requests) beside those of the model's own clock.

Held against: TorchServe's m within 1 % and c within 0.35 ms of the own clock; Triton's m within 1 % + 0.1 ms and c
within 0.8 ms, since what it calls compute has the unpacking and answering of each request in it ("unpacking" shows how
much, from one request of B rows, whose m is within 1 %); every S(B) within 3 % of what the fit predicts, by times and
by throughput; the capacity within 5 % of N·B/(c + Bm) of the occupancy layer, as are the exact batches that it was
fitted to; the ceiling interval of the own clock holds 1 + c/m; the regime; at most 90 s a server. **Bold** is beyond.
"""
COLUMNS = (
    "server", "c, m (ms)", "N", "c", "m", "own c", "own m", "unpacking, ms a request", "ceiling of the own clock",
    "regime", "S(B) off", "S(B) by throughput off", "capacity /s", "off", "exact batches off", "s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A model on a server: milliseconds, shares, requests per second, and how many seconds the run took."""

    server: str
    c_ms: float
    m_ms: float
    instances: int
    seconds: float
    c_found_ms: float
    m_found_ms: float
    c_own_ms: float
    m_own_ms: float
    m_rows_ms: float | None
    ceiling_lo: float
    ceiling_hi: float
    ceiling: float
    regime: str
    regime_true: str
    worst_speedup: float
    worst_throughput_speedup: float
    worst_fit: float
    capacity_per_s: float
    capacity_error: float

    def broken(self) -> frozenset[str]:
        """The columns whose promise does not hold."""
        m_allowed_ms = M_SHARE * self.m_own_ms
        held = {
            "c": abs(self.c_found_ms - self.c_own_ms) <= C_MS[self.server],
            "m": abs(self.m_found_ms - self.m_own_ms) <= m_allowed_ms + M_MORE_MS[self.server],
            "unpacking, ms a request": self.m_rows_ms is None or abs(self.m_rows_ms - self.m_own_ms) <= m_allowed_ms,
            "ceiling of the own clock": self.ceiling_lo <= self.ceiling <= self.ceiling_hi,
            "regime": self.regime == self.regime_true,
            "S(B) off": self.worst_speedup <= LAW,
            "S(B) by throughput off": self.worst_throughput_speedup <= CAPACITY,
            "off": abs(self.capacity_error) <= CAPACITY,
            "exact batches off": self.worst_fit <= CAPACITY,
            "s": self.seconds <= LONGEST_S,
        }
        return frozenset(column for column, holds in held.items() if not holds)

    def cells(self) -> dict[str, str]:
        unpacking = "" if self.m_rows_ms is None else significant(self.m_found_ms - self.m_rows_ms)
        return {
            "server": self.server, "c, m (ms)": f"{number(self.c_ms)}, {number(self.m_ms)}", "N": str(self.instances),
            "c": significant(self.c_found_ms), "m": significant(self.m_found_ms),
            "own c": significant(self.c_own_ms), "own m": significant(self.m_own_ms),
            "unpacking, ms a request": unpacking,
            "ceiling of the own clock": f"{number(self.ceiling_lo)} to {number(self.ceiling_hi)}",
            "regime": self.regime, "S(B) off": share(self.worst_speedup),
            "S(B) by throughput off": share(self.worst_throughput_speedup),
            "capacity /s": number(self.capacity_per_s), "off": share(self.capacity_error),
            "exact batches off": share(self.worst_fit), "s": f"{self.seconds:.0f}",
        }  # fmt: skip

    def line(self) -> str:
        """All of it, for a terminal."""
        broken = self.broken()
        return " · ".join(f"{'!' if name in broken else ''}{name} {text}" for name, text in self.cells().items())


def markdown(rows: Sequence[Row], environment: Mapping[str, Any]) -> str:
    """The whole document."""
    where = f"{environment['cpu']}, {environment['cores']} cores, revision {environment['git_revision']}"
    lines = [INTRODUCTION, f"Measured on: {where}.\n"]
    lines += ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for row in rows:
        broken, cells = row.broken(), row.cells()
        lines.append("| " + " | ".join(f"**{cells[c]}**" if c in broken else cells[c] for c in COLUMNS) + " |")
    return "\n".join(lines) + "\n"
