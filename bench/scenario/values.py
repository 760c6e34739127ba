"""What each kind of value may be: one reader a kind, which pydantic, the rules and the JSON Schema share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from bench.scenario import units
from bench.scenario.wording import either, near

IMAGE_PATTERN = r"^[a-z0-9][a-zA-Z0-9._:/-]{0,250}(@sha256:[0-9a-f]{64})?$"
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
JsonSchema = dict[str, Any]


def refused(expected: str, hint: str = "") -> PydanticCustomError:
    """What a reader raises; `problems` makes the sentence."""
    return PydanticCustomError("refused", "{expected}", {"expected": expected, "hint": hint})


class Reader:
    """Put into `Annotated`, it replaces what pydantic would do with the type."""

    def read(self, value: object) -> Any:
        """The value as the program holds it; raises `refused`."""
        raise NotImplementedError

    def schema(self) -> JsonSchema:
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, _: core_schema.CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchema:
        return self.schema()


@dataclass(frozen=True, slots=True)
class Whole(Reader):
    """An integer from `low` to `high`."""

    low: int
    high: int

    def read(self, value: object) -> int:
        if type(value) is not int or not self.low <= value <= self.high:
            raise refused(f"an integer from {self.low} to {self.high}")
        return value

    def schema(self) -> JsonSchema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Number(Reader):
    """A number above `above` (with `zero`: from it) and up to `high`, or below it with `open_end`."""

    above: float
    high: float
    open_end: bool = False
    zero: bool = False

    def read(self, value: object) -> float:
        # The bounds, compared first, also keep out .nan, .inf and integers too large for a float.
        fits = isinstance(value, int | float) and not isinstance(value, bool) and self.above <= value <= self.high
        if not fits or (self.open_end and value == self.high) or (not self.zero and value == self.above):
            start = f"from {self.above:g}" if self.zero else f"above {self.above:g}"
            end = "below" if self.open_end else "up to"
            raise refused(f"a number {start} and {end} {self.high:,.0f}")
        assert isinstance(value, int | float)  # noqa: S101 - for the type checker, which `fits` is lost on
        return float(value)

    def schema(self) -> JsonSchema:
        start = "minimum" if self.zero else "exclusiveMinimum"
        end = "exclusiveMaximum" if self.open_end else "maximum"
        return {"type": "number", start: self.above, end: self.high}


@dataclass(frozen=True, slots=True)
class Duration(Reader):
    """A time with its unit, above 0 or, with `zero`, from 0; read as seconds."""

    zero: bool = False
    longest_s = 7 * 86_400.0

    def read(self, value: object) -> float:
        expected = f"a duration {'of 0 or more' if self.zero else 'above 0'}, {units.DURATION_FORMS}"
        seconds = _parsed(units.parse_duration, value, expected)
        if seconds < 0 or (seconds == 0 and not self.zero):
            raise refused(expected)
        if seconds > self.longest_s:
            raise refused("a duration of at most 7 days", "a bare number is seconds: write the unit")
        return seconds

    def schema(self) -> JsonSchema:
        least = "minimum" if self.zero else "exclusiveMinimum"
        return {
            "anyOf": [
                {"type": "string", "pattern": units.DURATION_PATTERN},
                {"type": "number", least: 0, "maximum": self.longest_s},
            ]
        }


@dataclass(frozen=True, slots=True)
class Fraction(Reader):
    """A share above 0 and up to 1, which people write as 2% or 0.02."""

    def read(self, value: object) -> float:
        expected = f"a fraction above 0 and up to 1, {units.FRACTION_FORMS}"
        fraction = _parsed(units.parse_fraction, value, expected)
        if not 0 < fraction <= 1:
            bare = 1 < fraction <= 100 and "%" not in str(value)
            raise refused(expected, f"did you mean {units.fraction_text(fraction / 100)}?" if bare else "")
        return fraction

    def schema(self) -> JsonSchema:
        return {
            "anyOf": [
                {"type": "string", "pattern": units.FRACTION_PATTERN},
                {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            ]
        }


@dataclass(frozen=True, slots=True)
class Choice(Reader):
    """One of some words. `later` are words that people may expect and that this version does not have."""

    words: Sequence[str]
    later: Sequence[str] = ()

    def read(self, value: object) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        absent = f" ({' and '.join(self.later)} {'is' if len(self.later) == 1 else 'are'} not in this version)"
        hint = near(value, self.words) if isinstance(value, str) else ""
        raise refused(either(self.words) + (absent if self.later else ""), hint)

    def schema(self) -> JsonSchema:
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class Name(Reader):
    """A name that becomes a folder."""

    def read(self, value: object) -> str:
        if isinstance(value, str) and re.fullmatch(NAME_PATTERN[1:-1], value):
            return value
        hint = "quote it to make it text" if isinstance(value, int | float) else "it names a folder"
        raise refused(
            "a name of at most 64 letters, digits, dots, dashes and underscores, the first a letter or digit",
            hint,
        )

    def schema(self) -> JsonSchema:
        return {"type": "string", "pattern": NAME_PATTERN}


@dataclass(frozen=True, slots=True)
class ImageName(Reader):
    """An image's reference: host, path, tag or digest."""

    def read(self, value: object) -> str:
        if isinstance(value, str) and re.fullmatch(IMAGE_PATTERN[1:-1], value):
            return value
        raise refused("an image by tag or digest, such as nvcr.io/nvidia/tritonserver:25.06-py3")

    def schema(self) -> JsonSchema:
        return {"type": "string", "pattern": IMAGE_PATTERN}


@dataclass(frozen=True, slots=True)
class FileName(Reader):
    """The path of a file; whether there is one is a rule's question."""

    def read(self, value: object) -> str:
        if isinstance(value, str) and value.strip() and "\0" not in value:
            return value
        raise refused("the name of a file, such as arrivals.csv")

    def schema(self) -> JsonSchema:
        return {"type": "string", "minLength": 1}


def _parsed(parse: Callable[[object], float], value: object, expected: str) -> float:
    try:
        number = parse(value)
    except ValueError:
        raise refused(expected) from None
    if not math.isfinite(number):
        raise refused(expected)
    return number
