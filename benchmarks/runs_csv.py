"""Every run as a line of CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from benchmarks.figures import Figures
from benchmarks.latency import Latency

GAPS = ("send_gaps", "send_gaps_beyond", "planned_gaps", "arrival_gaps")


def as_csv(runs: Sequence[Figures]) -> str:
    """One line a run, in seconds, bytes and requests per second; empty where not measured."""
    text = io.StringIO()
    lines = [_line(run) for run in runs]
    writer = csv.DictWriter(text, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _line(run: Figures) -> dict[str, object]:
    cell = run.cell
    line: dict[str, object] = {
        "purpose": cell.purpose, "tool": cell.tool, "arrivals": cell.arrivals, "cv": cell.cv,
        "asked_per_s": cell.rate_per_s, "seconds": cell.seconds, "seed": cell.seed, "repeat": cell.repeat,
        "load_average": run.load_average, "others_cores": run.others_cores,
        "planned": run.planned, "arrived": run.arrived, "ok": run.ok,
        "failed": run.failed, "achieved_per_s": run.achieved_per_s, "rate_error": run.rate_error,
        "delay_p50_s": run.delay_p50_s, "delay_p99_s": run.delay_p99_s, "delay_max_s": run.delay_max_s,
        "cpu_per_request_s": run.cpu_s, "receiver_cpu_per_request_s": run.receiver_cpu_s,
    }  # fmt: skip
    for name in GAPS:
        found = getattr(run, name)
        line |= {f"{name}_ks": found.d, f"{name}_p": found.p_value, f"{name}_n": found.gaps or ""}
    line |= {
        "shortest_gap_s": run.shortest_gap_s,
        "sends_within": run.sends_within,
        "arrivals_within": run.arrivals_within,
    }
    line |= _latency("", run.latency) | _latency("from_send_", run.from_send)
    line |= _latency("expected_in_turn_", run.expected.in_turn) | _latency("expected_at_once_", run.expected.at_once)
    line |= {
        "backlog_s": run.expected.backlog_s or "",
        "resident_early_bytes": run.resident.early_bytes or "",
        "resident_most_bytes": run.resident.most_bytes or "",
        "peak_bytes": run.peak_bytes or "",
        "problem": run.problem,
    }
    return {name: "" if isinstance(value, float) and math.isnan(value) else value for name, value in line.items()}


def _latency(prefix: str, told: Latency) -> dict[str, object]:
    return {f"{prefix}p50_s": told.p50_s, f"{prefix}p99_s": told.p99_s, f"{prefix}max_s": told.max_s}
