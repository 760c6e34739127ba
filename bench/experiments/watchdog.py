"""A server that hangs is noticed while somebody waits for it, whatever the patience of what is asked of it."""

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


class Health:
    """What a server told of itself: `silent` counts the looks in a row in which it told nothing within 4 s."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self.silent = 0

    def ask(self) -> None:
        self.silent = 0 if self._server.is_live(PATIENCE_S) else self.silent + 1

    def check(self) -> None:
        """Raises ServerError, with the log's tail, when it was silent twice in a row, or has died."""
        if self.silent < SILENT_LOOKS:
            return
        self._server.check_alive()
        name, process = self._server.spec.name, self._server.process
        raise ServerError(
            f"{name}: the server hangs: it has told nothing of its health for "
            f"{LOOK_S + SILENT_LOOKS * PATIENCE_S:.0f} s. Full log: {process.log}",
            process.log_tail(),
        )


async def watched(server: RunningServer, experiment: Awaitable[T]) -> T:
    """The experiment's result. Raises as `Health.check` does, and cancels the experiment then."""
    task, health = asyncio.ensure_future(experiment), Health(server)
    try:
        while True:
            done, _ = await asyncio.wait({task}, timeout=AGAIN_S if health.silent else LOOK_S)
            if done:
                return task.result()
            await asyncio.to_thread(health.ask)
            if not task.done():
                health.check()
    finally:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
