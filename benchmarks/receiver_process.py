"""The life of a receiver's process, whichever protocol it answers.

It prints `{"port": …}`, serves until its standard input ends or SIGTERM comes, then writes its log. A process of its
own, so that its CPU is apart from the generator's.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import uvloop

from benchmarks.arrival_log import ArrivalLog

Serving = Callable[[ArrivalLog], AbstractAsyncContextManager[int]]
"""Listens while its block lasts, and gives the port."""


def run_receiver(serving: Serving, description: str | None) -> None:
    """Parse the command line, serve, and leave the log behind."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("out", type=Path, help="file for the arrival times")
    parser.add_argument("--freeze-after-s", type=float, default=0.0, help="from the first inference request on")
    parser.add_argument("--freeze-s", type=float, default=0.0)
    parser.add_argument("--poll", action="store_true", help="never sleep: a core is busy, and no wake-up is in the log")
    asked = parser.parse_args()
    log = ArrivalLog(freeze_after_s=asked.freeze_after_s, freeze_s=asked.freeze_s)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(serving, log, asked.poll))
    log.write(asked.out)


async def _serve(serving: Serving, log: ArrivalLog, poll: bool) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, ended.set)
    await loop.connect_read_pipe(lambda: _Lifeline(ended), sys.stdin)
    async with serving(log) as port:
        sys.stdout.write(json.dumps({"port": port}) + "\n")
        sys.stdout.flush()
        gc.freeze()
        gc.disable()
        while poll and not ended.is_set():
            await asyncio.sleep(0)  # the loop then looks at its sockets without waiting
        await ended.wait()


class _Lifeline(asyncio.Protocol):
    """Standard input, which ends with the process that holds its other end, however that ends."""

    def __init__(self, ended: asyncio.Event) -> None:
        self._ended = ended

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set()
