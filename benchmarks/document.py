"""All of it as one Markdown document: the promises first, then a section for each question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from benchmarks import tables
from benchmarks.figures import Figures
from benchmarks.groups import table
from benchmarks.names import ARRIVALS, CEILING, FREEZE, GAPS, LADDER, PACING, SOAK
from benchmarks.plan import FREEZE_S, FREEZE_SECONDS
from benchmarks.verdicts import FAILS, HOLDS, NOT_RUN, OUT_OF_REACH, Check

ABOUT = """\
Made by `python -m benchmarks.load_engine`: the load engine and its peers against one receiver that answers at once,
so all of a response time is the path and the generator. Both share this machine. Figures are medians over the
repeats."""
RATIO_NOTE = """\
Both sides of these were measured beside each other in the same run, so a slower machine slows both: they are the ones
to carry over to another machine. Noise that comes and goes still falls on one and not on the other; the repeats are
there for that."""
ABSOLUTE_NOTE = """\
These are of this machine and this hour: a slower or busier one gives other figures, and may fail them."""
PACING_NOTE = """\
Rate error: ours, real sends against the schedule; peers, arrivals against the asked rate, which for Poisson has the
chance of a short run in it. KS: distance of the first 5,000 gaps from the asked process; the receiver's own waking is
in it, see Arrivals. Within 200 µs: share of
constant gaps that near to 1 / rate. Others: cores that all other programs kept busy meanwhile; from half a core on,
delays and distances are theirs. Locust and hey are closed loops with a constant rate only; they send less when they
fall behind, and nothing of it is then "not answered"."""
DELAYS_NOTE = """\
Real send after the planned time, and the KS test of the real sends. Above 10,000/s sends that are due within 250 µs
leave together, which costs their gaps and saves a third of the CPU. Over gRPC a send is the moment that gRPC was given
the request."""
CPU_NOTE = """\
Microseconds of user and system time of all the generator's processes amid the load, by /proc; in brackets the
receiver's."""
LADDER_NOTE = """\
Every request answered and the rate within 5 %, on each tool's ladder of rates, two tries a rate; constant arrivals for
Locust and hey, Poisson for the others. The median over repeats; 0: not even the lowest of its ladder."""
ARRIVALS_NOTE = """\
KS distance of the first 5,000 gaps from the asked Poisson process. Here the receiver never sleeps, so that what is
measured is when a request came and not how long an idle core took to wake; it keeps a core busy, for every tool alike.
perf_analyzer has one schedule for all its runs, ours is another in each."""
SEEDS_NOTE = """\
`p, schedule` is that of the planned gaps: the test rejects one good schedule in a hundred. `shortest` is the shortest
gap between two sends: of gamma gaps of CV 2 at 500/s every fifth should be under 10 µs, which no sender keeps that
writes one request after another, so there the p-value from 200 µs on counts, what constant gaps may be off by."""
FREEZE_NOTE = f"""\
p50 / p99 / max. {FREEZE_SECONDS:g} s of arrivals, of which the receiver stands still for {FREEZE_S:g} s: those due
meanwhile wait for its end, and every user feels it. Closed form: that wait from the schedule; in turn: and then the
turn among those that waited, by the receiver's log. The peers show latency from the send: a closed
loop sends next to nothing while it waits, and perf_analyzer by default sends late what was due meanwhile."""
MEMORY_NOTE = """\
Resident memory by /proc ten times a second: early is after a tenth of the run. The peak of the process is its own
VmHWM before its times are written; with the tables, after the product's table of every request was made."""

SAID = {HOLDS: "hold", FAILS: "fail", OUT_OF_REACH: "out of reach", NOT_RUN: "not run"}

Section = tuple[str, str, str, str]


def markdown(
    runs: Sequence[Figures],
    checks: Sequence[Check],
    missing: Sequence[str],
    facts: Mapping[str, str],
    picture: str = "",
) -> str:
    """The whole document. `facts`: what was measured on; `picture`: a file beside the document."""
    loads = [run.load_average for run in runs] or [math.nan]
    facts = {**facts, "load average before a run": f"{min(loads):.2f} to {max(loads):.2f}"}
    counts = Counter(check.verdict for check in checks)
    verdicts = ", ".join(f"{counts[verdict]} {said}" for verdict, said in SAID.items() if counts[verdict])
    parts = [
        "# The load engine beside its peers",
        ABOUT,
        f"## Promises: {verdicts}" if checks else "## Promises",
        "### By ratio within the same run",
        RATIO_NOTE,
        _promises([check for check in checks if check.by_ratio]),
        "### In absolute figures",
        ABSOLUTE_NOTE,
        _promises([check for check in checks if not check.by_ratio]),
    ]
    if picture:
        parts.append(f"![CPU per request against the rate, and p99 under a freeze]({picture})")
    parts += ["## Measured on", "\n".join(f"- {name}: {value}" for name, value in facts.items())]
    for purpose, title, body, note in _sections(runs):
        if any(run.cell.purpose == purpose for run in runs):
            parts += [f"## {title}", body, note]
    ceiling = [run.achieved_per_s for run in runs if run.cell.purpose == CEILING and not run.problem]
    if ceiling:
        parts += ["## The receiver's own ceiling", tables.ceiling(ceiling)]
    problems = [f"- {run.cell.purpose}, {run.cell.load}: {run.problem}" for run in runs if run.problem]
    if problems or missing:
        parts += ["## What did not run, or failed", "\n".join([*(f"- {line}" for line in missing), *problems])]
    return "\n\n".join(parts) + "\n"


def _sections(runs: Sequence[Figures]) -> list[Section]:
    """(purpose, title, table, note)."""
    return [
        (PACING, "Pacing", tables.pacing(runs), PACING_NOTE),
        (PACING, "How late a send is", tables.delays(runs), DELAYS_NOTE),
        (PACING, "CPU per request", tables.cpu(runs), CPU_NOTE),
        (LADDER, "Highest rate completed", tables.rates(runs), LADDER_NOTE),
        (FREEZE, "Receiver frozen for a second, 500/s", tables.freeze(runs), FREEZE_NOTE),
        (ARRIVALS, "Arrivals", tables.arrivals(runs), ARRIVALS_NOTE),
        (GAPS, "Send gaps by seed, 500/s", tables.seeds(runs), SEEDS_NOTE),
        (SOAK, "Memory", tables.memory(runs), MEMORY_NOTE),
    ]


def _promises(checks: Sequence[Check]) -> str:
    rows = [(check.verdict, check.name, check.expected, check.measured) for check in checks]
    return table(("verdict", "promise", "expected", "measured"), rows)
