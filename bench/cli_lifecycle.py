"""The commands about what runs on this machine: `up`, `clean`, `doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple
from pathlib import Path

import typer

from bench.cli_endings import Guard, console, print_json
from bench.cli_options import Debug, Json, OnlyServers, Quiet, Runtime, ScenarioFile, Sets, scenario_of


@contextmanager
def leased() -> Iterator[None]:
    """What killed commands left is ended first; what this one starts can be found if it is killed."""
    from bench.servers.lease import hold_lease
    from bench.servers.leftovers import end_leftovers
    from bench.servers.runtime import cache_folder

    for ended in end_leftovers(cache_folder()):
        typer.echo(f"note: ended what was left {ended.line()}", err=True)
    with hold_lease(cache_folder()):
        yield


def up(
    scenario: ScenarioFile, set_: Sets = [], server: OnlyServers = [], runtime: Runtime = None, json_: Json = False,
    quiet: Quiet = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Launch the servers and keep them until Ctrl-C; prints where they answer. The model is checked as in a run.

    Example: serve-bench up scenarios/quickstart.yaml --server triton
    """
    with Guard(debug, quiet, json_) as guard, leased():
        loaded = scenario_of(scenario, set_, server, None, runtime)
        from bench.serving import kept, watch

        with kept(loaded, Path(), guard.status.tell) as (endpoints, running):
            guard.status.clear()
            if json_:
                print_json({"servers": [{**asdict(endpoint), "example": endpoint.example} for endpoint in endpoints]})
            else:
                for endpoint in endpoints:
                    typer.echo(f"{endpoint.server}: {endpoint.kind} {endpoint.version} serves {endpoint.model}")
                    for purpose, url in endpoint.urls.items():
                        typer.echo(f"  {purpose:16} {url}")
                    typer.echo(f"  {endpoint.example}")
                typer.echo("Ctrl-C stops them.")
            try:
                watch(running)
            except KeyboardInterrupt:  # the way in which this command ends
                guard.status.tell("stopping the servers", None)


def clean(json_: Json = False, debug: Debug = False) -> None:
    """End what a killed serve-bench left: servers, temporary folders, shared memory. Nothing else is touched.

    Example: serve-bench clean
    """
    with Guard(debug, json_=json_) as guard:
        from bench.servers.leftovers import end_leftovers
        from bench.servers.runtime import cache_folder

        ended = end_leftovers(cache_folder())
        if json_:
            print_json({"ended": [asdict(one) for one in ended]})
        elif not ended:
            typer.echo("Nothing was left.")
        for one in ended if not json_ else ():
            typer.echo(f"ended what was left {one.line()}")
        if any(one.still for one in ended):
            guard.exit(3)


def doctor(json_: Json = False, debug: Debug = False) -> None:
    """What this machine can run, and what to do about the rest. Exit code 0 when servers can run as processes.

    Example: serve-bench doctor
    """
    with Guard(debug, json_=json_) as guard:
        from bench.doctor import diagnose, works

        findings = diagnose()
        code = 0 if works(findings) else 3
        if json_:
            print_json({"works": code == 0, "findings": [asdict(finding) for finding in findings]})
        else:
            from bench.report.doctor import print_findings

            print_findings(console(), map(astuple, findings))
        guard.exit(code)


def register(app: typer.Typer) -> None:
    for command in (up, clean, doctor):
        app.command()(command)
