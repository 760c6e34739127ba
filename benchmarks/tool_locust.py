"""Locust: users that each wait for an answer before they send again."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from benchmarks.cell import Cell
from benchmarks.latency import latency
from benchmarks.null_model import http_request
from benchmarks.tools import TIMEOUT_S, Told, nothing_to_read

PER_USER_PER_S = 50.0
BACKSTOP_S = 5
"""--run-time takes whole seconds, from before the users are there: it ends the run only if the file below fails to."""

LOCUSTFILE = """\
import json
from pathlib import Path

import gevent
from locust import FastHttpUser, constant_throughput, events, task

latencies_ms = []
failures = []


class Client(FastHttpUser):
    wait_time = constant_throughput({per_user_per_s!r})
    network_timeout = connection_timeout = {timeout_s!r}

    @task
    def infer(self):
        self.client.post({path!r}, data={body!r}, headers={headers!r})


@events.init.add_listener
def begin(environment, **_):
    def end_later(**_):
        gevent.spawn_later({seconds!r}, environment.runner.quit)

    environment.events.spawning_complete.add_listener(end_later)


@events.request.add_listener
def note(response_time, exception, **_):
    if exception is None:
        latencies_ms.append(response_time)
    else:
        failures.append(str(exception))


@events.quitting.add_listener
def write(**_):
    told = {{"latencies_ms": latencies_ms, "failed": len(failures), "first_failure": failures[:1]}}
    Path({result!r}).write_text(json.dumps(told))
"""


class Locust:
    """A closed loop at a constant rate, shared out among users of 50/s each, that ends by the clock."""

    receiver = "benchmarks.receiver"

    def __init__(self, name: str, program: str) -> None:
        self.name, self._program = name, program

    def command(self, cell: Cell, port: int, folder: Path) -> list[str]:
        users = math.ceil(cell.rate_per_s / PER_USER_PER_S)
        request = http_request()
        file = folder / "locustfile.py"
        file.write_text(
            LOCUSTFILE.format(
                per_user_per_s=cell.rate_per_s / users,
                timeout_s=TIMEOUT_S,
                path=request.path,
                body=request.body,
                headers=request.headers,
                seconds=cell.seconds,
                result=str(folder / "locust.json"),
            )
        )
        return [
            self._program, "-f", str(file), "--headless", "-u", str(users), "-r", str(users),
            "--run-time", f"{math.ceil(cell.seconds) + BACKSTOP_S}s", "--stop-timeout", f"{TIMEOUT_S:.0f}",
            "-H", f"http://127.0.0.1:{port}", "--only-summary", "--exit-code-on-error", "0",
        ]  # fmt: skip

    def told(self, _cell: Cell, output: str, folder: Path) -> Told:
        """Latencies are of the requests that were answered well, as its request event tells them."""
        try:
            said = json.loads((folder / "locust.json").read_text())
            seconds = np.array(said["latencies_ms"], dtype=np.float64) / 1e3
            failed = int(said["failed"])
        except (OSError, ValueError, KeyError, TypeError) as exc:
            raise nothing_to_read(self.name, output) from exc
        return Told(len(seconds) + failed, len(seconds), latency=latency(seconds))
