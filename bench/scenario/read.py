"""YAML text to a `Tree`, without ever constructing an object: ruamel parses, plain values are made here.

Stops at the parser's graph of nodes because that has the line of every key, twice given ones included,
and because no tag, whatever it says, can run anything there.
"""

from __future__ import annotations

import warnings

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLWarning
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from bench.errors import Problem
from bench.scenario.scalars import PLAIN_TAGS, scalar
from bench.scenario.text import UnreadableError
from bench.scenario.tree import Path, Tree
from bench.scenario.wording import cut, dotted, plain, show

# A scenario has some tens of values. These stop aliases that multiply into millions, and nesting that
# would exhaust the stack.
MOST_VALUES = 10_000
DEEPEST = 32

_MERGE = "tag:yaml.org,2002:merge"
_COLLECTIONS = {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}


def read_yaml(text: str) -> tuple[Tree, list[Problem]]:
    """The values, and what is wrong with them as YAML; UnreadableError when they cannot be told."""
    root = _compose(text)
    reading = _Reading()
    if root is None:
        reading.tree.lines[()] = 1
        return reading.tree, reading.problems
    reading.tree.lines[()] = root.start_mark.line + 1
    reading.tree.data = reading.value(root, ())
    return reading.tree, reading.problems


def _compose(text: str) -> Node | None:
    try:
        with warnings.catch_warnings():
            # An anchor used twice is allowed, and a warning would have no place to go.
            warnings.simplefilter("ignore", YAMLWarning)
            _refuse_size(text)
            root: Node | None = YAML(typ="rt", pure=True).compose(text)
            return root
    except MarkedYAMLError as error:
        raise UnreadableError(_syntax(error, text)) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        found = f"character {show(text[error.position : error.position + 1])}"
        raise UnreadableError(Problem(line, "", "YAML text", found, "delete that character")) from None
    except (YAMLError, ValueError, TypeError, LookupError, AttributeError, AssertionError) as error:
        # ruamel lets errors of its own internals through on some malformed input.
        raise UnreadableError(Problem(0, "", "YAML", f"text that is none ({cut(str(error))!r})")) from None


def _refuse_size(text: str) -> None:
    depth = 0
    for count, event in enumerate(YAML(typ="rt", pure=True).parse(text)):
        if count > 4 * MOST_VALUES:
            raise UnreadableError(_too_many(event.start_mark.line + 1, "is this the scenario?"))
        if isinstance(event, CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise UnreadableError(_too_deep(event.start_mark.line + 1))
        elif isinstance(event, CollectionEndEvent):
            depth -= 1


def _too_many(line: int, hint: str) -> Problem:
    return Problem(line, "", f"at most {MOST_VALUES} values", "more", hint)


def _too_deep(line: int) -> Problem:
    return Problem(line, "", f"at most {DEEPEST} levels", "deeper nesting", "is a bracket missing?")


def _syntax(error: MarkedYAMLError, text: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    problem = (error.problem or "a syntax error").replace("\t", r"\t")
    found = problem.removeprefix("found ") if problem.startswith("found ") else f"a mistake: {problem}"
    if error.context and error.context_mark:
        found += f" {error.context} from line {error.context_mark.line + 1}"
    hint = "indent with spaces, not tabs" if r"\t" in found else "check the indentation, quotes and brackets here"
    if "another document" in found:
        hint = "one scenario a file: remove the second '---'"
    # What is never closed is noticed at the end, which may be a line that is not there.
    last = text.rstrip().count("\n") + 1
    return Problem(min(mark.line + 1, last) if mark else 0, "", "YAML", _one_line(found), hint)


def _one_line(text: str) -> str:
    return " ".join(plain(word) for word in text.split())


class _Reading:
    """One walk over the nodes: aliases become copies, so that no two places share a value."""

    def __init__(self) -> None:
        self.tree = Tree(None)
        self.problems: list[Problem] = []
        self._values = 0

    def value(self, node: Node, path: Path) -> object:
        self._values += 1
        line = node.start_mark.line + 1
        if self._values > MOST_VALUES:
            raise UnreadableError(_too_many(line, "an alias (*name) repeats all that its anchor holds"))
        if len(path) > DEEPEST:
            raise UnreadableError(_too_deep(line))
        if node.tag not in (PLAIN_TAGS if isinstance(node, ScalarNode) else _COLLECTIONS):
            tag = (node.tag or "").replace("tag:yaml.org,2002:", "!!")
            self._problem(path, "a value without a tag", f"the tag {plain(tag)}", "delete the tag")
            self.tree.reported.add(path)
            return None
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return self._sequence(node, path)
        return scalar(node.tag, node.value)

    def _sequence(self, node: SequenceNode, path: Path) -> list[object]:
        items: list[object] = []
        for index, item in enumerate(node.value):
            self.tree.lines[(*path, index)] = item.start_mark.line + 1
            items.append(self.value(item, (*path, index)))
        return items

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, object]:
        values: dict[str, object] = {}
        self._fill(values, node, path)
        return values

    def _fill(self, values: dict[str, object], node: Node, path: Path, merges: int = 0) -> None:
        """Keys of a mapping, then what `<<: *anchor` brings: the nearer wins, and of several the first."""
        line = node.start_mark.line + 1
        if not isinstance(node, MappingNode):
            self.problems.append(Problem(line, dotted((*path, "<<")), "a mapping to merge", "something else"))
            return
        if merges > DEEPEST:
            raise UnreadableError(_too_deep(line))
        further: list[Node] = []
        for key, value in node.value:
            if key.tag == _MERGE:
                further += value.value if isinstance(value, SequenceNode) else [value]
            elif not merges or not isinstance(key, ScalarNode) or key.value not in values:
                self._entry(values, key, value, path)
        for merged in further:
            self._values += 1
            self._fill(values, merged, path, merges + 1)

    def _entry(self, values: dict[str, object], key: Node, value: Node, path: Path) -> None:
        line = key.start_mark.line + 1
        if not isinstance(key, ScalarNode):
            self.problems.append(Problem(line, dotted(path), "a word as the key", "a list or a mapping"))
            return
        place = (*path, key.value)
        if key.value in values:
            found = f"it again (first on line {self.tree.lines[place]})"
            self.problems.append(Problem(line, dotted(place), "each key once", found, "delete one of the two"))
            return
        self.tree.lines[place] = line
        values[key.value] = None
        values[key.value] = self.value(value, place)

    def _problem(self, path: Path, expected: str, found: str, hint: str) -> None:
        self.problems.append(Problem(self.tree.line(path), dotted(path), expected, found, hint))
