from __future__ import annotations

import io
import re

import pytest

from bench.report import status as module
from bench.report.status import StatusLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A monotonic clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def test_elsewhere_a_new_step_is_a_plain_line_with_the_time_since_the_start(clock: Clock) -> None:
    stream = io.StringIO()
    line = StatusLine(stream)
    clock.now += 12.34
    line.tell("triton: starting", None)
    assert stream.getvalue() == "  12.3 s  triton: starting\n"


def test_elsewhere_a_step_is_told_again_only_after_five_seconds(clock: Clock) -> None:
    stream = io.StringIO()
    line = StatusLine(stream)
    line.tell("triton: 50/s, 3 in flight", 0.1)
    clock.now += 4.9
    line.tell("triton: 50/s, 4 in flight", 0.2)  # the same step: it is what stands before the comma
    assert stream.getvalue().count("\n") == 1
    clock.now += 0.2
    line.tell("triton: 50/s, 5 in flight", 0.25)
    assert stream.getvalue().splitlines()[1] == "   5.1 s  █████░░░░░░░░░░░░░░░  25%  triton: 50/s, 5 in flight"
    line.tell("triton: stopping", None)
    assert stream.getvalue().count("\n") == 3


def test_elsewhere_nothing_but_text_is_written(clock: Clock) -> None:
    stream = io.StringIO()
    line = StatusLine(stream)
    line.tell("a", 0.5)
    line.clear()
    assert "\x1b" not in stream.getvalue()
    assert "\r" not in stream.getvalue()


def test_on_a_terminal_the_line_rewrites_itself_and_is_cleared(clock: Clock) -> None:
    stream = Terminal()
    line = StatusLine(stream)
    line.tell("first", None)
    line.tell("second", 1.0)
    line.clear()
    assert stream.getvalue() == ("\r\x1b[K   0.0 s  first\r\x1b[K   0.0 s  ████████████████████ 100%  second\r\x1b[K")
    assert "\n" not in stream.getvalue()


def test_on_a_terminal_one_step_is_drawn_ten_times_a_second_at_most(clock: Clock) -> None:
    stream = Terminal()
    line = StatusLine(stream)
    for _ in range(100):
        line.tell("triton: calibrating, block 1", 0.5)
        clock.now += 0.01
    assert 9 <= stream.getvalue().count("\r") <= 11


def test_a_line_that_was_never_shown_is_not_cleared() -> None:
    stream = Terminal()
    StatusLine(stream).clear()
    assert stream.getvalue() == ""


def test_a_cleared_line_is_not_cleared_twice(clock: Clock) -> None:
    stream = Terminal()
    line = StatusLine(stream)
    line.tell("a", None)
    line.clear()
    before = stream.getvalue()
    line.clear()
    assert stream.getvalue() == before


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_quiet_says_nothing_at_all(stream: io.StringIO) -> None:
    line = StatusLine(stream, quiet=True)
    line.tell("a", 0.5)
    line.clear()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("fraction", "full"), [(0.0, 0), (0.5, 10), (1.0, 20), (1.4, 20), (-0.1, 0)])
def test_the_bar_never_leaves_its_frame(clock: Clock, fraction: float, full: int) -> None:
    stream = io.StringIO()
    StatusLine(stream).tell("a", fraction)
    assert (stream.getvalue().count("█"), stream.getvalue().count("░")) == (full, 20 - full)


def test_a_line_fits_the_terminal_so_that_it_can_be_cleared(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    StatusLine(stream).tell("torchserve: 150/s, replication 1 of 2, 12 in flight, 0 failed", 0.5)
    shown = re.sub(r"\x1b\[K|\r", "", stream.getvalue())
    assert len(shown) <= 60
    assert shown.startswith("   0.0 s  ██████████░░░░░░░░░░  50%  torchserve: 150/s")
