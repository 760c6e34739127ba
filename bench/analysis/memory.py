"""memory.csv and out_of_memory.csv -> what a batch of B takes, a + b·B bytes, and the largest batch that is safe."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench.analysis.verdict import Outcome, Verdict
from bench.scenario.spec import Server
from bench.theory.interval import Interval
from bench.theory.line import FEWEST_POINTS, LineFit, fit_line

# Of the limit, left free: a process also takes what no calibration asks of it, and the host has others.
MARGIN = 0.10
# Times the largest batch that was measured, beyond which a line is no more than a guess.
FAR = 4.0
MB, GB = 1e6, 1e9
MEMORY_FIT_COLUMNS = (
    "server", "a_bytes", "a_lo_bytes", "a_hi_bytes", "b_bytes", "b_lo_bytes", "b_hi_bytes", "scatter_bytes", "points",
    "largest_batch", "limit_bytes", "margin", "safe_batch", "safe_batch_lo", "safe_batch_hi", "load_peak_bytes",
    "out_of_memory_at", "words",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """One server's. line: a + b·B of a process, None where too few were read; failed_at: the smallest batch that did
    not fit; ran: the largest calibrated one that did, 0 if none; load_peak_bytes: NaN where it is in the line."""

    server: Server
    line: LineFit | None
    limit_bytes: float
    load_peak_bytes: float
    failed_at: int | None
    ran: int

    @property
    def safe(self) -> Interval:
        """The largest B with N·(a + b·B) <= (1 − margin)·limit for N instances, not rounded; below `failed_at`."""
        if self.line is None:
            known = math.inf if self.failed_at is None else float(self.ran)
            return Interval(known, float(self.ran), known)
        found = self.line.reaches(self.limit_bytes * (1 - MARGIN) / self.server.instances)
        if self.failed_at is None:
            return found
        most = float(self.ran)
        return Interval(min(found.value, most), min(found.lo, most), min(found.hi, most))

    @property
    def words(self) -> str:
        """One line without a full stop."""
        parts = [] if self.line is None else [_growth(self.line)]
        if self.line is not None and self.load_peak_bytes > self.line.predict(self.line.largest_x):
            parts.append(f"{_mb(self.load_peak_bytes)} MB while it loads")
        if self.failed_at is not None:
            parts.append(f"a batch of {self.failed_at} did not fit, one of {self.ran} did")
        elif self.line is not None and self.line.grows:
            parts.append(self._largest())
        return "; ".join(parts)

    def _largest(self) -> str:
        line, safe = self.line, self.safe.value
        assert line is not None  # noqa: S101 the caller has looked
        room = f"{self.limit_bytes / GB:.3g} GB were to be had, {MARGIN:.0%} of it left free"
        if safe > FAR * line.largest_x:
            return f"the largest safe B is about {_about(safe)}, an extrapolation from {line.largest_x:g} ({room})"
        return f"the largest safe B is {math.floor(safe)} ({room})"

    @property
    def verdict(self) -> Verdict | None:
        """Whether the server's own largest batch fits; None where nothing tells."""
        largest = self.server.max_batch_size
        subject, expected = "max_batch_size", float(largest)
        if self.failed_at is not None:
            why = f"{self.words}: set max_batch_size to {self.ran} or less, or give the server more memory"
            outcome: Outcome = "fails" if largest >= self.failed_at else "holds"
            return Verdict("memory", self.server.name, subject, expected, float(self.ran), "", outcome, why)
        if self.line is None:
            return None
        safe = self.safe
        measured = float(math.floor(safe.value)) if self.line.grows else "no growth"
        if safe.hi < largest:
            why = f"{self.words}: lower max_batch_size or instances, or give the server more memory"
            return Verdict("memory", self.server.name, subject, expected, measured, "", "fails", why)
        return Verdict("memory", self.server.name, subject, expected, measured, "", "holds", self.words)

    @property
    def row(self) -> dict[str, object]:
        """Of memory_fit.csv."""
        line, safe = self.line, self.safe
        ends = [
            (f"{name}{end}_bytes", getattr(getattr(line, name), field) if line else math.nan)
            for name in ("a", "b")
            for end, field in (("", "value"), ("_lo", "lo"), ("_hi", "hi"))
        ]
        return {
            "server": self.server.name,
            **dict(ends),
            "scatter_bytes": line.scatter if line else math.nan,
            "points": line.points if line else 0,
            "largest_batch": line.largest_x if line else math.nan,
            "limit_bytes": self.limit_bytes,
            "margin": MARGIN,
            "safe_batch": safe.value,
            "safe_batch_lo": safe.lo,
            "safe_batch_hi": safe.hi,
            "load_peak_bytes": self.load_peak_bytes,
            "out_of_memory_at": self.failed_at if self.failed_at is not None else math.nan,
            "words": self.words,
        }


def memory_use(
    server: Server, samples: pd.DataFrame, measured: pd.DataFrame, failed_at: int | None
) -> MemoryUse | None:
    """From one server's rows of calibration.csv and memory.csv; None where nothing is told."""
    read = fitting(measured, failed_at).dropna(subset=["batch_size", "rss_peak_bytes"])
    if read.empty and failed_at is None:
        return None
    sizes, peaks = (read[name].to_numpy(dtype=np.float64) for name in ("batch_size", "rss_peak_bytes"))
    line = fit_line(sizes, peaks) if len(sizes) >= FEWEST_POINTS and len(np.unique(sizes)) > 1 else None
    ran = fitting(samples, failed_at)["batch_size"].max()
    return MemoryUse(
        server,
        line,
        float(read["limit_bytes"].min()),  # what there was to be had when there was least
        float(read["load_peak_bytes"].max()),
        failed_at,
        0 if pd.isna(ran) else int(ran),
    )


def smallest_failed(failed: pd.DataFrame) -> int | None:
    """The smallest batch that did not fit into memory, of one server's rows."""
    sizes = failed["batch_size"].dropna()
    return None if sizes.empty else int(sizes.min())


def fitting(rows: pd.DataFrame, failed_at: int | None) -> pd.DataFrame:
    """Rows of batches below the one that did not fit: a size that fits now and then is not to be relied on."""
    return rows if failed_at is None else rows[rows["batch_size"] < failed_at]


def memory_table(uses: list[MemoryUse]) -> pd.DataFrame:
    """memory_fit.csv."""
    return pd.DataFrame([use.row for use in uses], columns=list(MEMORY_FIT_COLUMNS))


def _growth(line: LineFit) -> str:
    if not line.grows:
        typical = line.predict(line.largest_x)
        return (
            f"memory does not grow measurably with B up to {line.largest_x:g}: a process takes {_mb(typical)} MB, "
            f"one more request at most {_mb(max(line.b.hi, 0.0))} MB"
        )
    b = line.b
    return f"a process takes {_mb(line.a.value)} MB + {_mb(b.value)} MB·B [{_mb(b.lo)}, {_mb(b.hi)}]"


def _mb(count: float) -> str:
    """Three significant digits, in 10⁶ bytes."""
    return f"{count / MB:.3g}"


def _about(size: float) -> str:
    """Two significant digits, rounded down: no more is known of what was not measured."""
    step = 10 ** max(0, math.floor(math.log10(size)) - 1)
    return f"{math.floor(size / step) * step:d}"
