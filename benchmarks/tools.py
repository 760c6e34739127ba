"""The generators: how each is started for a run, and what it says of it."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from bench.clients.triton_http import infer_request
from bench.errors import MeasurementInvalid
from benchmarks.our_engine import TIMEOUT_S
from benchmarks.plan import Cell
from benchmarks.receiver import INPUT, MODEL, OUTPUT, WIDTH

NO_TIMES = np.zeros(0, dtype=np.int64)
WRK_CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool says of its run. Times are int64 nanoseconds from its start, -1 where it never happened.

    `planned` and `ok` are counts, -1 where the tool does not say. `p50_s`, `p99_s` and `max_s` are the latencies
    that the tool shows; of ours from the schedule, and `send_p99_s` beside them from the send.
    """

    planned: int = -1
    ok: int = -1
    scheduled_ns: np.ndarray = field(default_factory=lambda: NO_TIMES)
    sent_ns: np.ndarray = field(default_factory=lambda: NO_TIMES)
    p50_s: float = math.nan
    p99_s: float = math.nan
    max_s: float = math.nan
    send_p99_s: float = math.nan


class Tool(Protocol):
    name: str

    def command(self, cell: Cell, port: int, folder: Path) -> list[str]: ...

    def told(self, cell: Cell, output: str, folder: Path) -> Told:
        """Raises MeasurementInvalid when the run left nothing to read."""
        ...


class Ours:
    """The engine as the product wires it, with as many worker processes as asked."""

    def __init__(self, name: str, workers: int = 1) -> None:
        self.name, self._workers = name, workers

    def command(self, cell: Cell, port: int, folder: Path) -> list[str]:
        return [
            sys.executable, "-m", "benchmarks.our_engine", str(port), str(folder / "times.npz"),
            f"--arrivals={cell.arrivals}", f"--cv={cell.cv:g}", f"--rate={cell.rate_per_s:g}",
            f"--seconds={cell.seconds:g}", f"--seed={cell.seed}", f"--workers={self._workers}",
        ]  # fmt: skip

    def told(self, cell: Cell, output: str, folder: Path) -> Told:
        try:
            counts = json.loads(output.strip().splitlines()[-1])
            with np.load(folder / "times.npz") as times:
                scheduled, sent, completed = (times[name] for name in ("scheduled_ns", "sent_ns", "completed_ns"))
        except (OSError, ValueError, IndexError) as exc:
            raise _nothing_to_read(self.name, output) from exc
        done = completed >= 0
        response, trip = (completed - scheduled)[done] / 1e9, (completed - sent)[done] / 1e9
        p50, p99, longest = np.percentile(response, (50, 99, 100)) if done.any() else (math.nan,) * 3
        send_p99 = float(np.percentile(trip, 99)) if done.any() else math.nan
        return Told(counts["scheduled"], counts["ok"], scheduled, sent, p50, p99, longest, send_p99)


class PerfAnalyzer:
    """Its request-rate mode for a given number of requests, by default or with more options."""

    def __init__(self, name: str, program: str, options: tuple[str, ...] = ()) -> None:
        self.name, self._program, self._options = name, program, options

    def command(self, cell: Cell, port: int, folder: Path) -> list[str]:
        return [
            self._program, "-m", MODEL, "-u", f"127.0.0.1:{port}", f"--request-rate-range={cell.rate_per_s:g}",
            f"--request-distribution={cell.arrivals}", f"--request-count={_requests(cell)}",
            "-f", str(folder / "perf_analyzer.csv"), *self._options,
        ]  # fmt: skip

    def told(self, cell: Cell, output: str, folder: Path) -> Told:
        try:
            row = next(csv.DictReader((folder / "perf_analyzer.csv").read_text().splitlines()))
            p50_s, p99_s = float(row["p50 latency"]) / 1e6, float(row["p99 latency"]) / 1e6
        except (OSError, StopIteration, KeyError, ValueError) as exc:
            raise _nothing_to_read(self.name, output) from exc
        count = re.search(r"^ *Request count: (\d+)", output, re.MULTILINE)
        return Told(_requests(cell), int(count[1]) if count else -1, p50_s=p50_s, p99_s=p99_s)


class Wrk:
    """A closed loop: it says only how much the receiver can take."""

    name = "wrk"

    def __init__(self, program: str) -> None:
        self._program = program

    def command(self, cell: Cell, port: int, folder: Path) -> list[str]:
        host = f"127.0.0.1:{port}"
        request = infer_request(MODEL, {INPUT: np.zeros((1, WIDTH), np.float32)}, [OUTPUT], host)
        (folder / "request.lua").write_text(lua(request))
        url = f"http://{host}/v2/models/{MODEL}/infer"
        options = [
            "-t1",
            f"-c{WRK_CONNECTIONS}",
            f"-d{math.ceil(cell.seconds)}s",
            "--latency",
            "-s",
            str(folder / "request.lua"),
        ]
        return [self._program, *options, url]

    def told(self, cell: Cell, output: str, folder: Path) -> Told:
        done = re.search(r"(\d+) requests in ", output)
        if done is None:
            raise _nothing_to_read(self.name, output)
        errors = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
        return Told(-1, int(done[1]) - (int(errors[1]) if errors else 0))


def lua(request: bytes) -> str:
    """A wrk script that always sends these bytes."""
    escaped = "".join(f"\\{byte:03d}" for byte in request)
    return f'request = function() return "{escaped}" end\n'


def limit_s(cell: Cell) -> float:
    """How long a run may take before it is killed: twice what was asked, and its start and its drain."""
    return 2 * cell.seconds + 3 * TIMEOUT_S


def _requests(cell: Cell) -> int:
    return math.ceil(cell.rate_per_s * cell.seconds)


def _nothing_to_read(name: str, output: str) -> MeasurementInvalid:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search("error|fail|exception", line, re.IGNORECASE)] or lines
    return MeasurementInvalid(f"{name}: no result; it said: {(telling or ['nothing'])[-1][:200]}")
