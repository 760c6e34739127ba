"""Every run as a line of CSV, and what they come to as Markdown."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from bench.report.quantity import milliseconds, number, share, significant
from benchmarks.checks import Check, highest, of
from benchmarks.measure import Figures
from benchmarks.plan import CEILING, FREEZE, FREEZE_S, FREEZE_SECONDS, GAPS, OURS, PACING

ABOUT = """\
Made by `python -m benchmarks.load_engine`. Generator and receiver share the machine; figures are medians over the
repeats. The receiver answers at once, so all of a response time is the path and the generator."""
PACING_NOTE = """\
Rate error: ours, real sends against the schedule; peers, arrivals against the asked rate, which for Poisson has the
chance of a short run in it. Dispatch delay: real send after the planned time. CPU: user and system time of all the
generator's processes amid the load, by /proc; the receiver's is apart. KS: distance of the first 5,000 gaps from the
asked process, with the p-value of the sends. Others: how many cores all other programs of the machine kept busy
meanwhile; from half a core on, delays and distances are theirs."""
LADDER_NOTE = """\
Every request answered and the rate within 5 % (Poisson), on each tool's ladder of rates, two tries a rate; the median
over repeats."""
SEEDS_NOTE = """\
`p, schedule` is that of the planned gaps: the test rejects one good schedule in a hundred. Of gamma gaps of CV 2 at
500/s every fifth is under 10 µs, less than a write to a socket takes, so no sender that writes one request after
another keeps all of that distribution; the p-value from 100 µs on leaves those gaps out."""
FREEZE_NOTE = f"""\
In closed form, of {FREEZE_SECONDS:g} s of arrivals those due in the freeze wait for its end: p99 from the schedule
{FREEZE_S - 0.01 * FREEZE_SECONDS:.2f} s, the longest {FREEZE_S:g} s."""

_US = 1e6


def markdown(runs: Sequence[Figures], checks: Sequence[Check], missing: Sequence[str], facts: Mapping[str, str]) -> str:
    """The whole document. `facts`: what was measured on."""
    loads = [run.load_average for run in runs] or [math.nan]
    facts = {**facts, "load average before a run": f"{min(loads):.2f} to {max(loads):.2f}"}
    promises = [(check.name, check.expected, check.measured, check.verdict) for check in checks]
    parts = [
        "# The load engine beside its peers",
        ABOUT,
        "\n".join(f"- {name}: {value}" for name, value in facts.items()),
        "## Promises",
        table(("promise", "expected", "measured", "verdict"), promises),
        "## Pacing",
        _pacing(runs),
        PACING_NOTE,
        "## Highest rate completed",
        _highest(runs),
        LADDER_NOTE,
        "## Send gaps by seed, 500/s",
        _by_seed(runs),
        SEEDS_NOTE,
        "## Receiver frozen for a second, 500/s",
        _freeze(runs),
        FREEZE_NOTE,
    ]
    ceiling = [run.achieved_per_s for run in runs if run.cell.purpose == CEILING and not run.problem]
    if ceiling:
        parts += ["## The receiver's own ceiling", f"wrk, closed loop, one thread: {median(ceiling):,.0f} requests/s."]
    problems = [f"- {run.cell.purpose}, {run.cell.load}: {run.problem}" for run in runs if run.problem]
    if problems or missing:
        parts += ["## What did not run, or failed", "\n".join([*(f"- {line}" for line in missing), *problems])]
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; '|' in a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _pacing(runs: Sequence[Figures]) -> str:
    head = (
        "load", "tool", "runs", "achieved/s", "rate error", "delay p50, µs", "delay p99, µs", "delay max, µs",
        "CPU/request, µs", "receiver's, µs", "KS sends (p)", "KS arrivals", "not answered", "others, cores",
    )  # fmt: skip
    rows = []
    for (load, tool), same in _grouped(runs, PACING).items():
        lost = sum(max(run.failed, 0) for run in same)
        gaps = _middle(same, lambda run: run.send_gaps.d), _middle(same, lambda run: run.send_gaps.p_value)
        rows.append((
            load, tool, str(len(same)),
            number(_middle(same, lambda run: run.achieved_per_s)),
            share(_middle(same, lambda run: run.rate_error)),
            *(_us(_middle(same, value)) for value in (
                lambda run: run.delay_p50_s, lambda run: run.delay_p99_s, lambda run: run.delay_max_s,
                lambda run: run.cpu_s, lambda run: run.receiver_cpu_s,
            )),
            f"{significant(gaps[0])} ({significant(gaps[1])})" if math.isfinite(gaps[0]) else "–",
            _plain(_middle(same, lambda run: run.arrival_gaps.d)),
            str(lost),
            _plain(_middle(same, lambda run: run.others_cores)),
        ))  # fmt: skip
    return table(head, rows)


def _highest(runs: Sequence[Figures]) -> str:
    tools = list(dict.fromkeys(run.cell.tool for run in runs))
    rows = [
        (tool, f"{median(rates):g}", ", ".join(f"{r:g}" for r in rates))
        for tool in tools
        if (rates := highest(runs, tool))
    ]
    return table(("tool", "requests/s", "each repeat"), rows)


def _by_seed(runs: Sequence[Figures]) -> str:
    rows = [
        (
            run.cell.load, str(run.cell.seed), str(run.send_gaps.gaps), _plain(run.send_gaps.d),
            _plain(run.send_gaps.p_value), _plain(run.send_gaps_beyond.p_value), _plain(run.planned_gaps.p_value),
            share(run.sends_within), _plain(run.others_cores),
        )
        for run in of(runs, GAPS, OURS)
    ]  # fmt: skip
    head = (
        "load", "seed", "gaps", "D", "p", "p from 100 µs on", "p, schedule", "within 200 µs of 1/rate", "others, cores"
    )  # fmt: skip
    return table(head, rows)


def _freeze(runs: Sequence[Figures]) -> str:
    rows = []
    for (_load, tool), same in _grouped(runs, FREEZE).items():
        values = [
            _middle(same, value)
            for value in (
                lambda run: run.p50_s, lambda run: run.p99_s, lambda run: run.max_s, lambda run: run.send_p99_s
            )
        ]  # fmt: skip
        rows.append(
            (tool, "schedule" if math.isfinite(values[3]) else "send", *(milliseconds(value) for value in values))
        )
    return table(("tool", "latency from the", "p50", "p99", "max", "p99 from the send"), rows)


def _grouped(runs: Sequence[Figures], purpose: str) -> dict[tuple[str, str], list[Figures]]:
    """By load and tool, in the order of their first run."""
    groups: dict[tuple[str, str], list[Figures]] = {}
    for run in runs:
        if run.cell.purpose == purpose:
            groups.setdefault((run.cell.load, run.cell.tool), []).append(run)
    return groups


def _middle(runs: Sequence[Figures], value: Callable[[Figures], float]) -> float:
    values = [found for run in runs if math.isfinite(found := value(run))]
    return median(values) if values else math.nan


def _us(seconds: float) -> str:
    return _plain(seconds * _US)


def _plain(value: float) -> str:
    return significant(value) if math.isfinite(value) else "–"


def as_csv(runs: Sequence[Figures]) -> str:
    """One line a run, in seconds and requests per second; empty where not measured."""
    text = io.StringIO()
    lines = [_line(run) for run in runs]
    writer = csv.DictWriter(text, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _line(run: Figures) -> dict[str, object]:
    cell = run.cell
    line: dict[str, object] = {
        "purpose": cell.purpose, "tool": cell.tool, "arrivals": cell.arrivals, "cv": cell.cv,
        "asked_per_s": cell.rate_per_s, "seconds": cell.seconds, "seed": cell.seed, "repeat": cell.repeat,
        "load_average": run.load_average, "others_cores": run.others_cores,
        "planned": run.planned, "arrived": run.arrived, "ok": run.ok,
        "failed": run.failed, "achieved_per_s": run.achieved_per_s, "rate_error": run.rate_error,
        "delay_p50_s": run.delay_p50_s, "delay_p99_s": run.delay_p99_s, "delay_max_s": run.delay_max_s,
        "cpu_per_request_s": run.cpu_s, "receiver_cpu_per_request_s": run.receiver_cpu_s,
    }  # fmt: skip
    for name in ("send_gaps", "send_gaps_beyond", "planned_gaps", "arrival_gaps"):
        found = getattr(run, name)
        line |= {f"{name}_ks": found.d, f"{name}_p": found.p_value, f"{name}_n": found.gaps or ""}
    line |= {
        "sends_within": run.sends_within, "arrivals_within": run.arrivals_within, "p50_s": run.p50_s,
        "p99_s": run.p99_s, "max_s": run.max_s, "send_p99_s": run.send_p99_s, "problem": run.problem,
    }  # fmt: skip
    return {name: "" if isinstance(value, float) and math.isnan(value) else value for name, value in line.items()}
