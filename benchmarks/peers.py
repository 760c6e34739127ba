"""Which peers are on this machine, and how to get one that is not."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.errors import ScenarioError
from bench.servers.runtime import cache_folder
from benchmarks.names import ASYNC, DEFAULT, HEY, LOCUST, OURS, OURS_2, OURS_GRPC, OURS_TABLES, WRK
from benchmarks.tool_hey import Hey
from benchmarks.tool_locust import Locust
from benchmarks.tool_perf_analyzer import PerfAnalyzer
from benchmarks.tool_serve_bench import ServeBench
from benchmarks.tool_wrk import Wrk
from benchmarks.tools import Tool

START_S = 20.0
"""How long a program may take to tell its version."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A program: its name, its option on our command line, how it is got, and the tools that it makes.

    proof: arguments with which it ends with 0 when it runs here; without any, it has to be executable.
    """

    program: str
    get: str
    tools: Callable[[str], list[Tool]]
    proof: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        return f"--{self.program.replace('_', '-')}"

    @property
    def in_cache(self) -> Path:
        """Where it is looked for when it is not on PATH."""
        return cache_folder() / "peers" / self.program / "bin" / self.program


def _by_pip(requirement: str) -> str:
    return f"`python3 -m venv ENV && ENV/bin/pip install {requirement}`"


PEERS = (
    Peer(
        "perf_analyzer",
        f"{_by_pip('perf-analyzer==2.60.0')} (its wheel needs glibc 2.38 or newer)",
        lambda path: [PerfAnalyzer(DEFAULT, path), PerfAnalyzer(ASYNC, path, ("--async", "--max-threads=16"))],
        ("--version",),
    ),
    Peer("locust", _by_pip("locust==2.47.0"), lambda path: [Locust(LOCUST, path)], ("--version",)),
    Peer("hey", "`apt-get install hey`", lambda path: [Hey(HEY, path)]),
    Peer("wrk", "`apt-get install wrk`", lambda path: [Wrk(WRK, path)]),
)


@dataclass(frozen=True, slots=True)
class Found:
    """The tools that run here, and one line for each that does not: why, and how to get it."""

    tools: dict[str, Tool]
    missing: list[str]


def find(given: Mapping[str, str]) -> Found:
    """By the paths given (by program), else by PATH, else in the cache folder.

    Raises ScenarioError when a path that was given does not run.
    """
    ours = (
        ServeBench(OURS),
        ServeBench(OURS_2, workers=2),
        ServeBench(OURS_GRPC, protocol="grpc"),
        ServeBench(OURS_TABLES, tables=True),
    )
    tools: dict[str, Tool] = {tool.name: tool for tool in ours}
    missing = []
    for peer in PEERS:
        path = given.get(peer.program) or shutil.which(peer.program) or _existing(peer.in_cache)
        if path is None:
            missing.append(
                f"{peer.program}: skipped, not found. Get it with {peer.get}, "
                f"and name it with {peer.option} PATH where it is not on PATH"
            )
        elif not (why := _why_not(path, peer.proof)):
            tools |= {tool.name: tool for tool in peer.tools(path)}
        elif peer.program in given:
            raise ScenarioError(f"{peer.option}: expected a program that runs, found {path}: {why}")
        else:
            missing.append(f"{peer.program}: skipped, found but it does not run: {why}")
    return Found(tools, missing)


def _existing(path: Path) -> str | None:
    return str(path) if path.exists() else None


def _why_not(program: str, proof: tuple[str, ...]) -> str:
    """'' when it runs, else the last that it said."""
    if not proof:
        return "" if os.access(program, os.X_OK) else "it cannot be executed"
    try:
        ended = subprocess.run([program, *proof], capture_output=True, text=True, timeout=START_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as exc:
        return str(exc)
    said = (ended.stderr or ended.stdout).strip().splitlines() or ["nothing said"]
    return "" if ended.returncode == 0 else f"exit {ended.returncode}: {said[-1][:200]}"
