"""The load engine and its peers side by side against a neutral receiver on this machine.

    python -m benchmarks.load_engine            all of it, about 25 minutes
    python -m benchmarks.load_engine --quick    under two minutes, fewer repeats, rates and seeds, one worker

Writes benchmarks/results/<date>-load_engine.{md,csv}, and benchmarks/load_engine.md when all of it was run.
Exits 1 when a promise does not hold.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import FrameType

from bench.environment import describe
from bench.errors import BenchError
from benchmarks import plan
from benchmarks.checks import FAILS, check_all
from benchmarks.machine import wait_until_quiet
from benchmarks.measure import Figures, measure
from benchmarks.peers import find
from benchmarks.tables import as_csv, markdown
from benchmarks.tools import Tool

HERE = Path(__file__).parent
STAND_STILL_S = 1.5
LADDER_TRIES = 2


class Runs:
    """The runs so far; each is told of on standard error."""

    def __init__(self, tools: Mapping[str, Tool], expected_s: float, quiet_s: float) -> None:
        self.done: list[Figures] = []
        self._tools, self._left_s, self._quiet_s = tools, expected_s, quiet_s

    def run(self, cell: plan.Cell) -> Figures:
        say(f"{cell.purpose}: {cell.tool}, {cell.load}, {cell.seconds:.1f} s (about {self._left_s / 60:.0f} min left)")
        if self._quiet_s and not wait_until_quiet(self._quiet_s):
            say("  the machine was not quiet; run all the same")
        figures = measure(cell, self._tools[cell.tool])
        self.done.append(figures)
        self._left_s = max(0.0, self._left_s - cell.seconds - STAND_STILL_S)
        if figures.problem:
            say(f"  {figures.problem}")
        return figures

    def climb(self, cells: Sequence[plan.Cell]) -> None:
        """Up the ladder until a rate is not completed in two tries."""
        for cell in cells:
            if not any(self.run(cell).completed for _ in range(LADDER_TRIES)):
                return


def all_of_it(size: plan.Size, tools: Mapping[str, Tool], only: Sequence[str], quiet_s: float) -> list[Figures]:
    """Every run of that size; with Ctrl-C those so far."""
    names = list(tools)
    steady = [*plan.pacing(size, names), *plan.freezes(size, names), *plan.ceilings(size, names)]
    steady.sort(key=lambda cell: cell.repeat)  # stable: repeats outermost
    steady += plan.send_gaps(size)
    ladders = [plan.ladder(size, tool, repeat) for repeat in range(size.repeats) for tool in tools if tool != plan.WRK]
    if only:
        steady = [cell for cell in steady if cell.purpose in only]
        ladders = ladders if plan.LADDER in only else []
    cells = [*steady, *(cell for steps in ladders for cell in steps)]
    runs = Runs(tools, sum(cell.seconds + STAND_STILL_S for cell in cells), quiet_s)
    try:
        for cell in steady:
            runs.run(cell)
        for steps in ladders:
            runs.climb(steps)
    except KeyboardInterrupt:
        say("interrupted: what ran so far is written")
    return runs.done


def facts(tools: Mapping[str, Tool], size: plan.Size) -> dict[str, str]:
    here = describe()
    versions = {name: metadata.version(name) for name in ("uvloop", "httptools", "numpy")}
    return {
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{here['cpu']}, {here['cores']} cores, {here['system']}",
        "revision": str(here["git_revision"]),
        "Python": f"{here['python']}, " + ", ".join(f"{name} {version}" for name, version in versions.items()),
        "tools": ", ".join(tools),
        "size": f"{size.repeats} repeats of {size.seconds:g} s, {size.seeds} seeds of {size.gaps} gaps",
    }


def say(text: str) -> None:
    sys.stderr.write(f"{datetime.now(UTC):%H:%M:%S} load {os.getloadavg()[0]:.2f}  {text}\n")
    sys.stderr.flush()


def write(runs: Sequence[Figures], document: str, folder: Path, whole: bool) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y-%m-%d}-load_engine.md"
    path.write_text(document)
    path.with_suffix(".csv").write_text(as_csv(runs))
    if whole:
        (HERE / "load_engine.md").write_text(document)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under two minutes; no promise is proven by it")
    parser.add_argument("--perf-analyzer", metavar="PATH", help="the program; else from PATH or the cache folder")
    parser.add_argument("--wrk", metavar="PATH", help="the program; else from PATH")
    parser.add_argument("--wait-quiet", metavar="SECONDS", type=float, default=0.0, help="before each run, at most")
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=HERE / "results")
    purposes = (plan.PACING, plan.LADDER, plan.GAPS, plan.FREEZE, plan.CEILING)
    parser.add_argument("--only", action="append", choices=purposes, default=[], help="may be given again")
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)  # also where a shell started this with it ignored
    size = plan.QUICK if asked.quick else plan.FULL
    try:
        found = find(asked.perf_analyzer, asked.wrk)
        for line in found.missing:
            say(line)
        tools = {name: tool for name, tool in found.tools.items() if not (asked.quick and name == plan.OURS_2)}
        runs = all_of_it(size, tools, asked.only, asked.wait_quiet)
    except BenchError as exc:
        sys.stderr.write(f"Error: {exc.message}\n")
        return 2
    if not runs:
        return 130
    checks = check_all(runs)
    document = markdown(runs, checks, found.missing, facts(tools, size))
    path = write(runs, document, asked.out, whole=not asked.quick and not asked.only)
    for check in checks:
        sys.stdout.write(f"{check.verdict:8}{check.name}: expected {check.expected}, measured {check.measured}\n")
    sys.stdout.write(f"Written: {path.name} and {path.with_suffix('.csv').name} in {path.parent.name}/\n")
    return 1 if any(check.verdict == FAILS for check in checks) else 0


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
