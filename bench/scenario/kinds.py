"""What the two kinds of server take: the names of their ports, and the queue delays that do what they say."""

from __future__ import annotations

from dataclasses import dataclass

from bench.scenario.spec import ServerKind


@dataclass(frozen=True, slots=True)
class KindLimits:
    """`delay_step_s`: the unit in which the server's own configuration has the delay."""

    title: str
    ports: tuple[str, ...]
    delay_step_s: float
    smallest_batching_delay_s: float = 0.0
    why_not_less: str = ""


LIMITS: dict[ServerKind, KindLimits] = {
    "triton": KindLimits("Triton", ("http", "grpc", "metrics"), delay_step_s=1e-6),
    "torchserve": KindLimits(
        "TorchServe",
        ("inference", "management", "metrics", "grpc_inference", "grpc_management"),
        delay_step_s=1e-3,
        smallest_batching_delay_s=0.005,
        why_not_less="TorchServe caps every batch at 2 with delay 0 and cuts batches short at 1 to 2 ms",
    ),
}

# TorchServe's, in the archive, in the server's settings and in what is read back.
# Large, so that nothing is rejected while latency is measured; overload has its own experiments.
JOB_QUEUE_SIZE = 100_000
ONE_INSTANCE = "_one"  # what the name of a TorchServe archive for a single worker ends with
