"""What the command line changes in a scenario before it is checked: --set, --seed, --server."""

from __future__ import annotations

from collections.abc import Sequence

from bench.errors import Problem
from bench.scenario.read import read_yaml
from bench.scenario.text import UnreadableError
from bench.scenario.tree import Path, Tree
from bench.scenario.wording import dotted, either, near_or_known, plain, show

# Mappings that a file may leave out and --set may still reach into.
_SECTIONS = ("calibration", "load", "slo", "checks")


class _UnknownPathError(Exception):
    def __init__(self, expected: str, found: str, hint: str = "") -> None:
        super().__init__(expected)
        self.expected, self.found, self.hint = expected, found, hint


def apply_set(tree: Tree, setting: str, option: str = "--set") -> list[Problem]:
    """`servers.triton.max_batch_size=8`: the value is YAML, a number steps into a list.

    `option`: what to name as the place of a mistake.
    """
    name, sign, text = setting.partition("=")
    field = plain(name.strip())
    if not sign or not field:
        hint = "write for example --set load.duration=5s"
        return [Problem(0, field, "--set field=value", f"{show(setting)} (from --set)", hint)]
    try:
        value, problems = read_yaml(text)
    except UnreadableError as error:
        value, problems = Tree(None), [error.problem]
    if problems:
        expected = [p.expected if p.expected != "YAML" else "a YAML value" for p in problems]
        return [
            Problem(0, field, said, f"{p.found} (from {option})", p.hint)
            for p, said in zip(problems, expected, strict=True)
        ]
    if not isinstance(tree.data, dict):
        return []  # the file is no scenario, which is the problem to report
    try:
        _put(tree, name.strip().split("."), value.data, option)
    except _UnknownPathError as error:
        return [Problem(0, field, error.expected, f"{error.found} (from {option})", error.hint)]
    return []


def _put(tree: Tree, words: list[str], value: object, option: str) -> None:
    path: Path = ()
    step: str | int
    absent: list[Path] = []
    while words:
        node = {} if absent else tree.at(*path)
        if isinstance(node, dict):
            words, step = _key(node, words)
        elif isinstance(node, list):
            words, step = _index(node, words, path)
        else:
            raise _UnknownPathError("a field that has fields", f"{dotted(path)}, which is {show(node)}")
        last, path = not words, (*path, step)
        if isinstance(node, dict) and step not in node:
            servers = tree.mapping("servers")
            if path[:1] == ("servers",) and len(path) == 2:
                known = [str(name) for name in servers]
                raise _UnknownPathError("a server of the file", show(step), near_or_known(str(step), known))
            if not last:
                _refuse_unless_section(path, node)
                absent.append(path)
    for section in absent:
        tree.put(section, {}, option)
    tree.put(path, value, option)


def _key(node: dict[str, object], words: list[str]) -> tuple[list[str], str]:
    # The name of a server may have dots: the longest key that is there wins.
    for size in range(len(words), 1, -1):
        key = ".".join(words[:size])
        if key in node:
            return words[size:], key
    return words[1:], words[0]


def _index(node: list[object], words: list[str], path: Path) -> tuple[list[str], int]:
    word = words[0]
    # The length, because int() of thousands of digits is an error of its own.
    if not (word.isascii() and word.isdigit() and len(word) < 6 and int(word) < len(node)):
        have = f"0 to {len(node) - 1}" if node else "nothing yet: set the whole list"
        raise _UnknownPathError(f"an index into {dotted(path)}, which has {have}", show(word))
    return words[1:], int(word)


def _refuse_unless_section(path: Path, node: dict[str, object]) -> None:
    if path[0] in _SECTIONS and len(path) == 1:
        return
    if path[0] == "servers" and len(path) == 3 and path[-1] == "ports":
        return
    known = sorted({str(key) for key in node} | set(_SECTIONS if len(path) == 1 else ()))
    found = f"{show(path[-1])}, which is not there"
    hint = near_or_known(str(path[-1]), known) if known else "the file has nothing there to step into"
    raise _UnknownPathError("a field of the scenario", found, hint)


def apply_seed(tree: Tree, seed: int) -> None:
    if isinstance(tree.data, dict):
        tree.put(("seed",), seed, "--seed")


def keep_servers(tree: Tree, names: Sequence[str]) -> list[Problem]:
    """--server: only these. With a name that is not there, all stay, so that the rest is still checked."""
    servers = tree.mapping("servers")
    if not names or not servers:
        return []
    unknown = [name for name in dict.fromkeys(names) if name not in servers]
    if not unknown:
        for name in [name for name in servers if name not in names]:
            del servers[name]
    known = [plain(str(name)) for name in servers]
    return [
        Problem(0, "servers", either(known), f"{show(name)} (from --server)", near_or_known(name, known))
        for name in unknown
    ]
