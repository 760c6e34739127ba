"""Options that several commands take."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bench.scenario.spec import Scenario

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (YAML).")]
Sets = Annotated[
    list[str],
    typer.Option("--set", metavar="a.b=c", help="Override one key, e.g. --set load.duration=20s. Repeatable."),
]
OnlyServers = Annotated[
    list[str], typer.Option("--server", metavar="NAME", help="Only this server of the file. Repeatable.")
]


class RuntimeName(StrEnum):
    """Values of --runtime."""

    process = "process"
    container = "container"


Runtime = Annotated[RuntimeName | None, typer.Option("--runtime", help="How every server runs, not as in the file.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Override the scenario's seed.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Rebuild = Annotated[bool, typer.Option("--rebuild", help="Build the artifacts anew even where they are up to date.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback with an error.")]


def scenario_of(
    path: Path, sets: list[str], servers: list[str], seed: int | None, runtime: RuntimeName | None = None
) -> Scenario:
    """The scenario with its overrides. Raises ScenarioError with every problem."""
    from bench.scenario.load import load_scenario  # heavy

    scenario = load_scenario(path, sets, servers, seed)
    if runtime is None:
        return scenario
    return replace(scenario, servers=tuple(replace(server, runtime=runtime.value) for server in scenario.servers))
