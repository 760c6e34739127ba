"""How a command ends: one line on standard error, the exit code, and JSON where it was asked for."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from bench.errors import BenchError, MeasurementInvalid, ScenarioError, ServerError

if TYPE_CHECKING:
    from bench.analysis.run import Analysis
    from bench.report.status import StatusLine

EXIT_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (ScenarioError, 2),
    (ServerError, 3),
    (MeasurementInvalid, 4),
    (KeyboardInterrupt, 130),
)
UNEXPECTED = 3
NARROWEST = 100


class Guard:
    """Turns what a command raises into one line on standard error and the right exit code."""

    def __init__(self, debug: bool, quiet: bool = False, json_: bool = False) -> None:
        self._debug = debug
        self._quiet = quiet
        self._json = json_
        self.status: StatusLine

    def __enter__(self) -> Guard:
        from bench.report.status import StatusLine

        self.status = StatusLine(sys.stderr, quiet=self._quiet)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.status.clear()
        if error is None or isinstance(error, typer.Exit | SystemExit):
            return
        if self._debug:
            traceback.print_exception(error)
        print_error(error)
        code = code_of(error)
        if self._json:
            problems = error.problems if isinstance(error, ScenarioError) else ()
            print_json({"verdict": str(error), "exit_code": code, "problems": [problem_json(p) for p in problems]})
        raise typer.Exit(code) from None

    def exit(self, code: int) -> NoReturn:
        raise typer.Exit(code)


def code_of(error: BaseException) -> int:
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), UNEXPECTED)


def print_error(error: BaseException) -> None:
    if isinstance(error, KeyboardInterrupt):
        typer.echo("Interrupted.", err=True)
    elif isinstance(error, BenchError):
        typer.echo(f"Error: {error.message}", err=True)
        if error.detail:
            typer.echo("\n".join(f"  {line}" for line in error.detail.splitlines()), err=True)
    else:
        typer.echo(f"Error: {type(error).__name__}: {error} (--debug shows where)", err=True)


def verdict_of(analysis: Analysis, error: BaseException | None) -> tuple[str, int]:
    """The run in one line, and its exit code: what ended it early comes before what it measured."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; what was measured is saved", 130
    if error is not None:
        return str(error), code_of(error)
    verdicts = analysis.verdicts
    bad = [v for v in verdicts if v.outcome in ("invalid", "fails")]
    code = analysis.exit_code
    if not bad:
        return f"all {sum(v.outcome == 'holds' for v in verdicts)} checks hold", code
    first = min(bad, key=lambda v: v.outcome != "invalid")
    kind = "the measurement is invalid" if code == 4 else f"{len(bad)} of {len(verdicts)} checks fail"
    return f"{kind}: {first.check}, {first.server} {first.subject}: {first.why}", code


def problem_json(problem: Any) -> dict[str, object]:
    return {name: getattr(problem, name) for name in ("line", "field", "expected", "found", "hint")}


def print_json(document: object) -> None:
    typer.echo(json.dumps(document, indent=2, default=str))


def console() -> Any:
    from rich.console import Console

    # Without a terminal there is no width to fit in. On a narrow one the lines wrap whole: a table made to fit would
    # break numbers in two.
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return Console(width=max(NARROWEST, Console().width))
    return Console(width=200)
