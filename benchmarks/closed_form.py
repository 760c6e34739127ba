"""What response times come to when the receiver stands still for a while, by the schedule and the freeze."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.latency import NOT_TOLD, Latency, latency


@dataclass(frozen=True, slots=True)
class Expected:
    """at_once: for a receiver that answers all that waited the moment the freeze ends.

    in_turn: for one that takes what waited one after another, in the time that its log says. backlog_s: how long that
    took, from the end of the freeze to the last of them.
    """

    at_once: Latency = NOT_TOLD
    in_turn: Latency = NOT_TOLD
    backlog_s: float = 0.0


NOT_FROZEN = Expected()


def expected(due_ns: np.ndarray, frozen_ns: tuple[int, int], arrivals_ns: np.ndarray) -> Expected:
    """In closed form. frozen_ns: (began, ended); all times sorted and on one clock.

    A request due at d with began <= d < ended waits for ended - d, every other one for nothing. In turn: first come,
    first served, so the k-th of those that waited is the k-th that the receiver read from `ended` on, at a, and waits
    for a - d. A generator that sends late, or times from the send, is off by just that.
    """
    began_ns, ended_ns = frozen_ns
    caught = np.flatnonzero((due_ns >= began_ns) & (due_ns < ended_ns))
    at_once_ns = np.zeros(len(due_ns), dtype=np.int64)
    at_once_ns[caught] = ended_ns - due_ns[caught]
    read_ns = arrivals_ns[np.searchsorted(arrivals_ns, ended_ns) :][: len(caught)]
    served = caught[: len(read_ns)]
    in_turn_ns = at_once_ns.copy()
    in_turn_ns[served] = read_ns - due_ns[served]
    backlog_s = float(read_ns[-1] - ended_ns) / 1e9 if len(read_ns) else 0.0
    return Expected(latency(at_once_ns / 1e9), latency(in_turn_ns / 1e9), backlog_s)
