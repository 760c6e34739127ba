"""How a problem shows values, lists and near misses, always within one line."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence

_LONGEST = 60


def show(value: object) -> str:
    """A value from the file as one would write it there, cut when it is long."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if isinstance(value, str):
        return repr(cut(value))
    return cut(repr(value))


def cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def dotted(path: Iterable[str | int]) -> str:
    """A path as `--set` takes it: servers.triton.max_batch_size, load.rates.0."""
    return ".".join(plain(str(step)) for step in path)


def plain(text: str) -> str:
    """Text without anything that would break or colour a line of the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut(text))


def either(words: Sequence[str]) -> str:
    """constant or poisson; a, b or c."""
    return listed(words, "or")


def listed(words: Sequence[str], last: str = "and") -> str:
    """a; a and b; a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def near(word: str, known: Iterable[str]) -> str:
    """did you mean 'max_batch_size'? Empty when nothing known is close."""
    matches = difflib.get_close_matches(word.lower(), list(known), n=1)
    return f"did you mean '{matches[0]}'?" if matches else ""


def near_or_known(word: str, known: Sequence[str]) -> str:
    return near(word, known) or f"known here: {', '.join(plain(k) for k in known)}"
