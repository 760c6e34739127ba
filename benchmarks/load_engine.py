"""The load engine and its peers side by side against a neutral receiver on this machine.

    python -m benchmarks.load_engine            all of it, about 27 minutes
    python -m benchmarks.load_engine --quick    about two minutes, fewer repeats, rates and seeds, one worker

Writes benchmarks/results/<date>-load_engine.{md,csv,png}, and benchmarks/load_engine.{md,png} when all of it was run.
Exits 1 when a promise does not hold.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import FrameType

from bench.environment import describe
from bench.errors import BenchError
from benchmarks.checks import check_all
from benchmarks.document import markdown
from benchmarks.figures import Figures
from benchmarks.names import PURPOSES
from benchmarks.peers import PEERS, find
from benchmarks.plan import everything
from benchmarks.plots import write_picture
from benchmarks.runs import Runs, say
from benchmarks.runs_csv import as_csv
from benchmarks.sizes import FULL, QUICK, Size
from benchmarks.tools import Tool
from benchmarks.verdicts import FAILS, Check

HERE = Path(__file__).parent


def facts(tools: Mapping[str, Tool], size: Size) -> dict[str, str]:
    """What was measured on, and how much."""
    here = describe()
    versions = {name: metadata.version(name) for name in ("uvloop", "httptools", "grpcio", "numpy")}
    return {
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{here['cpu']}, {here['cores']} cores, {here['system']}",
        "revision": str(here["git_revision"]),
        "Python": f"{here['python']}, " + ", ".join(f"{name} {version}" for name, version in versions.items()),
        "tools": "; ".join(tools),
        "size": f"{size.repeats} repeats of {size.seconds:g} s, {size.seeds} seeds of {size.gaps} gaps, "
        f"soak of {size.soak_seconds:g} s",
    }


def write(
    runs: Sequence[Figures],
    checks: Sequence[Check],
    missing: Sequence[str],
    measured_on: Mapping[str, str],
    folder: Path,
    whole: bool,
) -> Path:
    """Document, CSV and picture into the folder; document and picture beside this file too when `whole`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y-%m-%d}-load_engine.md"
    path.with_suffix(".csv").write_text(as_csv(runs))
    for document in (path, HERE / "load_engine.md") if whole else (path,):
        picture = document.with_suffix(".png")
        drawn = write_picture(picture, runs)
        document.write_text(markdown(runs, checks, missing, measured_on, picture.name if drawn else ""))
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="about two minutes; no promise is proven by it")
    for peer in PEERS:
        parser.add_argument(peer.option, metavar="PATH", help="the program; else from PATH or the cache folder")
    parser.add_argument("--wait-quiet", metavar="SECONDS", type=float, default=0.0, help="before each run, at most")
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=HERE / "results")
    parser.add_argument("--only", action="append", choices=PURPOSES, default=[], help="may be given again")
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)  # also where a shell started this with it ignored
    size = QUICK if asked.quick else FULL
    given = {peer.program: path for peer in PEERS if (path := getattr(asked, peer.program))}
    try:
        found = find(given)
        for line in found.missing:
            say(line)
        runs = Runs(found.tools, asked.wait_quiet)
        runs.make(everything(size, found.tools, asked.only))
    except BenchError as exc:
        sys.stderr.write(f"Error: {exc.message}\n")
        return 2
    if not runs.done:
        return 130
    checks = check_all(runs.done)
    whole = not asked.quick and not asked.only and not runs.interrupted
    path = write(runs.done, checks, found.missing, facts(found.tools, size), asked.out, whole)
    for check in checks:
        sys.stdout.write(f"{check.verdict:13}{check.name}: expected {check.expected}, measured {check.measured}\n")
    sys.stdout.write(f"Written: {path.name}, and its .csv and .png, in {path.parent.name}/\n")
    return 1 if any(check.verdict == FAILS for check in checks) else 0


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
