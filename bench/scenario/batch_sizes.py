"""Which batch sizes can be calibrated, given the largest batch of each server."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic_core import PydanticCustomError

from bench.errors import Problem
from bench.scenario import spec
from bench.scenario.form import BATCH_SIZE, MOST_BATCH_SIZES
from bench.scenario.tree import Path, Tree
from bench.scenario.wording import dotted, listed, plain

_SIZES: Path = ("calibration", "batch_sizes")
_FEWEST_SIZES = 3  # c and m take two points; a third shows whether the curve is a line at all


def default_batch_sizes(largest: int) -> tuple[int, ...]:
    """Sizes of the default list up to the smallest max_batch_size of all servers, and that size."""
    sizes = spec.Calibration().batch_sizes
    return tuple(sorted({size for size in sizes if size <= largest} | {largest}))


def batch_size_problems(tree: Tree, limits: dict[str, int]) -> Iterator[Problem]:
    """`limits`: the max_batch_size of each server of which it can be read."""
    given = tree.mapping("calibration").get("batch_sizes")
    if "batch_sizes" not in tree.mapping("calibration"):
        yield from _too_small_to_calibrate(tree, limits)
    elif isinstance(given, list):
        sizes = {i: size for i in range(len(given)) if (size := _read_item(given[i])) is not None}
        yield from _sizes_as_a_list(tree, given, sizes, min(limits.values(), default=_FEWEST_SIZES))
        yield from _sizes_within_limits(tree, sizes, limits)


def _read_item(value: object) -> int | None:
    try:
        return BATCH_SIZE.read(value)
    except PydanticCustomError:
        return None


def _too_small_to_calibrate(tree: Tree, limits: dict[str, int]) -> Iterator[Problem]:
    for name, largest in limits.items():
        if largest < 2:
            path: Path = ("servers", name, "max_batch_size")
            hint = "c and m cannot be told apart from batches of one"
            yield Problem(tree.line(path), dotted(path), "at least 2", tree.found(path, str(largest)), hint)


def _sizes_as_a_list(tree: Tree, given: list[object], sizes: dict[int, int], largest: int) -> Iterator[Problem]:
    line, field = tree.line(_SIZES), dotted(_SIZES)
    if len(given) > MOST_BATCH_SIZES:
        yield Problem(line, field, f"at most {MOST_BATCH_SIZES} sizes", tree.found(_SIZES, str(len(given))))
    # A server whose largest batch is 2 has no third size.
    fewest = max(2, min(_FEWEST_SIZES, largest))
    different = len(set(sizes.values()))
    readable = len(sizes) == len(given)
    if readable and different < fewest:
        hint = "c and m are fitted from them"
        yield Problem(line, field, f"at least {fewest} different sizes", tree.found(_SIZES, str(different)), hint)
    if readable and given and 1 not in sizes.values():
        found = tree.found(_SIZES, f"only {listed([str(size) for size in list(sizes.values())[:8]])}")
        yield Problem(line, field, "the size 1 among them", found, "speedup is relative to one request: add 1")
    seen: dict[int, int] = {}
    for index, size in sizes.items():
        if size in seen:
            path = (*_SIZES, index)
            yield Problem(tree.line(path), dotted(path), "each size once", tree.found(path, f"{size} again"))
        seen.setdefault(size, index)


def _sizes_within_limits(tree: Tree, sizes: dict[int, int], limits: dict[str, int]) -> Iterator[Problem]:
    for index, size in sizes.items():
        small = [name for name, largest in limits.items() if largest < size]
        if small:
            path = (*_SIZES, index)
            least = min(limits[name] for name in small)
            expected = f"at most {least}, the smallest max_batch_size ({listed([plain(name) for name in small])})"
            hint = "remove the size or raise max_batch_size"
            yield Problem(tree.line(path), dotted(path), expected, tree.found(path, str(size)), hint)
