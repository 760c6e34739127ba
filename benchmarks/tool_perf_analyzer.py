"""Triton's perf_analyzer."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from benchmarks.cell import Cell
from benchmarks.latency import Latency
from benchmarks.null_model import MODEL
from benchmarks.tools import Told, nothing_to_read, requests


class PerfAnalyzer:
    """Its request-rate mode for a given number of requests, by default or with more options. It shows no maximum."""

    receiver = "benchmarks.receiver"

    def __init__(self, name: str, program: str, options: tuple[str, ...] = ()) -> None:
        self.name, self._program, self._options = name, program, options

    def command(self, cell: Cell, port: int, folder: Path) -> list[str]:
        return [
            self._program, "-m", MODEL, "-u", f"127.0.0.1:{port}", f"--request-rate-range={cell.rate_per_s:g}",
            f"--request-distribution={cell.arrivals}", f"--request-count={requests(cell)}", "--input-data=zero",
            "-f", str(folder / "perf_analyzer.csv"), *self._options,
        ]  # fmt: skip

    def told(self, cell: Cell, output: str, folder: Path) -> Told:
        try:
            row = next(csv.DictReader((folder / "perf_analyzer.csv").read_text().splitlines()))
            shown = Latency(float(row["p50 latency"]) / 1e6, float(row["p99 latency"]) / 1e6)
        except (OSError, StopIteration, KeyError, ValueError) as exc:
            raise nothing_to_read(self.name, output) from exc
        count = re.search(r"^ *Request count: (\d+)", output, re.MULTILINE)
        return Told(requests(cell), int(count[1]) if count else -1, latency=shown)
