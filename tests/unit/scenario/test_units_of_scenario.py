from __future__ import annotations

import pytest

from bench.scenario.units import duration_text, fraction_text, parse_duration, parse_fraction


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("5ms", 0.005),
        ("60 ms", 0.06),
        ("0.3ms", 0.0003),
        ("250us", 0.00025),
        ("250µs", 0.00025),  # micro sign
        ("250μs", 0.00025),  # Greek letter
        ("1s", 1.0),
        ("2 min", 120.0),
        ("1.5h", 5400.0),
        (" 7s ", 7.0),
        ("1e3us", 0.001),
        (".5s", 0.5),
        ("5.s", 5.0),
        ("3", 3.0),
        (3, 3.0),
        (0.25, 0.25),
        (0, 0.0),
        ("-5ms", -0.005),
    ],
)
def test_a_duration_is_read_as_the_nearest_float_of_seconds(written: object, seconds: float) -> None:
    assert parse_duration(written) == seconds


@pytest.mark.parametrize(
    "written",
    [
        *(
            "",
            "ms",
            "5m",
            "5 sec",
            "5MS",
            "1:30",
            "five",
            "5ms5",
            "1e999s",
            "inf",
            "nan",
            "0x5",
            "٣s",
            "5" * 61,
        ),
        *("5" + " " * 100_000 + "ms", True, None, [5], {"s": 5}, float("nan"), float("inf"), 10**400),
    ],
)
def test_what_is_no_duration_is_refused_with_the_accepted_forms(written: object) -> None:
    with pytest.raises(ValueError, match=r"expected a duration such as 5ms, 250us, 1.5s or 2min \(a bare"):
        parse_duration(written)


@pytest.mark.parametrize(
    ("written", "fraction"),
    [("2%", 0.02), ("0.5 %", 0.005), ("100%", 1.0), ("0.02", 0.02), (0.02, 0.02), (1, 1.0), ("7%", 0.07)],
)
def test_a_fraction_is_read_from_percent_or_a_bare_number(written: object, fraction: float) -> None:
    assert parse_fraction(written) == fraction


@pytest.mark.parametrize("written", ["", "%", "2 percent", "2%%", "1/50", False, None, [0.1], float("-inf")])
def test_what_is_no_fraction_is_refused_with_the_accepted_forms(written: object) -> None:
    with pytest.raises(ValueError, match=r"expected a fraction such as 2% or 0.02, found"):
        parse_fraction(written)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.005, "5ms"), (0.0025, "2.5ms"), (0.00025, "250us"), (1.0, "1s"), (120.0, "120s"), (0.0, "0s")],
)
def test_a_duration_is_shown_in_its_natural_unit(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_fraction_is_shown_in_percent() -> None:
    assert [fraction_text(f) for f in (0.05, 0.005, 1.0)] == ["5%", "0.5%", "100%"]
