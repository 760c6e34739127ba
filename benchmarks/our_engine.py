"""One run of the load engine against a receiver, in a process of its own, wired as a load point is.

Prints what became of the requests as a line of JSON and leaves scheduled, sent and completed times
(int64 nanoseconds from the run's start, -1 where it never happened) in an .npz file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

import numpy as np
import uvloop

from bench.clients import PROTOCOLS
from bench.experiments.sending import CONNECTIONS_AHEAD, Sending
from bench.load import arrivals
from bench.load.dispatch import replay
from bench.load.recorder import Recorder
from bench.load.workers import replay_in_workers
from benchmarks.memory import own_peak_bytes
from benchmarks.null_model import INPUT, MODEL, OUTPUT, row
from benchmarks.tools import TIMEOUT_S

HOST = "127.0.0.1"


def offsets(kind: str, rate_per_s: float, seconds: float, seed: int, cv: float) -> np.ndarray:
    parameters = {"cv": cv} if kind == "gamma" else {}
    return arrivals.schedule(kind, rate_per_s, seconds, seed, parameters)


def sending(port: int, protocol: str, count: int, connections: int) -> Sending:
    """The one request, `count` times."""
    client = PROTOCOLS["triton"][protocol].client(HOST, port, INPUT, OUTPUT)
    order = np.zeros(count, dtype=np.uint32)
    return Sending("triton", protocol, HOST, port, (client.request(MODEL, row()),), order, TIMEOUT_S, connections)


async def run(to: Sending, recorder: Recorder, workers: int) -> None:
    """In this process for one worker, else in that many others."""
    planned_ns, drain_s = recorder.offsets_ns, 2 * TIMEOUT_S
    if workers > 1:
        await replay_in_workers(planned_ns, to.open, workers, drain_timeout_s=drain_s, recorder=recorder)
        return
    async with to.open(range(len(planned_ns))) as send:
        await replay(planned_ns, send, drain_timeout_s=drain_s, recorder=recorder)


def rows_of_tables(recorder: Recorder) -> int:
    """Make what the product makes of a run; its number of rows."""
    from bench.experiments.open_loop import measured  # pandas takes half a second to import, and few runs need it

    rows, _generator, _offered = measured(recorder)
    return len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--protocol", choices=tuple(PROTOCOLS["triton"]), default="http")
    parser.add_argument("--arrivals", default="poisson")
    parser.add_argument("--cv", type=float, default=1.0)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--tables", action="store_true", help="also make the product's tables of it")
    parser.add_argument("--connections", type=int, default=CONNECTIONS_AHEAD, help="opened before the load")
    asked = parser.parse_args()
    recorder = Recorder(offsets(asked.arrivals, asked.rate, asked.seconds, asked.seed, asked.cv))
    to = sending(asked.port, asked.protocol, len(recorder.offsets_ns), asked.connections)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(to, recorder, asked.workers))
    rows = rows_of_tables(recorder) if asked.tables else 0
    peak_bytes = own_peak_bytes()
    records = recorder.records()
    np.savez(asked.out, scheduled_ns=records.scheduled_ns, sent_ns=records.sent_ns, completed_ns=records.completed_ns)
    went = records.accounting()
    told = {
        "scheduled": went.scheduled, "sent": went.sent, "ok": went.ok,
        "start_ns": recorder.start_ns, "rows": rows, "peak_bytes": peak_bytes,
    }  # fmt: skip
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
