"""Whether the trace that `load.arrivals` names can be replayed at the rates. What is in it is read when it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

from bench.errors import Problem
from bench.scenario.tree import Path, Tree
from bench.scenario.wording import dotted, near_or_known, plain

_TRACE: Path = ("load", "arrivals", "trace")


def trace_problems(tree: Tree, folder: FilePath) -> Iterator[Problem]:
    """`folder`: what the path of the trace is relative to, also when an option names it."""
    trace = tree.at(*_TRACE)
    path: Path = (*_TRACE, "file") if isinstance(trace, dict) else _TRACE
    file = trace.get("file") if isinstance(trace, dict) else trace
    if isinstance(file, str) and file.strip() and "\0" not in file:
        found, hint = _not_readable(folder / file)
        if found:
            found = tree.found(path, f"{found}: {plain(file)}")
            yield Problem(tree.line(path), dotted(path), "a CSV file of times", found, hint)
    yield from _one_rate_as_recorded(tree, trace)


def _one_rate_as_recorded(tree: Tree, trace: object) -> Iterator[Problem]:
    rates = tree.at("load", "rates")
    if isinstance(trace, dict) and trace.get("scale") == "recorded" and isinstance(rates, list) and len(rates) > 1:
        path: Path = ("load", "rates")
        found = tree.found(path, f"{len(rates)} rates")
        hint = "a trace as recorded is the same at every rate: keep one, or use scale: time"
        yield Problem(tree.line(path), dotted(path), "one rate, which names the point", found, hint)


def _not_readable(file: FilePath) -> tuple[str, str]:
    """What is there in place of a file that can be read, and what to do; both empty when it can."""
    try:
        if file.exists() and not file.is_file():
            return "no regular file", "name the .csv file"
        with file.open("rb") as opened:
            return ("", "") if opened.read(1) else ("an empty file", "it needs at least two times")
    except FileNotFoundError:
        return "no such file", _neighbours(file)
    except OSError as error:
        return (error.strerror or type(error).__name__).lower(), "check its path and permissions"


def _neighbours(file: FilePath) -> str:
    try:
        names = sorted(p.name for p in file.parent.glob("*.csv"))
    except OSError:
        names = []
    relative = "a relative path starts at the scenario's folder"
    return near_or_known(file.name, names[:10]) if names else relative
