"""What the runs come to, a table for each question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from bench.report.quantity import ms, share
from benchmarks.checks_pacing import highest
from benchmarks.figures import Figures, of
from benchmarks.groups import count, grouped, microseconds, middle, plain, probability, table
from benchmarks.latency import Latency
from benchmarks.names import ARRIVALS, FREEZE, GAPS, OURS, PACING, SOAK
from benchmarks.verdicts import megabytes


def pacing(runs: Sequence[Figures]) -> str:
    """Whether the asked rate and gaps came about, as the receiver saw them."""
    head = ("load", "tool", "achieved/s", "rate error", "not answered", "KS of arrivals", "within 200 µs", "others")
    rows = []
    for (load, tool), same in grouped(runs, PACING).items():
        rows.append((
            load, tool, count(middle(same, lambda run: run.achieved_per_s)),
            share(middle(same, lambda run: run.rate_error)), str(sum(max(run.failed, 0) for run in same)),
            plain(middle(same, lambda run: run.arrival_gaps.d)), share(middle(same, lambda run: run.arrivals_within)),
            plain(middle(same, lambda run: run.others_cores)),
        ))  # fmt: skip
    return table(head, rows)


def delays(runs: Sequence[Figures]) -> str:
    """How late ours sends; the peers do not say."""
    head = ("load", "tool", "p50, µs", "p99, µs", "max, µs", "KS of sends", "p")
    rows = []
    for (load, tool), same in grouped(runs, PACING).items():
        late_s = [
            middle(same, value)
            for value in (lambda run: run.delay_p50_s, lambda run: run.delay_p99_s, lambda run: run.delay_max_s)
        ]
        if math.isfinite(late_s[0]):
            gaps = middle(same, lambda run: run.send_gaps.d), middle(same, lambda run: run.send_gaps.p_value)
            rows.append((load, tool, *map(microseconds, late_s), plain(gaps[0]), probability(gaps[1])))
    return table(head, rows)


def cpu(runs: Sequence[Figures]) -> str:
    """CPU per request, a column for each rate; in brackets the receiver's."""
    found = [run for run in runs if run.cell.purpose == PACING]
    rates = sorted({run.cell.rate_per_s for run in found})
    rows = []
    for tool, kind in dict.fromkeys((run.cell.tool, run.cell.kind) for run in found):
        cells = []
        for rate in rates:
            same = [run for run in found if (run.cell.tool, run.cell.kind, run.cell.rate_per_s) == (tool, kind, rate)]
            own, receiver = middle(same, lambda run: run.cpu_s), middle(same, lambda run: run.receiver_cpu_s)
            cells.append(f"{microseconds(own)} ({microseconds(receiver)})" if same else "")
        rows.append((tool, kind, *cells))
    return table(("tool", "arrivals", *(f"{rate:,.0f}/s" for rate in rates)), rows)


def rates(runs: Sequence[Figures]) -> str:
    """The highest rate that each tool completed."""
    tools = list(dict.fromkeys(run.cell.tool for run in runs))
    rows = [
        (tool, count(median(reached)), ", ".join(map(count, reached)))
        for tool in tools
        if (reached := highest(runs, tool))
    ]
    return table(("tool", "requests/s", "each repeat"), rows)


def freeze(runs: Sequence[Figures]) -> str:
    """p50 / p99 / max of each tool, and of ours what they should be."""
    head = ("tool", "sent", "as the tool shows it, ms", "from the send, ms", "closed form, ms", "in turn, ms")
    rows = []
    for (load, tool), same in grouped(runs, FREEZE).items():
        rows.append((
            f"{tool} ({load.split(',')[0]})", count(middle(same, lambda run: run.arrived)),
            *(
                three([getattr(run, name) for run in same])
                for name in ("latency", "from_send")
            ),
            three([run.expected.at_once for run in same]), three([run.expected.in_turn for run in same]),
        ))  # fmt: skip
    return table(head, rows)


def three(told: Sequence[Latency]) -> str:
    """'251 / 985 / 1000', in ms, the medians over the runs; '–' where none of them is told."""
    values = [
        [value for value in column if math.isfinite(value)]
        for column in zip(*((one.p50_s, one.p99_s, one.max_s) for one in told), strict=True)
    ]
    return " / ".join(ms(median(column)) if column else "–" for column in values) if any(values) else "–"


def arrivals(runs: Sequence[Figures]) -> str:
    """KS distance of the arrivals at a receiver that polls, by rate and tool; each repeat."""
    rows = [
        (load, tool, plain(middle(same, lambda run: run.arrival_gaps.d)),
         ", ".join(plain(run.arrival_gaps.d) for run in same), plain(middle(same, lambda run: run.others_cores)))
        for (load, tool), same in grouped(runs, ARRIVALS).items()
    ]  # fmt: skip
    return table(("load", "tool", "D", "each repeat", "others"), rows)


def seeds(runs: Sequence[Figures]) -> str:
    """The test of each seed's send gaps."""
    rows = [
        (
            run.cell.load, str(run.cell.seed), plain(run.send_gaps.d), probability(run.send_gaps.p_value),
            probability(run.send_gaps_beyond.p_value), probability(run.planned_gaps.p_value),
            microseconds(run.shortest_gap_s), share(run.sends_within), plain(run.others_cores),
        )
        for run in of(runs, GAPS, OURS)
    ]  # fmt: skip
    head = ("load", "seed", "D", "p", "p from 200 µs", "p, schedule", "shortest, µs", "within 200 µs", "others")
    return table(head, rows)


def memory(runs: Sequence[Figures]) -> str:
    head = ("tool", "load", "requests", "resident early", "most after", "growth", "peak of the process", "answered")
    rows = [
        (
            run.cell.tool, f"{run.cell.load} for {run.cell.seconds:g} s", count(run.arrived),
            megabytes(run.resident.early_bytes), megabytes(run.resident.most_bytes), share(run.resident.growth),
            megabytes(run.peak_bytes), f"{run.ok:,} of {run.planned:,}",
        )
        for run in runs
        if run.cell.purpose == SOAK
    ]  # fmt: skip
    return table(head, rows)


def ceiling(achieved_per_s: Sequence[float]) -> str:
    return f"wrk, closed loop, one thread: {count(median(achieved_per_s))} requests/s."
