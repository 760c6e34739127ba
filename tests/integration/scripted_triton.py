"""A Triton that computes nothing: it forms batches of exactly B, and claims times for them that follow a script."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import stubs


@dataclass
class Script:
    """T(B) = curve(B) seconds with normal noise of `sd` from visit to visit, and what else goes on.

    A visit is a stretch of batches to one model. spikes: share of the visits that take 5 × the time; drift: what
    everything grows by from one visit to the next, relative to the start.
    """

    curve: Callable[[float], float]
    sd: float = 0.01
    spikes: float = 0.0
    drift: float = 0.0
    seed: int = 1
    visits: int = 0
    _model: str = ""
    _factor: float = 1.0

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def seconds(self, model: str, batch_size: int) -> float:
        if model != self._model:
            self._model = model
            self.visits += 1
            self._factor = 1 + self.sd * self._rng.standard_normal()
            self._factor *= 5 if self._rng.random() < self.spikes else 1
        return self.curve(batch_size) * self._factor * (1 + self.drift * self.visits)


@dataclass
class Counters:
    """What one model's statistics page says. batches: size -> (executions, nanoseconds)."""

    requests: int = 0
    batches: dict[int, tuple[int, int]] = field(default_factory=dict)

    def page(self) -> bytes:
        rows = [
            {"batch_size": size, "compute_infer": {"count": count, "ns": ns}}
            for size, (count, ns) in self.batches.items()
        ]
        each = {"count": self.requests, "ns": 0}
        totals = dict.fromkeys(("success", "queue", "compute_input", "compute_infer", "compute_output"), each)
        return json.dumps({"model_stats": [{"inference_stats": totals, "batch_stats": rows}]}).encode()


class ScriptedTriton:
    """Behaviour of a stub. Model m_b4 waits for 4 requests and executes them as one batch; any other executes each."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.counted: defaultdict[str, Counters] = defaultdict(Counters)
        self._waiting: defaultdict[str, list[tuple[stubs.StubConnection, stubs.Request]]] = defaultdict(list)

    def __call__(self, connection: stubs.StubConnection, request: stubs.Request) -> None:
        _, _, _, model, action = request.path.split("/")
        if action == "stats":
            connection.write(stubs.response(200, self.counted[model].page()))
            return
        waiting = self._waiting[model]
        waiting.append((connection, request))
        _, exact, size = model.rpartition("_b")
        if len(waiting) == (int(size) if exact else 1):
            self._execute(model, waiting)
            waiting.clear()

    def _execute(self, model: str, batch: list[tuple[stubs.StubConnection, stubs.Request]]) -> None:
        size = sum(_rows(request) for _, request in batch)
        ns = round(self.script.seconds(model, size) * 1e9)
        counted = self.counted[model]
        executions, sum_ns = counted.batches.get(size, (0, 0))
        counted.batches[size] = (executions + 1, sum_ns + ns)
        counted.requests += len(batch)
        for connection, request in batch:
            connection.write(stubs.triton_answer(request, size, ns))


def _rows(request: stubs.Request) -> int:
    length = int(request.headers["inference-header-content-length"])
    return int(json.loads(request.body[:length])["inputs"][0]["shape"][0])


@contextmanager
def serving_in_a_thread(behaviour: stubs.Behaviour) -> Iterator[int]:
    """The port of a stub with an event loop of its own: who asks it for statistics stands still until it answers."""
    ready: list[int] = []
    up, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with stubs.serving(behaviour) as stub:
            ready.append(stub.port)
            up.set()
            await over.wait()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), name="scripted server", daemon=True)
    thread.start()
    assert up.wait(5)
    try:
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(5)
        loop.close()
