"""The load engine as the product wires it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.cell import Cell
from benchmarks.latency import latency
from benchmarks.names import FREEZE
from benchmarks.tools import Told, nothing_to_read

FROZEN_CONNECTIONS = 640
RECEIVERS = {"http": "benchmarks.receiver", "grpc": "benchmarks.grpc_receiver"}


class ServeBench:
    """With as many worker processes as asked, over HTTP or gRPC, to its records or on to the product's tables."""

    def __init__(self, name: str, *, workers: int = 1, protocol: str = "http", tables: bool = False) -> None:
        self.name, self.receiver = name, RECEIVERS[protocol]
        self._options = [f"--workers={workers}", f"--protocol={protocol}", *(["--tables"] if tables else [])]

    def command(self, cell: Cell, port: int, folder: Path) -> list[str]:
        return [
            sys.executable, "-m", "benchmarks.our_engine", str(port), str(folder / "times.npz"),
            f"--arrivals={cell.arrivals}", f"--cv={cell.cv:g}", f"--rate={cell.rate_per_s:g}",
            f"--seconds={cell.seconds:g}", f"--seed={cell.seed}", *self._options,
            # All that waits in the freeze has a connection before it, so that the receiver need not accept them after.
            *([f"--connections={FROZEN_CONNECTIONS}"] if cell.purpose == FREEZE else []),
        ]  # fmt: skip

    def told(self, _cell: Cell, output: str, folder: Path) -> Told:
        try:
            counts = json.loads(output.strip().splitlines()[-1])
            with np.load(folder / "times.npz") as times:
                scheduled, sent, completed = (times[name] for name in ("scheduled_ns", "sent_ns", "completed_ns"))
            said = Told(counts["scheduled"], counts["ok"], counts["start_ns"], peak_bytes=counts["peak_bytes"])
        except (OSError, ValueError, IndexError, KeyError, TypeError) as exc:
            raise nothing_to_read(self.name, output) from exc
        done = completed >= 0
        return Told(
            said.planned,
            said.ok,
            said.start_ns,
            scheduled,
            sent,
            latency((completed - scheduled)[done] / 1e9),
            latency((completed - sent)[done] / 1e9),
            said.peak_bytes,
        )
