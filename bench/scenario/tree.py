"""The YAML of a scenario as plain values, with the line of each and what the command line replaced."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Path = tuple[str | int, ...]


@dataclass(slots=True)
class Tree:
    """`data` is made of dict, list, str, int, float, bool and None alone."""

    data: object
    lines: dict[Path, int] = field(default_factory=dict)  # 1-based, of every key and list item
    origins: dict[Path, str] = field(default_factory=dict)  # the option that set a path, such as --set
    reported: set[Path] = field(default_factory=set)  # values that already have their problem

    def line(self, path: Path) -> int:
        """The line of a path or, when it is not there, of what it would stand in; 0 when an option set it."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.origins:
                return 0
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return 0

    def found(self, path: Path, what: str) -> str:
        """What was found, and the option that it comes from when that is not the file."""
        options = (self.origins[path[:end]] for end in range(len(path), -1, -1) if path[:end] in self.origins)
        option = next(options, "")
        return f"{what} (from {option})" if option else what

    def is_reported(self, path: Path) -> bool:
        return any(path[:end] in self.reported for end in range(len(path) + 1))

    def at(self, *path: str | int) -> object:
        """The value at a path, None when there is none."""
        node = self.data
        for step in path:
            if isinstance(node, dict):
                node = node.get(step)
            elif isinstance(node, list) and isinstance(step, int) and step < len(node):
                node = node[step]
            else:
                return None
        return node

    def mapping(self, *path: str | int) -> dict[str, object]:
        """The mapping at a path, empty when there is none or it is something else."""
        node = self.at(*path)
        return node if isinstance(node, dict) else {}

    def put(self, path: Path, value: object, option: str) -> None:
        """Replaces the value at a path whose surroundings exist; lines below it no longer mean anything."""
        *parents, last = path
        holder: Any = self.at(*parents)
        holder[last] = value
        size = len(path)
        self.lines = {p: line for p, line in self.lines.items() if p[:size] != path}
        self.origins = {p: o for p, o in self.origins.items() if p[:size] != path}
        self.reported = {p for p in self.reported if p[:size] != path}
        self.origins[path] = option
