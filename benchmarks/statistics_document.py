"""All rows as one Markdown document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.report.quantity import share
from benchmarks.groups import table
from benchmarks.statistics_rows import Row, ShapeRow, Share

ABOUT = """\
Made by `python -m benchmarks.statistics`: data are simulated whose truth is known, and each interval that the product
prints is made of them with the product's own functions. A 95 % interval holds when it covers the truth in 93 to 97 of
100 simulations, up to the chance of the simulation, which is in brackets. A verdict in parentheses is of what is not
promised: it tells where an interval ends to be one."""
NOISE_NOTE = """\
Noise of visits: normal of 2 %; the same with every 33rd visit taking 5 times as long; exponential above the time
without noise, 2 % in the mean; normal with a drift of 5 % from the first block to the last; normal, and every block on
a level of its own, 2 %, and lasting, with a correlation of 0.5 from block to block. c and m of one-sided noise are held
against those of a typical visit, 1.7 % above the time without noise. "Blocks not told" is a fit that takes all visits
for independent: a drift then makes its intervals too wide, and levels those of c and m too narrow. Where levels last
for several blocks, c and m of a run are less certain than its blocks tell; their ratio is not touched. "Until both are
within" is a run that ends as soon as c and m are precise enough: that favours runs whose intervals came out narrow."""
PERCENTILE_NOTE = """\
Bounded: simulations in which the interval has an upper end; where the values beyond the percentile are few or come in
few bunches it has none. Given: simulations with an interval at all; one run is refused when it is too short to be cut
into 10 sections that are independent. M/M/1 is a queue at that share of its capacity."""
GROWTH_NOTE = """\
Growth of the response time at a queue; above 1 it is overloaded, and grows by λ/capacity − 1. Its bias is in seconds
per second below capacity."""
ALIKE_NOTE = """\
Two arms of the same truth, compared within blocks by `paired_ratio`: how often the interval leaves out 1. At most 5 %
is promised."""
SHAPE_NOTE = """\
What `shape_of` tells of a known curve, with 3 % of spikes of 5 × the time. Sizes: 1, 2, 3, 4, 6, 8, 12, 16, or off that
grid 1, 3, 5, 7, 10, 13, 20, 24, 32. At least 98 % is promised for lines, else 95 %."""

FIT = ("c", "m", "ceiling")


def markdown(rows: Sequence[Row], shapes: Sequence[ShapeRow], facts: Mapping[str, str]) -> str:
    """The whole document. `facts`: what was simulated, how often, on what."""
    failing = [row for row in rows if row.fails]
    promises = sum(row.promised for row in rows) + len(shapes)
    failed = len(failing) + sum(row.fails for row in shapes)
    parts = [
        "# What the intervals are worth",
        ABOUT,
        f"## Promises: {promises - failed} hold" + (f", {failed} fail" if failed else ""),
    ]
    if failed:
        lines = [
            f"- {row.interval}, {row.noise}, {row.design}: {_percent(row.covered)} {row.verdict}" for row in failing
        ]
        lines += [
            f"- {row.study.curve.name}, {_visits(row)}: told right in {_percent(row.right)}"
            for row in shapes
            if row.fails
        ]
        parts.append("\n".join(lines))
    for title, chosen, note in (
        ("c, m and the ceiling of a fit", [row for row in rows if row.interval.split(",")[0] in FIT], NOISE_NOTE),
        ("Speedup and measured ceiling", _named(rows, ("speedup", "measured ceiling")), ""),
        ("Percentiles of response times", _named(rows, ("p50", "p99")), PERCENTILE_NOTE),
        ("Growth of the response time", _named(rows, ("growth of response",)), GROWTH_NOTE),
        ("Two arms that are alike", _named(rows, ("A/A",)), ALIKE_NOTE),
    ):
        parts += [f"## {title}", _coverage(chosen, title.startswith("Percentiles"), title.startswith("Two"))]
        parts += [note] if note else []
    parts += ["## Shapes of T(B)", _shapes(shapes), SHAPE_NOTE]
    parts += ["## Made on", "\n".join(f"- {name}: {value}" for name, value in facts.items())]
    return "\n\n".join(parts) + "\n"


def _coverage(rows: Sequence[Row], percentiles: bool, alike: bool) -> str:
    head = ["interval", "noise", "data", "false alarms" if alike else "coverage", "bias", "verdict"]
    if percentiles:
        head += ["given", "bounded"]
    return table(head, [_cells(row, percentiles) for row in rows])


def _cells(row: Row, percentiles: bool) -> list[str]:
    verdict = row.verdict if row.promised else f"({row.verdict})"
    bias = f"{row.bias * 100:+.2f} %"
    if row.noise.startswith("M/M/1") and row.interval.startswith("growth") and float(row.noise.split()[1]) < 1:
        bias = f"{row.bias:+.1g}"
    cells = [row.interval, row.noise, row.design, _percent(row.covered), bias, verdict]
    if percentiles:
        cells += [share(row.given.value), share(row.bounded.value)]
    return cells


def _shapes(rows: Sequence[ShapeRow]) -> str:
    head = ("T(B)", "should be", "data", "told right", "else", "verdict")
    cells = [
        (row.study.curve.name, row.study.curve.kind, _visits(row), _percent(row.right), row.others, row.verdict)
        for row in rows
    ]
    return table(head, cells)


def _visits(row: ShapeRow) -> str:
    study = row.study
    return f"{len(study.sizes)} sizes to {study.sizes[-1]:g}, {study.blocks} visits each, {share(study.sd)}"


def _named(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    return [row for row in rows if row.interval in names]


def _percent(counted: Share) -> str:
    if not counted.of:
        return "–"
    return f"{counted.value * 100:.1f} % [{counted.lo * 100:.1f}, {counted.hi * 100:.1f}]"
