"""What the load engine promises, each with its measured value."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import checks_freeze, checks_gaps, checks_memory, checks_pacing
from benchmarks.figures import Figures
from benchmarks.names import OURS, OURS_GRPC
from benchmarks.plan import ARRIVALS_PER_S
from benchmarks.verdicts import Check


def check_all(runs: Sequence[Figures]) -> list[Check]:
    """Every promise, by the median over repeats where nothing else is said; those by ratio first."""
    checks = [
        checks_pacing.times_the_peer(runs),
        *(checks_gaps.of_arrivals(runs, rate) for rate in ARRIVALS_PER_S),
        checks_freeze.closed_form(runs),
        checks_memory.flat(runs),
        checks_pacing.rate_error(runs),
        checks_pacing.sent_in_full(runs),
        checks_pacing.delay(runs, "p50", 60e-6, lambda run: run.delay_p50_s),
        checks_pacing.delay(runs, "p99", 600e-6, lambda run: run.delay_p99_s),
        checks_pacing.cpu(runs, OURS, 20_000, 25e-6),
        checks_pacing.cpu(runs, OURS, 5000, 60e-6),
        checks_pacing.cpu(runs, OURS, 500, 250e-6),
        checks_pacing.cpu(runs, OURS_GRPC, 2000, 250e-6),
        checks_memory.tables(runs),
        checks_gaps.of_sends(runs, "poisson", "send gaps, Poisson 500/s", lambda run: run.send_gaps),
        checks_gaps.of_sends(
            runs, "gamma", "send gaps from 200 µs on, gamma CV 2 500/s", lambda run: run.send_gaps_beyond
        ),
        checks_gaps.constant(runs),
        checks_gaps.gamma_whole(runs),
    ]
    return sorted(checks, key=lambda check: not check.by_ratio)
