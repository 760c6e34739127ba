"""One keep-alive HTTP/1.1 connection: a request's bytes out, an outcome back, one at a time."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Protocol, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from bench.clients import outcome as causes
from bench.clients.outcome import Outcome, unanswered

# Heads that the parser need not read again: 5 of 12 µs of user time a request. More than these differ anyway, as
# those with an id for each request do.
HEADS_KEPT = 64

Done = Callable[[Outcome, int, int], None]
"""(outcome, sent, completed), both in nanoseconds of `time.perf_counter_ns`."""


@dataclass(frozen=True, slots=True)
class Head:
    """What the parser made of an answer's head, for the next answer that has the very same bytes."""

    status: int
    headers: dict[str, str]
    cause: str
    whole: int
    """Bytes of head and body together."""


class Owner(Protocol):
    """Who keeps the connections, and hears of each change of one."""

    max_response_bytes: int
    heads: dict[bytes, Head]

    def opened(self, connection: Connection) -> None: ...
    def released(self, connection: Connection, reusable: bool) -> None: ...
    def lost(self, connection: Connection) -> None: ...


class Connection(asyncio.Protocol):
    """Sends one request at a time and calls its `done` once, whatever the server does."""

    __slots__ = (
        "_body", "_done", "_headers", "_keep", "_outcome", "_owner", "_parser", "_received", "_status",
        "_surplus", "_transport", "_until_close", "completed_ns", "sent_ns",
    )  # fmt: skip

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._done: Done | None = None
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._outcome: Outcome | None = None
        self._received = 0
        self._status = 0
        self._keep = self._surplus = self._until_close = False
        self.sent_ns = self.completed_ns = 0

    # ---- what the owner calls

    def start(self, request: bytes, done: Done) -> None:
        self._done = done
        self._outcome = None
        self._received = self._status = 0
        self._until_close = False
        self.sent_ns = perf_counter_ns()
        self._transport.write(request)

    def fail(self, cause: str) -> None:
        """Give up the request in flight, if any, and the connection with it."""
        self._transport.abort()
        if self._done is not None:
            self.completed_ns = perf_counter_ns()
            self._finish(unanswered(cause), reusable=False)

    def closing(self) -> bool:
        return self._transport.is_closing()

    # ---- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        # uvloop holds writes back until the loop's iteration ends, unless the buffer is over its limit: with
        # a limit of 0 the bytes leave inside write(), right after sent_ns was taken.
        self._transport.set_write_buffer_limits(high=0)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._parser = HttpResponseParser(self)
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        if self._done is None:  # an answer that nobody asked for would be taken for the next request's
            self._transport.abort()
            return
        if not self._received:
            # Most answers come in one piece, under a head that the parser has read before.
            at = data.find(b"\r\n\r\n") + 4
            head = self._owner.heads.get(data[:at])
            if head is not None and head.whole == len(data):
                self.completed_ns = perf_counter_ns()
                self._finish(Outcome(head.status, head.headers, data[at:], head.cause), reusable=True)
                return
        first = not self._received
        self._received += len(data)
        malformed = False
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):  # nobody asked for another protocol
            malformed = True
        # `done` may send again at once, so it is called when the parser is through with `data`, never in a
        # callback of the parser (which would also wrap its exceptions).
        if self._received > self._owner.max_response_bytes:
            self.fail(causes.TOO_LARGE)
        elif self._outcome is not None:
            if first and self._keep and not self._surplus and not malformed:
                self._remember(data, self._outcome)
            self._finish(self._outcome, reusable=self._keep and not self._surplus and not malformed)
        elif malformed:
            self.fail(causes.MALFORMED)

    def _remember(self, data: bytes, outcome: Outcome) -> None:
        """Keep the head of an answer that came in one piece, so that the next like it needs no parser."""
        heads, at = self._owner.heads, data.find(b"\r\n\r\n") + 4
        length = outcome.headers.get("content-length")
        if len(heads) < HEADS_KEPT and length == str(len(data) - at) and "transfer-encoding" not in outcome.headers:
            heads[data[:at]] = Head(outcome.status, outcome.headers, outcome.cause, len(data))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._done is not None:
            self.completed_ns = perf_counter_ns()
            if self._until_close and exc is None:
                self._finish(self._answer(), reusable=False)
            else:
                self._finish(
                    unanswered(causes.CUT_SHORT if self._received else causes.CONNECTION_CLOSED),
                    reusable=False,
                )
        # The parser holds this object's methods: a cycle, and the collector is off during a run.
        del self._parser
        self._owner.lost(self)

    # ---- what the parser calls

    def on_message_begin(self) -> None:
        self._surplus = self._outcome is not None
        self._headers = {}
        self._body = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        self._until_close = (
            self._status >= 200 and "content-length" not in self._headers and "transfer-encoding" not in self._headers
        )

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._status < 200:  # 100 Continue and its like come before the answer
            return
        if self._outcome is None:
            self.completed_ns = perf_counter_ns()
            self._keep = self._parser.should_keep_alive()
            self._outcome = self._answer()

    def _answer(self) -> Outcome:
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        return Outcome(self._status, self._headers, body, "" if self._status == 200 else f"HTTP {self._status}")

    def _finish(self, outcome: Outcome, reusable: bool) -> None:
        done, self._done, self._outcome = self._done, None, None
        sent_ns, completed_ns = self.sent_ns, self.completed_ns  # `done` may reuse this connection
        if not reusable:
            self._transport.abort()
        self._owner.released(self, reusable)
        if done is not None:
            done(outcome, sent_ns, completed_ns)
