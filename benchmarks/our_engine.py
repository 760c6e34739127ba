"""One run of the load engine against a receiver, in a process of its own, wired as a load point is.

Prints what became of the requests as a line of JSON and leaves scheduled, sent and completed times
(int64 nanoseconds from the run's start, -1 where it never happened) in an .npz file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import uvloop

from bench.clients import HttpPool
from bench.clients.outcome import Outcome
from bench.clients.triton_http import infer_request
from bench.load import arrivals
from bench.load.dispatch import DoneFn, SendFn, replay
from bench.load.records import Records
from bench.load.workers import replay_in_workers
from benchmarks.receiver import INPUT, MODEL, OUTPUT, WIDTH

CONNECTIONS_AHEAD = 32
PAYLOADS = 64
TIMEOUT_S = 5.0


def offsets(kind: str, rate_per_s: float, seconds: float, seed: int, cv: float) -> np.ndarray:
    parameters = {"cv": cv} if kind == "gamma" else {}
    return arrivals.schedule(kind, rate_per_s, seconds, seed, parameters)


@dataclass(frozen=True, slots=True)
class Sender:
    """Opens a pool against the receiver in the process that sends; 64 payloads in turn."""

    port: int

    @asynccontextmanager
    async def __call__(self, _share: range) -> AsyncIterator[SendFn]:
        host = f"127.0.0.1:{self.port}"
        values = np.random.default_rng(0).random((PAYLOADS, 1, WIDTH), dtype=np.float32)
        requests = [infer_request(MODEL, {INPUT: row}, [OUTPUT], host) for row in values]
        pool = HttpPool("127.0.0.1", self.port, timeout_s=TIMEOUT_S)

        def send(index: int, done: DoneFn) -> None:
            def told(outcome: Outcome, sent_ns: int, completed_ns: int) -> None:
                done(outcome.status, sent_ns, completed_ns, 0, -1, outcome.cause)

            pool.send(requests[index % PAYLOADS], told)

        try:
            await pool.open(CONNECTIONS_AHEAD)
            yield send
        finally:
            await pool.close()


async def run(port: int, planned_ns: np.ndarray, workers: int) -> Records:
    """In this process for one worker, else in that many others."""
    if workers > 1:
        return await replay_in_workers(planned_ns, Sender(port), workers, drain_timeout_s=2 * TIMEOUT_S)
    async with Sender(port)(range(len(planned_ns))) as send:
        return await replay(planned_ns, send, drain_timeout_s=2 * TIMEOUT_S)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--arrivals", default="poisson")
    parser.add_argument("--cv", type=float, default=1.0)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    planned = offsets(asked.arrivals, asked.rate, asked.seconds, asked.seed, asked.cv)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        records = runner.run(run(asked.port, planned, asked.workers))
    np.savez(asked.out, scheduled_ns=records.scheduled_ns, sent_ns=records.sent_ns, completed_ns=records.completed_ns)
    went = records.accounting()
    told = {"scheduled": went.scheduled, "sent": went.sent, "ok": went.ok}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
