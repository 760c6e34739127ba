"""A server that hangs is noticed while an experiment waits for it, whatever the experiment's own patience."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from bench.errors import ServerError
from bench.servers.server import RunningServer

T = TypeVar("T")

LOOK_S = 5.0  # seldom enough that no measurement feels it
AGAIN_S = 0.5
PATIENCE_S = 4.0
SILENT_LOOKS = 2  # one may fall into a pause of the machine


async def watched(server: RunningServer, experiment: Awaitable[T]) -> T:
    """The experiment's result. Raises ServerError, and cancels the experiment, when the server's health is not told
    twice in a row within 4 s each."""
    task = asyncio.ensure_future(experiment)
    silent = 0
    try:
        while True:
            done, _ = await asyncio.wait({task}, timeout=LOOK_S if silent == 0 else AGAIN_S)
            if done:
                return task.result()
            silent = 0 if await asyncio.to_thread(server.is_live, PATIENCE_S) else silent + 1
            if silent == SILENT_LOOKS and not task.done():
                server.check_alive()
                raise ServerError(
                    f"{server.spec.name}: the server hangs: it has told nothing of its health for "
                    f"{LOOK_S + SILENT_LOOKS * PATIENCE_S:.0f} s. Full log: {server.process.log}",
                    server.process.log_tail(),
                )
    finally:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
