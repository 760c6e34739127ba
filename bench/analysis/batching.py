"""The batch size that theory lets expect at a rate, and in one sentence why batches are as large as they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.scenario.spec import Server
from bench.theory.law import CostModel

NO_BATCH = 1.5
"""Mean batch size below which batching is called absent, where nothing piles up either."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Mean batch sizes by two rules; the larger one holds.

    fresh: 1 + λd, the first request and what arrives during its delay. backlog: what arrives during a cycle.
    """

    fresh: float
    backlog: float
    largest: int

    @property
    def batch_size(self) -> float:
        return min(float(self.largest), max(self.fresh, self.backlog))


def expected(rate_per_s: float, server: Server, model: CostModel) -> Expected:
    """At arrival rate λ, with N instances, delay d and T(B) = c + B·m.

    A cycle is T(B) on Triton, where waiting for a busy instance counts towards the delay, and T(B) + d on TorchServe,
    where the delay begins when a worker takes the first request. B = λ·(c + B·m + d)/N, so B = λ(c + d)/(N − λm).
    """
    delay_s = server.max_queue_delay_s
    in_cycle_s = delay_s if server.kind == "torchserve" else 0.0
    spare = server.instances - rate_per_s * model.m_s
    backlog = rate_per_s * (model.c_s + in_cycle_s) / spare if spare > 0 else math.inf
    return Expected(1 + rate_per_s * delay_s, backlog, server.max_batch_size)


def sentence(rate_per_s: float, mean_batch_size: float, server: Server, model: CostModel | None) -> str:
    """'' where the mean batch size or the law is not known.

    "No backlog, no batch": a mean batch size below 1.5, with less than one arrival expected in the delay or in T(1),
    whichever is longer.
    """
    if model is None or not math.isfinite(mean_batch_size):
        return ""
    theory = expected(rate_per_s, server, model)
    found = f"at {rate_per_s:g}/s a batch holds {mean_batch_size:.3g} of at most {server.max_batch_size}"
    delay_s, alone_s = server.max_queue_delay_s, model.c_s + model.m_s
    meanwhile = rate_per_s * max(delay_s, alone_s)
    if mean_batch_size < NO_BATCH and meanwhile < 1:
        what = "the delay" if delay_s >= alone_s else "the time of one request"
        return f"{found}: no backlog, no batch ({meanwhile:.2g} more requests arrive in {what})"
    if theory.batch_size == server.max_batch_size:
        return f"{found}: more than a full batch arrives in a cycle"
    if theory.fresh >= theory.backlog:
        return f"{found}: the first and those that arrive in its delay make {theory.batch_size:.3g}"
    cycle_ms = theory.batch_size / rate_per_s * 1000
    return f"{found}: what arrives in a cycle of {cycle_ms:.3g} ms makes {theory.batch_size:.3g}"
