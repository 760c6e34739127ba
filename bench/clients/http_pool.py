"""Keep-alive connections to one server, as many as there are requests in flight.

Nothing here limits concurrency: a bound would delay requests out of sight and close an open loop. The engine
that dispatches them has its own cap, and counts what that drops.
"""

from __future__ import annotations

import asyncio
import errno
import resource
from collections import deque
from contextlib import suppress
from time import perf_counter_ns

from bench.clients import outcome as causes
from bench.clients.http_connection import Connection, Done, Head
from bench.clients.outcome import Outcome, unanswered
from bench.errors import ServerError

SWEEP_S = 0.05
# Connects under way: below a listen backlog of 128, past which each waits a second for its retry. It also keeps
# an overload from being spent on connects, where a released connection would have served.
OPENED_AT_ONCE = 64


class HttpPool:
    """Sends prebuilt HTTP/1.1 requests to host:port and tells what came back; a request is never sent twice.

    `timeout_s` bounds the wait for a whole answer from the write on, and the wait for a new connection before
    it. It is looked at every 50 ms, so a timeout is told up to 50 ms late. Use from one event loop; `close`
    when done.
    """

    def __init__(self, host: str, port: int, *, timeout_s: float = 30.0, max_response_bytes: int = 1 << 26) -> None:
        self.max_response_bytes = max_response_bytes
        self.heads: dict[bytes, Head] = {}
        self._host, self._port = host, port
        self._timeout_ns = int(timeout_s * 1e9)
        self._idle: list[Connection] = []
        # Both in the order of sending, and all timeouts are equal: the sweep looks only at the first ones.
        self._busy: dict[Connection, None] = {}
        self._waiting: deque[tuple[bytes, Done, int]] = deque()
        self._connections: set[Connection] = set()
        self._connects: set[asyncio.Task[str]] = set()
        self._connecting = 0
        self._sweeper: asyncio.TimerHandle | None = None
        self._emptied: asyncio.Event | None = None

    @property
    def in_flight(self) -> int:
        """Requests whose `done` has not been called, those that wait for a connection included."""
        return len(self._busy) + len(self._waiting)

    async def open(self, n: int) -> None:
        """Have at least `n` connections open. Raises ServerError when the server does not take them."""
        _allow_open_files()
        for missing in range(n - len(self._connections), 0, -OPENED_AT_ONCE):
            share = min(OPENED_AT_ONCE, missing)
            for cause in await asyncio.gather(*(self._connect() for _ in range(share))):
                if cause:
                    raise ServerError(
                        f"{self._host}:{self._port}: expected to open {n} connections, "
                        f"found {len(self._connections)} open and then: {cause}"
                    )

    def send(self, request: bytes, done: Done) -> None:
        """Write `request` on an idle connection or a new one; `done(outcome, sent_ns, completed_ns)` follows.

        `sent_ns` was taken right before the write (for a request that never got a connection: when it was
        asked for), `completed_ns` when the answer was whole or given up. `done` is called once, never from
        inside `send`, and must not raise. Raises RuntimeError after `close`.
        """
        if self._emptied is not None:
            raise RuntimeError("this HttpPool is closed")
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep)
        while self._idle:
            connection = self._idle.pop()
            if not connection.closing():
                self._busy[connection] = None
                connection.start(request, done)
                return
        self._waiting.append((request, done, perf_counter_ns()))
        self._connect_for_waiting()

    async def request(self, request: bytes) -> Outcome:
        """Send one request and wait for its outcome."""
        answered: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

        def done(outcome: Outcome, _sent_ns: int, _completed_ns: int) -> None:
            if not answered.done():  # its waiter may have been cancelled
                answered.set_result(outcome)

        self.send(request, done)
        return await answered

    async def close(self) -> None:
        """Close every connection; requests in flight end with the cause 'pool closed'."""
        if self._emptied is None:
            self._emptied = asyncio.Event()
            if self._sweeper is not None:
                self._sweeper.cancel()
            for task in self._connects:
                task.cancel()
            while self._waiting:
                self._give_up_waiting(causes.POOL_CLOSED)
            for connection in tuple(self._connections):
                connection.fail(causes.POOL_CLOSED)
        await asyncio.gather(*self._connects, return_exceptions=True)
        if self._connections:
            await self._emptied.wait()

    # ---- what a connection calls

    def opened(self, connection: Connection) -> None:
        self._connecting -= 1
        if self._emptied is None:
            self._connections.add(connection)
            self._offer(connection)
        else:
            connection.fail(causes.POOL_CLOSED)

    def released(self, connection: Connection, reusable: bool) -> None:
        del self._busy[connection]
        if reusable and not connection.closing():
            self._offer(connection)

    def lost(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        if self._emptied is not None and not self._connections:
            self._emptied.set()

    # ---- own steps

    def _offer(self, connection: Connection) -> None:
        if self._waiting:
            request, done, _asked_ns = self._waiting.popleft()
            self._busy[connection] = None
            connection.start(request, done)
        else:
            self._idle.append(connection)

    def _connect_for_waiting(self) -> None:
        while self._connecting < min(len(self._waiting), OPENED_AT_ONCE):
            self._connect()

    def _connect(self) -> asyncio.Task[str]:
        self._connecting += 1
        task = asyncio.get_running_loop().create_task(self._open_one())
        self._connects.add(task)
        task.add_done_callback(self._connects.discard)
        return task

    async def _open_one(self) -> str:
        """Open one connection; '' or the cause why not, which also ends a request that counted on it."""
        cause = ""
        connection = Connection(self)
        try:
            loop = asyncio.get_running_loop()
            await loop.create_connection(lambda: connection, self._host, self._port)
        except asyncio.CancelledError:
            # uvloop drops a connection that was made a moment ago without calling its connection_lost.
            self.lost(connection)
            raise
        except OSError as exc:
            cause = _cause(exc)
            self._connecting -= 1
            # A released connection may have served the request for which this one was to be opened.
            if len(self._waiting) > self._connecting:
                self._give_up_waiting(cause)
        self._connect_for_waiting()
        return cause

    def _give_up_waiting(self, cause: str) -> None:
        _request, done, asked_ns = self._waiting.popleft()
        done(unanswered(cause), asked_ns, perf_counter_ns())

    def _sweep(self) -> None:
        oldest = perf_counter_ns() - self._timeout_ns
        while self._busy:
            connection = next(iter(self._busy))
            if connection.sent_ns > oldest:
                break
            connection.fail(causes.TIMEOUT)
        while self._waiting and self._waiting[0][2] <= oldest:
            self._give_up_waiting(causes.TIMEOUT)
        self._sweeper = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep)


def _cause(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return causes.CONNECTION_REFUSED
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return causes.NO_DESCRIPTORS
    return causes.TIMEOUT if isinstance(error, TimeoutError) else causes.CONNECTION_FAILED


def _allow_open_files() -> None:
    """Lift the soft limit of open files, often 1024, to the hard one: each request in flight has a socket."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with suppress(OSError, ValueError):  # macOS refuses its own unlimited hard limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
