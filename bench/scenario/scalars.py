"""One YAML scalar to a plain value. What only looks like a number stays text, and is refused later."""

from __future__ import annotations

from contextlib import suppress

PLAIN_TAGS = {
    f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")
}
# Longer ones are no setting of anything, and Python refuses to print them.
_LONGEST_INTEGER = 40


def scalar(tag: str, text: str) -> str | int | float | bool | None:
    """The value of a scalar whose tag YAML has resolved; dates stay text."""
    match tag.rpartition(":")[2]:
        case "null":
            return None
        case "bool":
            return text.lower() in ("true", "yes", "on", "y")
        case "int" if len(text) <= _LONGEST_INTEGER:
            return _integer(text)
        case "float":
            return _float(text)
    return text


def _integer(text: str) -> int | str:
    for base in (0, 10):  # base 0 knows 0x1f and refuses 012, which YAML 1.2 reads as twelve
        with suppress(ValueError):
            return int(text, base)
    return text


def _float(text: str) -> float | str:
    # YAML writes .inf and .nan; Python would also take "infinity", which YAML reads as text.
    number = text.lower().replace(".inf", "inf").replace(".nan", "nan")
    try:
        return float(number)
    except ValueError:
        return text
