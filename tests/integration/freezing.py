"""A server of as little as can be that stands still once and then answers, at one stroke, all that has piled up."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import stubs


class Freezing:
    """Answers at once, but for one sleep of its only thread for `frozen_s` after `at` requests.

    Its times are those of `perf_counter`, one clock for all processes of the machine: `received_s` and `answered_s` of
    each request, `began_s` of the sleep, and `ended_s`, when the first of those that waited was about to be answered.
    """

    def __init__(self, at: int, frozen_s: float) -> None:
        self.at, self.frozen_s = at, frozen_s
        self.received_s: list[float] = []
        self.answered_s: list[float] = []
        self.began_s = self.ended_s = 0.0
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self._listening.setblocking(False)
        self.port = self._listening.getsockname()[1]
        self._open: dict[int, socket.socket] = {}
        self._ends = False

    @contextmanager
    def serving(self) -> Iterator[None]:
        thread = threading.Thread(target=self._serve, name="freezing server", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ends = True
            thread.join(5)
            for each in (self._listening, *self._open.values()):
                each.close()

    def _serve(self) -> None:
        with select.epoll() as ready:
            ready.register(self._listening, select.EPOLLIN)
            while not self._ends:
                ready.poll(0.1)
                if len(self.received_s) < self.at or self.began_s:
                    self._answer(self._asking(ready))
                    continue
                self.began_s = time.perf_counter()
                time.sleep(self.frozen_s)
                asking = self._asking(ready)
                self.ended_s = time.perf_counter()
                self._answer(asking)

    def _asking(self, ready: select.epoll) -> list[socket.socket]:
        """Those with a request that waits, new ones too."""
        with suppress(BlockingIOError):
            while True:
                connection, _ = self._listening.accept()
                self._open[connection.fileno()] = connection
                ready.register(connection, select.EPOLLIN)
        asking = []
        for connection in [self._open[number] for number, _ in ready.poll(0) if number in self._open]:
            if _request(connection):
                self.received_s.append(time.perf_counter())
                asking.append(connection)
            else:
                del self._open[connection.fileno()]
                connection.close()
        return asking

    def _answer(self, asking: list[socket.socket]) -> None:
        for connection in asking:
            self.answered_s.append(time.perf_counter())
            connection.sendall(stubs.OK)


def _request(connection: socket.socket) -> bytes:
    """A whole one: it is small, and was written at once. Empty at the connection's end."""
    try:
        return connection.recv(65536)
    except ConnectionResetError:
        return b""
