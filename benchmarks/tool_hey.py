"""hey: workers that each wait for an answer before they send again."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from benchmarks.cell import Cell
from benchmarks.latency import latency
from benchmarks.null_model import http_request
from benchmarks.tools import TIMEOUT_S, Told, nothing_to_read

WORKERS = 10


class Hey:
    """A closed loop at a constant rate, shared out among ten workers, that ends by the clock.

    A worker drops the ticks that pass while it waits. Requests without any answer are not in what it writes.
    """

    receiver = "benchmarks.receiver"

    def __init__(self, name: str, program: str) -> None:
        self.name, self._program = name, program

    def command(self, cell: Cell, port: int, folder: Path) -> list[str]:
        request = http_request()
        body = folder / "body"
        body.write_bytes(request.body)
        kind = request.headers["Content-Type"]
        others = [f"{name}: {value}" for name, value in request.headers.items() if name != "Content-Type"]
        return [
            self._program, "-z", f"{cell.seconds:g}s", "-c", str(WORKERS), "-q", f"{cell.rate_per_s / WORKERS:g}",
            "-t", f"{TIMEOUT_S:.0f}", "-m", "POST", "-D", str(body), "-T", kind,
            *(part for header in others for part in ("-H", header)),
            "-o", "csv", f"http://127.0.0.1:{port}{request.path}",
        ]  # fmt: skip

    def told(self, _cell: Cell, output: str, _folder: Path) -> Told:
        """Latencies are of the requests that were answered, in seconds to four decimals as it writes them."""
        lines = output.splitlines()
        start = next((at for at, line in enumerate(lines) if line.startswith("response-time,")), len(lines))
        try:
            answers = [(float(row["response-time"]), row["status-code"]) for row in csv.DictReader(lines[start:])]
        except (KeyError, ValueError, TypeError) as exc:
            raise nothing_to_read(self.name, output) from exc
        if not answers:
            raise nothing_to_read(self.name, output)
        seconds = np.array([spent for spent, _ in answers])
        return Told(len(answers), sum(status == "200" for _, status in answers), latency=latency(seconds))
