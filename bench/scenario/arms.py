"""The forms in which a run serves one model: as the scenario asks, with batching off, and at exactly B.

A server forms a batch of exactly B, with no delay in its time, when B is its largest batch and the delay is
longer than any measurement: the B-th request completes the batch, and it leaves at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bench.scenario.spec import Server

# Longer than it ever takes to send B requests, short enough that a lost request is noticed.
FILL_DELAY_S = 5.0


@dataclass(frozen=True, slots=True)
class Arm:
    """One name under which the model is served. batching off: every request is an execution of its own.

    max_queue_size: of waiting requests; None: no limit.
    """

    name: str
    max_batch_size: int
    max_queue_delay_s: float
    batching: bool
    instances: int
    max_queue_size: int | None = None


def production(model: str, server: Server) -> Arm:
    """The model exactly as the scenario asks."""
    return Arm(model, server.max_batch_size, server.max_queue_delay_s, True, server.instances, server.max_queue_size)


def batching_off(model: str, server: Server) -> Arm:
    """Every request alone; a request may still carry up to max_batch_size rows where the server allows it."""
    return Arm(f"{model}_off", server.max_batch_size, 0.0, False, 1)


def exactly(model: str, batch_size: int) -> Arm:
    """Batches of exactly `batch_size`, formed by the server from single requests."""
    return Arm(f"{model}_b{batch_size}", batch_size, FILL_DELAY_S, True, 1)


def all_arms(model: str, server: Server, batch_sizes: Iterable[int]) -> tuple[Arm, ...]:
    """Every arm of one server, the scenario's own first."""
    fixed = (production(model, server), batching_off(model, server))
    return fixed + tuple(exactly(model, batch_size) for batch_size in batch_sizes)
