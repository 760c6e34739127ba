"""All rows as one Markdown document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bench.analysis.response import PERCENTILES
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
KNEE_NOTE = """\
Given: simulations in which a knee was told; the others say another shape. The knee's bias is that of the middle of its
interval."""
LINE_NOTE = """\
Of the batch size that lies furthest from the line, where T(B) is one: the interval is made for all sizes together, so
that the worst of them may be picked. What the fit takes up itself, and levels of blocks, make it too wide."""
ALARM_NOTE = """\
How often the report speaks of a throughput that falls, of a speedup above the ceiling, or of a drift, in data that have
none: a throughput that is the same at all batch sizes, a line with c/m = 2. At most 5 % is promised."""
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
grid 1, 3, 5, 7, 10, 13, 20, 24, 32; the ends are visited as often as all between. At least 98 % is promised for lines,
else 95 %."""

FIT = ("c", "m", "ceiling")
SPEEDUPS = ("speedup", "speedup at the largest B", "measured ceiling")
PERCENTILE_NAMES = tuple(f"p{q:g}" for q in PERCENTILES)
ALARMS = ("falling throughput", "S above the ceiling", "drift")


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
        ("c, m and the ceiling beyond a knee", [row for row in rows if row.interval.endswith("knee")], KNEE_NOTE),
        ("Distance from the line", _named(rows, ("off the line by, at its worst",)), LINE_NOTE),
        ("Speedup and measured ceiling", _named(rows, SPEEDUPS), ""),
        ("Percentiles of response times", [row for row in rows if row.interval in PERCENTILE_NAMES], PERCENTILE_NOTE),
        ("Growth of the response time", _named(rows, ("growth of response",)), GROWTH_NOTE),
        ("Two arms that are alike", _named(rows, ("A/A",)), ALIKE_NOTE),
        ("What is told beside the figures, of data without it", _named(rows, ALARMS), ALARM_NOTE),
    ):
        parts += [f"## {title}", _coverage(chosen, title)]
        parts += [note] if note else []
    parts += ["## Shapes of T(B)", _shapes(shapes), SHAPE_NOTE]
    parts += ["## Made on", "\n".join(f"- {name}: {value}" for name, value in facts.items())]
    return "\n\n".join(parts) + "\n"


def _coverage(rows: Sequence[Row], title: str) -> str:
    alarms = title.startswith(("Two", "What"))
    bounded = title.startswith(("Percentiles", "c, m and the ceiling beyond"))
    head = ["told" if title.startswith("What") else "interval", "noise", "data"]
    head += ["false alarms" if alarms else "coverage", "bias", "verdict", *(["given", "bounded"] if bounded else [])]
    return table(head, [_cells(row, bounded) for row in rows])


def _cells(row: Row, percentiles: bool) -> list[str]:
    verdict = row.verdict if row.promised else f"({row.verdict})"
    bias = "–" if math.isnan(row.bias) else f"{row.bias * 100:+.2f} %"
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
    return f"{len(set(study.sizes))} sizes to {study.sizes[-1]:g}, {study.blocks} blocks, {share(study.sd)}"


def _named(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    return [row for row in rows if row.interval in names]


def _percent(counted: Share) -> str:
    if not counted.of:
        return "–"
    return f"{counted.value * 100:.1f} % [{counted.lo * 100:.1f}, {counted.hi * 100:.1f}]"
