"""The command line: the only printer of errors, and the only place that picks exit codes.

Heavy modules are imported inside the commands, so that --help is there at once.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import traceback
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bench.cli_endings import Guard, console, print_error, print_json, problem_json, verdict_of
from bench.cli_lifecycle import leased, register
from bench.cli_options import Debug, Json, OnlyServers, Quiet, Rebuild, Runtime, ScenarioFile, Seed, Sets, scenario_of
from bench.errors import ScenarioError

if TYPE_CHECKING:
    from bench.runner import Finished
    from bench.scenario.spec import Scenario

# gRPC reads it when it is imported, here or in a load worker; its own log would land between the lines of progress.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

app = typer.Typer(
    help="Measures what batching buys on real Triton Inference Server and real TorchServe.\n\n"
    "Example: serve-bench run scenarios/quickstart.yaml",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class ServerKind(StrEnum):
    """Values of --kind."""

    triton = "triton"
    torchserve = "torchserve"


class ProtocolName(StrEnum):
    """Values of --protocol."""

    http = "http"
    grpc = "grpc"


@app.command()
def run(
    scenario: Annotated[Path | None, typer.Argument(metavar="[SCENARIO]", help="Scenario file (YAML).")] = None,
    set_: Sets = [],
    server: OnlyServers = [],
    runtime: Runtime = None,
    seed: Seed = None,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where results go.")] = Path("results"),
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="RUN", help="Measure what is missing in a run that ended early.")
    ] = None,
    rebuild: Rebuild = False,
    json_: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """The main job: build, launch both servers, calibrate, fit, load, check, report.

    Example: serve-bench run scenarios/quickstart.yaml --set load.duration=20s --server triton
    """
    if (scenario is None) == (resume is None):
        raise typer.BadParameter("expected a SCENARIO, or --resume with the folder of a run")
    with Guard(debug, quiet, json_) as guard, leased():
        if scenario is not None:
            loaded = scenario_of(scenario, set_, server, seed, runtime)
        else:
            if set_ or server or seed is not None or runtime is not None:
                raise ScenarioError("run: --resume goes on with the scenario as it was: no --set, --server, --seed …")
            loaded = _unfinished(resume)
        from bench.runner import Options, close_manifest, run_scenario  # heavy: a broken file is told before it

        finished = run_scenario(loaded, Options(out, rebuild=rebuild, resume=resume), guard.status.tell)
        verdict, code = verdict_of(finished.analysis, finished.error)
        close_manifest(finished, verdict, code)
        guard.status.clear()
        _show(finished, verdict, code, json_=json_, debug=debug)
        guard.exit(code)


@app.command()
def validate(
    scenario: ScenarioFile,
    set_: Sets = [],
    server: OnlyServers = [],
    json_: Json = False,
    debug: Debug = False,
) -> None:
    """Every problem of a scenario at once, with line, field, what was expected and what was found.

    Example: serve-bench validate scenarios/quickstart.yaml
    """
    with Guard(debug) as guard:
        try:
            loaded = scenario_of(scenario, set_, server, None)
        except ScenarioError as error:
            if not json_:
                raise
            print_json({"valid": False, "problems": [problem_json(p) for p in error.problems]})
            guard.exit(2)
        if json_:
            print_json({"valid": True, "problems": []})
        else:
            typer.echo(f"{scenario}: valid ({', '.join(s.name for s in loaded.servers)})")


@app.command()
def build(
    scenario: ScenarioFile, set_: Sets = [], server: OnlyServers = [], rebuild: Rebuild = False, json_: Json = False,
    quiet: Quiet = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Only the artifacts: .mar archives into model_stores/, model repositories into triton_repo/.

    Example: serve-bench build scenarios/quickstart.yaml
    """
    with Guard(debug, quiet, json_) as guard, leased():
        from bench.models.prepare import prepare
        from bench.runner import Options, build_artifacts
        from bench.servers.runtime import cache_folder, ensure_runtime

        loaded = scenario_of(scenario, set_, server, None)
        runtime = ensure_runtime(cache_folder(), guard.status.tell)
        model = prepare(loaded.model, runtime.python, cache_folder(), guard.status.tell)
        built = build_artifacts(loaded, model, Options(rebuild=rebuild), guard.status.tell)
        guard.status.clear()
        if json_:
            print_json(
                {
                    a.server: {"folder": str(a.folder), "sha256": a.checksums, "altered": a.altered}
                    for a in built.values()
                }
            )
            return
        for artifact in built.values():
            state = "up to date" if artifact.reused else "built"
            altered = (
                f"; changed since: {', '.join(artifact.altered)} (--rebuild builds it anew)" if artifact.altered else ""
            )
            typer.echo(f"{artifact.server}: {artifact.folder} {state}, {len(artifact.checksums)} files{altered}")


@app.command()
def load(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the server is, e.g. http://127.0.0.1:8000.")],
    kind: Annotated[ServerKind, typer.Option("--kind", help="What it is.")],
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="The model to ask.")],
    rate: Annotated[float, typer.Option("--rate", metavar="R", help="Mean arrivals per second.")],
    duration: Annotated[str, typer.Option("--duration", metavar="TIME", help="How long to measure.")] = "10s",
    warmup: Annotated[
        str, typer.Option("--warmup", metavar="TIME", help="Load before it that is not looked at.")
    ] = "1s",
    arrivals: Annotated[
        str, typer.Option("--arrivals", metavar="PROCESS", help="As in a scenario: poisson, '{gamma: {cv: 2}}', …")
    ] = "poisson",
    protocol: Annotated[ProtocolName, typer.Option("--protocol", help="How to speak to it.")] = ProtocolName.http,
    payload: Annotated[
        list[Path],
        typer.Option("--payload", metavar="FILE", help="A request's body. Repeatable; TorchServe needs one."),
    ] = [],
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes of the load generator.")] = 1,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="TIME", help="A request without an answer is given up then.")
    ] = "30s",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the schedule and of random payloads.")] = 1,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where results go.")] = Path("results"),
    json_: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Open-loop load at any running endpoint; nothing is launched. Load only what is yours.

    Example: serve-bench load http://127.0.0.1:8000 --kind triton --model digits-cnn --rate 200 --duration 10s
    """
    with Guard(debug, quiet, json_) as guard, leased():
        from bench.scenario.load import load_plan

        options = {"arrivals": arrivals, "rates": rate, "duration": duration, "warmup": warmup}
        plan = load_plan(options | {"protocol": protocol.value, "workers": workers, "timeout": timeout})
        from bench import endpoint_load
        from bench.report import quantity

        endpoint = endpoint_load.parse_endpoint(url, kind.value, protocol.value, model)

        def show(live: endpoint_load.Live) -> None:
            done = live.progress
            p50, p99 = quantity.milliseconds(live.p50_s), quantity.milliseconds(live.p99_s)
            text = (
                f"{rate:g}/s asked, {done.sent} sent, {done.finished} completed, p50 {p50}, p99 {p99}, "
                f"{done.failed} errors, {done.in_flight} in flight"
            )
            guard.status.tell(text, done.sent / max(1, done.scheduled))

        folder, analysis, manifest, error = endpoint_load.run_load(endpoint, plan, payload, seed, out, show)
        verdict, code = verdict_of(analysis, error)
        endpoint_load.close_manifest(folder, manifest, verdict, code)
        guard.status.clear()
        if json_:
            row = analysis.load.astype(object).where(analysis.load.notna(), None).to_dict("records")[0]
            print_json({"run": str(folder), "verdict": verdict, "exit_code": code, **row})
        else:
            from bench.report.console import print_run

            typer.echo(f"{model} at {url}: {verdict} (exit {code})")
            print_run(console(), analysis)
            typer.echo(f"\nResults: {folder}")
        guard.exit(code)


@app.command()
def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder below results/.")],
    json_: Json = False,
    debug: Debug = False,
) -> None:
    """Tables and plots of a run, made anew from its raw files; starts no server.

    Example: serve-bench report results/quickstart/20260101T120000Z-a1b2c3
    """
    with Guard(debug) as guard:
        from bench.store.run_folder import RunFolder

        folder = RunFolder(run_folder)
        manifest = folder.manifest()
        from bench import runner
        from bench.report.console import print_run

        analysis = runner.report(folder)
        # How a run ended comes before what its files say: a run that failed is not whole, whatever is left of it.
        ended_well = manifest.get("status") == "complete"
        verdict, code = verdict_of(analysis, None)
        if not ended_well and isinstance(manifest.get("exit_code"), int) and manifest["exit_code"]:
            verdict, code = str(manifest.get("verdict", "ended early")), manifest["exit_code"]
        if json_:
            print_json({**manifest, "run": str(run_folder), "verdict": verdict, "exit_code": code})
        else:
            typer.echo(
                f"{manifest['scenario']['name']}: {manifest.get('status', 'unfinished')}, {verdict} (exit {code})"
            )
            print_run(console(), analysis)
        guard.exit(code)


@app.command()
def law(
    c: Annotated[str | None, typer.Option("--c", metavar="TIME", help="Fixed overhead of a batch, e.g. 6ms.")] = None,
    m: Annotated[str | None, typer.Option("--m", metavar="TIME", help="Cost of one more sample, e.g. 3ms.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", min=1, help="Batch size B.")] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", min=0, help="Arrivals per second λ, for the delay window.")
    ] = None,
    delay: Annotated[
        str | None, typer.Option("--delay", "--d", metavar="TIME", help="Batch delay d, with --rate.")
    ] = None,
    json_: Json = False,
    debug: Debug = False,
) -> None:
    """The formulas on given numbers: serial and batched time, speedup, ceiling, throughput, regime, delay window.

    Example: serve-bench law --c 6ms --m 3ms --batch 10
    """
    with Guard(debug):
        from bench.report.law import law_table, law_values

        if (c is None) != (m is None) or (c is None and rate is None):
            raise ScenarioError("law: expected --c and --m, or --rate with --delay or --batch; serve-bench law --help")
        if delay is not None and (_duration("--delay", delay) or 0) < 0:
            raise ScenarioError(f"law: expected --delay of 0 or more, found {delay}")
        if rate is not None and not (0 < rate < math.inf and (delay is not None or batch is not None)):
            raise ScenarioError(f"law: expected --rate above 0 with --delay or --batch, found --rate {rate:g}")
        try:
            values = law_values(_duration("--c", c), _duration("--m", m), batch, rate, _duration("--delay", delay))
        except ValueError as error:
            raise ScenarioError(f"law: {error}") from error
        if json_:
            print_json(values)
        else:
            typer.echo(law_table(values))


@app.command()
def schema() -> None:
    """JSON Schema of a scenario, for editors.

    Example: serve-bench schema > scenario.schema.json
    """
    from bench.scenario.load import json_schema

    print_json(json_schema())


register(app)


def main() -> None:
    """Entry point. SIGTERM is taken as Ctrl-C, so that servers are stopped and results kept."""
    logging.basicConfig(handlers=[logging.NullHandler()])  # libraries log; what people need to know is printed here
    # A shell starts a background command with SIGINT ignored; one that is sent on purpose must still stop us.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    app()


def _unfinished(resume: Path | None) -> Scenario:
    """The scenario of a run that ended early. Raises ScenarioError for what is no run, and for one that is whole."""
    from bench.store.run_folder import RunFolder

    folder = RunFolder(resume or Path())
    if folder.manifest().get("status") == "complete":
        raise ScenarioError(f"{resume} is complete: nothing of it is missing")
    return folder.scenario()


def _show(finished: Finished, verdict: str, code: int, *, json_: bool, debug: bool) -> None:
    if debug and finished.error is not None:
        traceback.print_exception(finished.error)
    if finished.error is not None:
        print_error(finished.error)
    if json_:
        print_json({"run": str(finished.folder), **finished.manifest})
        return
    from bench.report.console import print_run

    ended = "ended early, with what was measured until then" if finished.error is not None else verdict
    typer.echo(f"{finished.scenario.name}: {ended} (exit {code})")
    for note in finished.manifest["notes"]:
        typer.echo(f"note: {note}")
    print_run(console(), finished.analysis)
    typer.echo(f"\nResults: {finished.folder}")


def _duration(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    from bench.scenario.units import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise ScenarioError(f"{option}: {error}") from error
