"""What TorchServe's log alone tells: how long each request was with the worker, from the batch's way there on.

A worker's thread says "Flushing req.cmd PREDICT" when it hands a batch over, and has a line in the access log for each
answer that it writes. Stamps are whole milliseconds, so a difference of two is right in the mean.
"""

from __future__ import annotations

import re
from pathlib import Path

DAY_MS = 24 * 3600 * 1000
HANDED_OVER = b" - Flushing req.cmd PREDICT "
ANSWERED = b" ACCESS_LOG - "
# 2026-12-01T04:02:52,078 [DEBUG] W-9000-m_1.0 org.pytorch.serve.wlm.WorkerThread - Flushing req.cmd PREDICT repeats …
# 2026-12-01T04:02:52,088 [INFO ] W-9000-m_1.0 ACCESS_LOG - /127.0.0.1:39172 "POST /predictions/m HTTP/1.1" 200 15
_LINE = re.compile(rb"\S+T(\d\d):(\d\d):(\d\d)[,.](\d{3}) \[\w+ *\] (W-\S+) ")
_OK = re.compile(rb'"POST /predictions/([^/ ]+)\S* HTTP/1\.[01]" 200 ')


class WorkerLog:
    """Adds up, by model, what the log says; each look reads only what was written since."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read = 0
        self._handed_over_ms: dict[bytes, int] = {}
        self._held: dict[bytes, tuple[int, int]] = {}

    def held(self, model: str) -> tuple[int, float]:
        """Requests answered with 200, and the seconds that they were with the worker, summed over them."""
        self._look()
        requests, total_ms = self._held.get(model.encode(), (0, 0))
        return requests, total_ms / 1000

    def _look(self) -> None:
        try:
            with self._file.open("rb") as log:
                log.seek(self._read)
                new = log.read()
        except FileNotFoundError:
            return
        whole = new.rfind(b"\n") + 1
        self._read += whole
        for line in new[:whole].splitlines():
            if HANDED_OVER in line or ANSWERED in line:
                self._take(line)

    def _take(self, line: bytes) -> None:
        found = _LINE.match(line)
        if found is None:  # not of a worker's thread: a question to the management port, say
            return
        hours, minutes, seconds, millis = map(int, found.groups()[:4])
        now_ms, thread = ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis, found[5]
        if HANDED_OVER in line:
            self._handed_over_ms[thread] = now_ms
        elif (ok := _OK.search(line)) and thread in self._handed_over_ms:
            requests, total_ms = self._held.get(ok[1], (0, 0))
            self._held[ok[1]] = requests + 1, total_ms + (now_ms - self._handed_over_ms[thread]) % DAY_MS
