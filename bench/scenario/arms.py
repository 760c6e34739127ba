"""The forms in which a run serves one model: as the scenario asks, with batching off, and at exactly B, alone and by N.

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


def exactly(model: str, batch_size: int, instances: int = 1) -> Arm:
    """Batches of exactly `batch_size`, formed by the server from single requests, on one instance or on several."""
    name = f"{model}_b{batch_size}" if instances == 1 else f"{model}_n{instances}_b{batch_size}"
    return Arm(name, batch_size, FILL_DELAY_S, True, instances)


def saturated_sizes(batch_sizes: Iterable[int]) -> tuple[int, ...]:
    """At most four of the batch sizes, whose throughput at saturation is measured: the ends, a quarter and a half."""
    sizes = sorted(batch_sizes)
    largest = sizes[-1]
    near = [min((abs(size - share * largest), size) for size in sizes)[1] for share in (0.25, 0.5)]
    return tuple(sorted({sizes[0], *near, largest}))


def all_arms(model: str, server: Server, batch_sizes: Iterable[int]) -> tuple[Arm, ...]:
    """Every arm of one server: the scenario's own, batching off, each exact size, and some of these by N instances."""
    sizes = tuple(batch_sizes)
    fixed = (production(model, server), batching_off(model, server), *(exactly(model, size) for size in sizes))
    if server.instances == 1:
        return fixed
    return fixed + tuple(exactly(model, size, server.instances) for size in saturated_sizes(sizes))
