"""wrk."""

from __future__ import annotations

import math
import re
from pathlib import Path

from benchmarks.cell import Cell
from benchmarks.null_model import http_request, request_bytes
from benchmarks.tools import Told, nothing_to_read

CONNECTIONS = 16


class Wrk:
    """A closed loop without a rate: it says only how much the receiver can take."""

    receiver = "benchmarks.receiver"

    def __init__(self, name: str, program: str) -> None:
        self.name, self._program = name, program

    def command(self, cell: Cell, port: int, folder: Path) -> list[str]:
        script = folder / "request.lua"
        script.write_text(lua(request_bytes(port)))
        options = ["-t1", f"-c{CONNECTIONS}", f"-d{math.ceil(cell.seconds)}s", "--latency", "-s", str(script)]
        return [self._program, *options, f"http://127.0.0.1:{port}{http_request().path}"]

    def told(self, _cell: Cell, output: str, _folder: Path) -> Told:
        done = re.search(r"(\d+) requests in ", output)
        if done is None:
            raise nothing_to_read(self.name, output)
        errors = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
        return Told(-1, int(done[1]) - (int(errors[1]) if errors else 0))


def lua(request: bytes) -> str:
    """A wrk script that always sends these bytes."""
    escaped = "".join(f"\\{byte:03d}" for byte in request)
    return f'request = function() return "{escaped}" end\n'
