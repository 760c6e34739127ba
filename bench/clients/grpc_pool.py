"""Channels to one method of one gRPC server, with the face of HttpPool: prebuilt message in, outcome out.

Message bytes go through as they are; nothing here knows of protobuf. grpc.aio runs on uvloop's loops as on
asyncio's, and does not survive a fork: processes that use it must be spawned.
"""

from __future__ import annotations

import asyncio
from itertools import cycle
from time import perf_counter_ns
from typing import Any

from grpc import ChannelConnectivity  # type: ignore[import-untyped]
from grpc.aio import AioRpcError, Channel, insecure_channel  # type: ignore[import-untyped]

from bench.clients import outcome as causes
from bench.clients.grpc_status import failed
from bench.clients.http_connection import Done
from bench.clients.outcome import Outcome, unanswered
from bench.errors import ServerError

# Asked on a channel that could not connect, for the reason why; no server minds the question.
_ASK_WHY = "/grpc.health.v1.Health/Check"
_NO_HEADERS: dict[str, str] = {}


class GrpcPool:
    """Calls `method` ('/package.Service/Method') on host:port; a request is never sent twice.

    Requests take turns on `channels` connections, since a server may limit the streams of one. `timeout_s` is
    each call's deadline, connecting included. Use from one event loop; `close` when done.
    """

    def __init__(
        self,
        host: str,
        port: int,
        method: str,
        *,
        timeout_s: float = 30.0,
        channels: int = 4,
        max_response_bytes: int = 1 << 26,
    ) -> None:
        self._target, self._method = f"{host}:{port}", method
        self._timeout_s = timeout_s
        self._count = channels
        self._max_response_bytes = max_response_bytes
        self._channels: list[Channel] = []  # made in the loop that uses them
        self._calls: Any = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self.in_flight = 0
        """Requests whose `done` has not been called."""

    async def open(self, n: int) -> None:
        """Have `n` channels connected, or all of them. Raises ServerError when the server does not take them."""
        self._start()
        found = await asyncio.gather(*(self._connected(channel) for channel in self._channels[:n]))
        why = [cause for cause in found if cause]
        if why:
            raise ServerError(
                f"{self._target}: expected to open {len(found)} gRPC channels, "
                f"found {len(found) - len(why)} open and then: {why[0]}"
            )

    def send(self, request: bytes, done: Done) -> None:
        """Hand `request` to the next channel; `done(outcome, sent_ns, completed_ns)` follows.

        `sent_ns` was taken right before gRPC was given the request, which it starts to write in the loop's next
        turn. `done` is called once, never from inside `send`, and must not raise. Raises RuntimeError after `close`.
        """
        if self._closed:
            raise RuntimeError("this GrpcPool is closed")
        if self._calls is None:
            self._start()
        self.in_flight += 1
        call = next(self._calls)
        sent_ns = perf_counter_ns()
        answer = call(request, timeout=self._timeout_s)
        task = asyncio.get_running_loop().create_task(self._finish(answer, done, sent_ns))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def request(self, request: bytes) -> Outcome:
        """Send one request and wait for its outcome."""
        answered: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

        def done(outcome: Outcome, _sent_ns: int, _completed_ns: int) -> None:
            if not answered.done():  # its waiter may have been cancelled
                answered.set_result(outcome)

        self.send(request, done)
        return await answered

    async def close(self) -> None:
        """Close every channel; requests in flight end with the cause 'pool closed'."""
        self._closed = True
        for channel in self._channels:
            await channel.close()
        await asyncio.gather(*self._tasks)

    # ---- own steps

    def _start(self) -> None:
        if self._channels:
            return
        options = [
            ("grpc.use_local_subchannel_pool", 1),  # channels with equal arguments would share one connection
            ("grpc.enable_retries", 0),
            ("grpc.enable_http_proxy", 0),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", self._max_response_bytes),
            # A server that is back is found within a second; the default grows to two minutes.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
        ]
        for i in range(self._count):
            self._channels.append(insecure_channel(self._target, options=[*options, ("serve_bench.channel", i)]))
        self._calls = cycle([channel.unary_unary(self._method) for channel in self._channels])

    async def _connected(self, channel: Channel) -> str:
        """Wait until the channel is connected; '' or the cause why it is not."""
        try:
            async with asyncio.timeout(self._timeout_s):
                state = channel.get_state(try_to_connect=True)
                while state is not ChannelConnectivity.READY:
                    if state is ChannelConnectivity.TRANSIENT_FAILURE:
                        return await self._why_not(channel)
                    await channel.wait_for_state_change(state)
                    state = channel.get_state(try_to_connect=True)
        except TimeoutError:
            return causes.TIMEOUT
        return ""

    async def _why_not(self, channel: Channel) -> str:
        cause = causes.CONNECTION_FAILED
        try:
            await channel.unary_unary(_ASK_WHY)(b"", timeout=self._timeout_s)
        except AioRpcError as error:
            cause = failed(error).cause
        return "" if channel.get_state() is ChannelConnectivity.READY else cause

    async def _finish(self, answer: Any, done: Done, sent_ns: int) -> None:
        try:
            body: bytes = await answer
            completed_ns = perf_counter_ns()
            outcome = Outcome(200, _NO_HEADERS, body, "")
        except AioRpcError as error:
            completed_ns = perf_counter_ns()
            outcome = failed(error)
        except asyncio.CancelledError:
            completed_ns = perf_counter_ns()
            outcome = unanswered(causes.POOL_CLOSED)
        self.in_flight -= 1
        done(outcome, sent_ns, completed_ns)
