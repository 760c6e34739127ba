"""Which peers are on this machine, and how to get one that is not."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.errors import ScenarioError
from bench.servers.runtime import cache_folder
from benchmarks.plan import ASYNC, DEFAULT, OURS, OURS_2, WRK
from benchmarks.tools import Ours, PerfAnalyzer, Tool, Wrk

PERF_ANALYZER_IN_CACHE = Path("peers", "perf_analyzer", "bin", "perf_analyzer")


@dataclass(frozen=True, slots=True)
class Found:
    """The tools that run here, and one line for each that does not: why, and how to get it."""

    tools: dict[str, Tool]
    missing: list[str]


def find(perf_analyzer: str | None, wrk: str | None) -> Found:
    """By the paths given, else by PATH (perf_analyzer also in the cache folder).

    Raises ScenarioError when a path that was given does not run.
    """
    tools: dict[str, Tool] = {OURS: Ours(OURS), OURS_2: Ours(OURS_2, workers=2)}
    missing = []
    in_cache = cache_folder() / PERF_ANALYZER_IN_CACHE
    program = perf_analyzer or shutil.which("perf_analyzer") or (str(in_cache) if in_cache.exists() else None)
    if program is None:
        missing.append(
            f"{DEFAULT}: skipped, not found. Get it with `pip install perf-analyzer==2.60.0` in an environment of its "
            f"own (its wheel needs glibc 2.38 or newer), then name it with --perf-analyzer"
        )
    elif (why := _why_not(program, "--version")) and perf_analyzer:
        raise ScenarioError(f"--perf-analyzer: expected a program that runs, found {program}: {why}")
    elif why:
        missing.append(f"{DEFAULT}: skipped, found but it does not run: {why}")
    else:
        tools[DEFAULT] = PerfAnalyzer(DEFAULT, program)
        tools[ASYNC] = PerfAnalyzer(ASYNC, program, ("--async", "--max-threads=16"))

    program = wrk or shutil.which("wrk")
    if program is None:
        missing.append(f"{WRK}: skipped, not found. Get it with `apt-get install wrk`, or name it with --wrk")
    elif wrk and not os.access(wrk, os.X_OK):
        raise ScenarioError(f"--wrk: expected a program, found {wrk}, which cannot be run")
    else:
        tools[WRK] = Wrk(program)
    return Found(tools, missing)


def _why_not(program: str, option: str) -> str:
    """'' when `program option` ends with 0, else the last that it said."""
    try:
        ended = subprocess.run([program, option], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as exc:
        return str(exc)
    said = (ended.stderr or ended.stdout).strip().splitlines() or ["nothing said"]
    return "" if ended.returncode == 0 else f"exit {ended.returncode}: {said[-1][:200]}"
