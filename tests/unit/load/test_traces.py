"""Replay of small trace files written by hand, and what is said about those that cannot be replayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.errors import ScenarioError
from bench.load.arrivals import schedule, statistics
from bench.load.traces import read_trace

Write = Callable[[str], Path]
BURSTGPT = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "trace.csv"
        path.write_bytes(text.encode())
        return path

    return write


def replay(path: Path, rate: float, duration: float, scale: str | None = None, **options: Any) -> list[float]:
    parameters = {"file": str(path)} | ({"scale": scale} if scale else {})
    return [float(s) for s in schedule("trace", rate, duration, 1, parameters, **options) / 1e9]


@pytest.mark.parametrize(
    "text",
    [
        "3.5\n1\n2\n1\n",
        "seconds\n3.5\n1\n2\n1\n",
        "Timestamp\r\n3.5\r\n1\r\n2\r\n1\r\n",
        "\ufefftime\n3.5\n\n1\n2\n1",
        "app,func,end_timestamp,duration\na,f,4.0,0.5\na,g,1.25,0.25\nb,f,2,0\nb,f,11,10\n",
        BURSTGPT
        + "3.5,ChatGPT,10,20,30,Conversation log\n1,GPT-4,1,1,2,API log\n2,GPT-4,1,1,2,API log\n"
        + '1,GPT-4,1,1,2,"API log, quoted"\n',
    ],
    ids=["bare", "header", "Windows", "mark and empty line", "Azure Functions 2021", "BurstGPT"],
)
def test_every_format_gives_sorted_arrivals_from_zero(write: Write, text: str) -> None:
    assert read_trace(write(text)).tolist() == [0, 0, 1, 2.5]


def test_a_trace_is_stretched_to_the_rate(write: Write) -> None:
    # Of five arrivals the window of 2 s at 2/s takes four: recorded 0 to 1, 3 and 6, with the fifth at 8 to be at 2 s.
    path = write("10\n11\n13\n16\n18\n")
    assert replay(path, rate=2, duration=2) == pytest.approx([0, 0.25, 0.75, 1.5])
    assert replay(path, rate=2, duration=2, scale="time") == pytest.approx([0, 0.25, 0.75, 1.5])


def test_the_mean_rate_is_that_of_the_arrivals_in_the_window_not_of_the_whole_file(write: Write) -> None:
    slow_then_fast = [*range(0, 100, 10), *np.arange(100, 200, 0.1)]
    path = write("\n".join(f"{t}" for t in slow_then_fast))
    assert replay(path, rate=10, duration=1) == pytest.approx(np.arange(10) / 10, abs=1e-8)


def test_a_trace_shorter_than_its_window_ends_early_and_its_statistics_say_so(write: Write) -> None:
    path = write("0\n1\n3\n4\n")
    found = replay(path, rate=2, duration=10)
    assert found == pytest.approx([0, 0.375, 1.125, 1.5])  # 3 gaps at 2/s last 1.5 s
    about = statistics(schedule("trace", 2, 10, 1, {"file": str(path)}), 10.0)
    assert (about.count, about.mean_rate_per_s, about.silent_end_s) == (4, pytest.approx(2), pytest.approx(8.5))


def test_a_trace_as_recorded_ignores_the_rate_and_ends_with_the_window(write: Write) -> None:
    path = write("5\n5.5\n7\n9\n")
    assert replay(path, rate=1000, duration=4, scale="recorded") == [0, 0.5, 2]
    assert replay(path, rate=0.1, duration=60, scale="recorded") == [0, 0.5, 2, 4]


def test_a_thinned_trace_keeps_its_times_and_leaves_out_what_the_rate_is_below(write: Write) -> None:
    recorded = np.arange(20_000) / 1000
    path = write("\n".join(f"{t:.3f}" for t in recorded))
    found = replay(path, rate=250, duration=10, scale="thin")
    assert len(found) == pytest.approx(2500, rel=0.06)
    assert set(np.round(found, 3)) <= set(np.round(recorded, 3))
    assert np.diff(found).max() > 0.01
    assert replay(path, rate=250, duration=10, scale="thin") == found


def test_a_trace_too_slow_to_thin_out_names_its_rate(write: Write) -> None:
    path = write("0\n1\n2\n3\n4\n")
    with pytest.raises(ScenarioError) as caught:
        replay(path, rate=5, duration=2, scale="thin")
    assert caught.value.detail == (
        f"{path}: expected at least 5 arrivals/s to thin out, found 1/s in its first 2 s "
        "(lower the rate or use scale: time)"
    )


def test_a_trace_begins_when_the_warmup_ends(write: Write) -> None:
    found = replay(write("0\n1\n3\n4\n"), rate=200, duration=5, scale="recorded", warmup_s=3)
    assert found[-2:] == [3, 4]
    assert len(found) - 2 == pytest.approx(600, rel=0.15)


def test_a_file_that_changed_is_read_again(write: Write) -> None:
    assert len(read_trace(write("0\n1\n"))) == 2
    assert len(read_trace(write("0\n1\n2\n"))) == 3


BROKEN = [
    ("1\nx\n3\n", [(2, "", "a number of seconds", "'x'")]),
    ("t\n1\n\n\n2,5\n", [(5, "t", "1 column", "2: '2,5'")]),
    ("1\nnan\ninf\n", [(2, "", "a number of seconds", "'nan'"), (3, "", "a number of seconds", "'inf'")]),
    (
        "app,func,end_timestamp,duration\na,f,1,-1\na,f,,2\na,f,1\na,f,1,0\na,f,2,0\n",
        [
            (2, "duration", "a number of seconds, 0 or more", "'-1'"),
            (3, "end_timestamp", "a number of seconds", "nothing"),
            (4, "", "4 columns", "3: 'a,f,1'"),
        ],
    ),
    (
        BURSTGPT + "2024-01-01,m,1,1,2,x\n",
        [(2, "timestamp", "a number of seconds", "'2024-01-01'")],
    ),
]


@pytest.mark.parametrize(("text", "expected"), BROKEN, ids=[text[:12] for text, _ in BROKEN])
def test_malformed_rows_are_all_told_with_their_lines(
    write: Write, text: str, expected: list[tuple[int, str, str, str]]
) -> None:
    path = write(text)
    with pytest.raises(ScenarioError) as caught:
        read_trace(path)
    problems = [(p.line, p.expected, p.found) for p in caught.value.problems]
    assert problems == [(line, wanted, found) for line, _, wanted, found in expected]
    assert caught.value.source == str(path)
    assert caught.value.detail.startswith(f"{path}:{expected[0][0]}: ")


def test_columns_of_no_known_format_are_told_the_known_ones(write: Write) -> None:
    with pytest.raises(ScenarioError) as caught:
        read_trace(write("start,stop\n1,2\n"))
    (problem,) = caught.value.problems
    assert (problem.line, problem.found) == (1, "'start,stop'")
    assert "one column of seconds, or the columns end_timestamp and duration (Azure Functions 2021)" in problem.expected


def test_of_many_malformed_rows_twenty_are_told_and_all_are_counted(write: Write) -> None:
    path = write("time\n" + "x\n" * 57)
    with pytest.raises(ScenarioError) as caught:
        read_trace(path)
    assert caught.value.message == f"{path} cannot be replayed: 57 problems, of which the first 20"
    assert [p.line for p in caught.value.problems] == list(range(2, 22))


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        ("", "at least two arrivals", "none"),
        ("time\n\n", "at least two arrivals", "none"),
        ("4\n", "at least two different times", "only 4"),
        ("4\n4\n4\n", "at least two different times", "only 4"),
    ],
)
def test_a_trace_without_time_in_it_is_refused(write: Write, text: str, expected: str, found: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        read_trace(write(text))
    (problem,) = caught.value.problems
    assert (problem.line, problem.expected, problem.found) == (0, expected, found)


def test_a_window_that_sees_one_moment_only_cannot_be_stretched(write: Write) -> None:
    path = write("4\n4\n4\n5\n")
    with pytest.raises(ScenarioError, match="cannot be replayed") as caught:
        replay(path, rate=1, duration=2)
    assert "different times among the first 3, found the same time in all of them" in caught.value.detail


def test_a_trace_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    for path, found in [(tmp_path / "none.csv", "no such file or directory"), (tmp_path, "is a directory")]:
        with pytest.raises(ScenarioError) as caught:
            read_trace(path)
        assert (caught.value.problems[0].expected, caught.value.problems[0].found) == (
            "a trace that can be read",
            found,
        )


def test_bytes_that_are_no_text_are_malformed_rows(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(b"1\n\xff\xfe\x00\n" + b"9" * 200_000 + b"\n3\n")
    with pytest.raises(ScenarioError) as caught:
        read_trace(path)
    assert caught.value.problems[0].line in (2, 3)


def test_a_scale_that_is_none_is_refused(write: Write) -> None:
    with pytest.raises(ValueError, match="scale: expected one of time, thin, recorded, got 'fit'"):
        replay(write("0\n1\n"), 1, 1, scale="fit")
