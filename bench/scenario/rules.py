"""What several fields must be together. A rule reads its own operands, and is silent without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticCustomError

from bench.errors import Problem
from bench.scenario import spec
from bench.scenario.batch_sizes import batch_size_problems
from bench.scenario.form import BATCH_SIZE, KIND, PORT, POSITIVE_DURATION, QUEUE_DELAY, QUEUE_SIZE, RATE
from bench.scenario.kinds import LIMITS, KindLimits
from bench.scenario.tree import Path, Tree
from bench.scenario.units import duration_text
from bench.scenario.values import Reader
from bench.scenario.wording import dotted, near_or_known, plain, show

_DEFAULTS = spec.Server(name="", kind="triton")


@dataclass(frozen=True, slots=True)
class _Operands:
    """What can be read of one server; None where it cannot."""

    name: str
    limits: KindLimits | None
    max_batch_size: int | None
    delay_s: float | None

    def path(self, key: str) -> Path:
        return ("servers", self.name, key)


def rule_problems(tree: Tree) -> Iterator[Problem]:
    servers = [_operands(tree, name) for name in tree.mapping("servers")]
    slo_s = _read(POSITIVE_DURATION, tree, ("slo", "response_time"), spec.Objective().response_time_s)
    for server in servers:
        if isinstance(tree.at("slo"), dict) and slo_s is not None:
            yield from _delay_within_objective(tree, server, slo_s)
        yield from _delay_that_batches(tree, server)
        yield from _queue_that_holds_a_batch(tree, server)
        yield from _ports(tree, server)
    limits = {server.name: server.max_batch_size for server in servers if server.max_batch_size is not None}
    yield from batch_size_problems(tree, limits)
    yield from _different_rates(tree)
    yield from _search_with_an_objective(tree)


def _operands(tree: Tree, name: str) -> _Operands:
    at: Path = ("servers", name)
    if not isinstance(tree.at(*at), dict):
        return _Operands(name, None, None, None)
    kind = _read(KIND, tree, (*at, "kind"), None)
    return _Operands(
        name,
        LIMITS[kind] if kind else None,
        _read(BATCH_SIZE, tree, (*at, "max_batch_size"), _DEFAULTS.max_batch_size),
        _read(QUEUE_DELAY, tree, (*at, "max_queue_delay"), _DEFAULTS.max_queue_delay_s),
    )


def _read(reader: Reader, tree: Tree, path: Path, default: Any) -> Any:
    *section, key = path
    if key not in tree.mapping(*section):
        return default
    try:
        return reader.read(tree.at(*path))
    except PydanticCustomError:
        return None


def _delay_within_objective(tree: Tree, server: _Operands, slo_s: float) -> Iterator[Problem]:
    if server.delay_s is None or server.delay_s < slo_s:
        return
    expected = f"a delay below slo.response_time, {duration_text(slo_s)}"
    hint = "delay longer than objective: lower max_queue_delay or raise slo.response_time"
    yield _delay_problem(tree, server, server.delay_s, expected, hint)


def _delay_that_batches(tree: Tree, server: _Operands) -> Iterator[Problem]:
    limits, delay_s = server.limits, server.delay_s
    if limits is None or delay_s is None:
        return
    least_s = limits.smallest_batching_delay_s
    steps = delay_s / limits.delay_step_s
    if (server.max_batch_size or 1) > 1 and delay_s < least_s:
        expected = f"at least {duration_text(least_s)} when max_batch_size is above 1"
        hint = f"{limits.why_not_less}: its smallest safe delay is {duration_text(least_s)}, set that"
        yield _delay_problem(tree, server, delay_s, expected, hint)
    elif abs(steps - round(steps)) > 1e-6:
        unit = "milliseconds" if limits.delay_step_s == 1e-3 else "microseconds"
        near = duration_text(max(1, round(steps)) * limits.delay_step_s)
        expected = f"a whole number of {unit}, which is {limits.title}'s unit"
        yield _delay_problem(tree, server, delay_s, expected, f"write {near}")


def _delay_problem(tree: Tree, server: _Operands, delay_s: float, expected: str, hint: str) -> Problem:
    path = server.path("max_queue_delay")
    given = "max_queue_delay" in tree.mapping("servers", server.name)
    found = tree.found(path, duration_text(delay_s)) if given else f"{duration_text(delay_s)} (the default)"
    return Problem(tree.line(path), dotted(path), expected, found, hint)


def _queue_that_holds_a_batch(tree: Tree, server: _Operands) -> Iterator[Problem]:
    path = server.path("max_queue_size")
    size = _read(QUEUE_SIZE, tree, path, None)
    if size is None or server.max_batch_size is None or size >= server.max_batch_size:
        return
    expected = f"at least max_batch_size, {server.max_batch_size}"
    hint = "a batch forms in the queue: a shorter one never fills it"
    yield Problem(tree.line(path), dotted(path), expected, tree.found(path, str(size)), hint)


def _ports(tree: Tree, server: _Operands) -> Iterator[Problem]:
    first: dict[int, str] = {}
    for name in tree.mapping(*server.path("ports")):
        path = (*server.path("ports"), name)
        if server.limits and name not in server.limits.ports:
            found = tree.found(path, f"'{plain(name)}'")
            hint = near_or_known(name, server.limits.ports)
            yield Problem(tree.line(path), dotted(path), f"the name of a {server.limits.title} port", found, hint)
        port = _read(PORT, tree, path, None)
        if port is None:
            continue
        if port in first:
            found = tree.found(path, f"{port}, which {plain(first[port])} has")
            yield Problem(tree.line(path), dotted(path), "a port of its own", found, "choose another port")
        first.setdefault(port, name)


def _different_rates(tree: Tree) -> Iterator[Problem]:
    """A rate is the name of its point in the results."""
    rates = tree.at("load", "rates")
    if not isinstance(rates, list):
        return
    counts = Counter(rate for rate in rates if isinstance(rate, int | float) and not isinstance(rate, bool))
    for rate, count in counts.items():
        if count > 1:
            path: Path = ("load", "rates")
            found = tree.found(path, f"{show(rate)}, {count} times")
            hint = "load.replications repeats a point"
            yield Problem(tree.line(path), dotted(path), "each rate once", found, hint)


def _search_with_an_objective(tree: Tree) -> Iterator[Problem]:
    """A search needs something to meet, and a range to look in."""
    path: Path = ("load", "search")
    if not isinstance(tree.at(*path), dict):
        return
    if not isinstance(tree.at("slo"), dict):
        hint = "add slo: {percentile: 99, response_time: 60ms}, or leave load.search out"
        yield Problem(tree.line(path), dotted(path), "an objective to meet: the key slo", "none", hint)
    first = _read(RATE, tree, (*path, "from"), spec.Search().from_per_s)
    last = _read(RATE, tree, (*path, "to"), None)
    if first is not None and last is not None and last <= first:
        to = (*path, "to")
        yield Problem(tree.line(to), dotted(to), f"more than from, {first:g}", tree.found(to, f"{last:g}"), "")
