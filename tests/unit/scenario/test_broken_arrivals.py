"""`load.arrivals`: where each mistake stands, what was expected there and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.errors import Problem, ScenarioError
from bench.scenario.load import load_plan

Problems = Callable[..., list[Problem]]

HEAD = "name: bursts\nmodel: {zoo: digits-cnn}\nservers: {t: {kind: triton}}\n"  # lines 1 to 3


def arrivals(written: str) -> str:
    return f"{HEAD}load:\n  arrivals: {written}\n"  # line 5


def test_a_wrong_set_of_arrivals_says_that_it_comes_from_there(problems: Problems) -> None:
    (problem,) = problems(HEAD, overrides=["load.arrivals={gama: {cv: 2}}"])
    assert problem.text("f") == (
        "f: load.arrivals.gama: expected constant, poisson, gamma, on_off, mmpp, steps, ramp, sine or trace, "
        "found 'gama' (from --set) (did you mean 'gamma'?)"
    )


ALL = "expected constant, poisson, gamma, on_off, mmpp, steps, ramp, sine or trace"
BROKEN = [
    ("bursty", "", ALL + ", found 'bursty'"),
    ("poison", "", ALL + ", found 'poison' (did you mean 'poisson'?)"),
    ("{sin: {period: 1s, amplitude: 1}}", ".sin", ALL + ", found 'sin' (did you mean 'sine'?)"),
    ("gamma", "", "expected gamma with its parameters, found 'gamma' (such as {gamma: {cv: 2}})"),
    ("5", "", ALL + ", such as poisson or {gamma: {cv: 2}}, found 5"),
    ("[poisson]", "", "such as poisson or {gamma: {cv: 2}}, found a list"),
    ("", "", "found nothing (write a value, or leave the key out for its default)"),
    ("{}", "", "one kind of arrivals, such as {gamma: {cv: 2}}, found an empty mapping (it names none)"),
    ("{gamma: {cv: 2}, ramp: {from: 1, to: 2}}", "", "found a mapping (it names gamma, ramp)"),
    ("{poisson: {}}", ".poisson", "expected the word alone, arrivals: poisson"),
    ("{gamma: 2}", ".gamma", "expected a mapping with keys from cv, found 2"),
    ("{gamma: }", ".gamma", "expected a mapping with keys from cv, found nothing"),
    ("{gamma: {}}", ".gamma.cv", "found nothing (add 'cv')"),
    ("{gamma: {cv: 0}}", ".gamma.cv", "a number above 0 and up to 100, found 0"),
    ("{gamma: {cv: 2, shape: 4}}", ".gamma.shape", "found the unknown key 'shape' (known here: cv)"),
    ("{on_off: {on: 1s, off: 0}}", ".on_off.off", "a duration above 0"),
    ("{on_off: {on: 1s, off: 1s, share: 0}}", ".on_off.share", "a fraction above 0 and up to 1"),
    ("{on_off: {on: 1s, off: 1s, dwell: fix}}", ".on_off.dwell", "exponential or fixed, found 'fix'"),
    ("{mmpp: {rate: 1, dwell: 1s}}", ".mmpp", "expected a list, such as {mmpp: [{rate: 1"),
    ("{mmpp: [{rate: 1, dwell: 1s}]}", ".mmpp", "expected 2 to 16 states, found a list (it has 1)"),
    ("{mmpp: [{rate: -1, dwell: 1s}, {rate: 1, dwell: 1s}]}", ".mmpp.0.rate", "a number from 0 and up to"),
    ("{mmpp: [{rate: 1, dwell: 1s}, {rate: 1}]}", ".mmpp.1.dwell", "found nothing (add 'dwell')"),
    ("{mmpp: [{rate: 0, dwell: 1s}, {rate: 0, dwell: 1s}]}", ".mmpp", "nothing would ever arrive"),
    ("{steps: [{factor: 1, share: 60%}]}", ".steps", "add up to 100%, found a list (they add up to 60%)"),
    ("{steps: [{factor: 0, share: 100%}]}", ".steps", "nothing would ever arrive"),
    ("{steps: []}", ".steps", "1 to 1000 steps"),
    ("{steps: [1]}", ".steps.0", "expected a mapping with keys from factor, share, found 1"),
    ("{ramp: {to: 2}}", ".ramp.from", "found nothing (add 'from')"),
    ("{ramp: {from: 0, to: 0}}", ".ramp", "expected a ramp from or to a rate above 0"),
    ("{ramp: {from: fast, to: 2}}", ".ramp.from", "found 'fast'"),
    ("{sine: {period: 60s, amplitude: 120%}}", ".sine.amplitude", "up to 1"),
    ("{sine: {amplitude: 50%}}", ".sine.period", "the time of one swing up and down"),
    ("{trace: 5}", ".trace", "expected the name of a file, such as arrivals.csv, found 5"),
    ("{trace: missing.csv}", ".trace", "found no such file: missing.csv (a relative path starts at the scenario's"),
    ("{trace: {scale: time}}", ".trace.file", "found nothing (add 'file')"),
    ("{trace: {file: ., scale: time}}", ".trace.file", "found no regular file: . (name the .csv file)"),
]


@pytest.mark.parametrize(("written", "field", "part"), BROKEN, ids=[written for written, _, _ in BROKEN])
def test_broken_arrivals_have_their_line_their_field_and_what_was_expected(
    problems: Problems, written: str, field: str, part: str
) -> None:
    (problem,) = problems(arrivals(written))
    assert (problem.line, problem.field) == (5, "load.arrivals" + field)
    assert part in problem.text("f")


def test_every_problem_of_some_states_is_told_on_its_own_line(problems: Problems) -> None:
    text = (
        HEAD + "load:\n  arrivals:\n    mmpp:\n    - {rate: x, dwell: 1s}\n    - {rate: 1}\n    - {rate: 1, dwel: 2s}\n"
    )
    assert [(p.line, p.field) for p in problems(text)] == [
        (7, "load.arrivals.mmpp.0.rate"),
        (8, "load.arrivals.mmpp.1.dwell"),
        (9, "load.arrivals.mmpp.2.dwell"),
        (9, "load.arrivals.mmpp.2.dwel"),
    ]


def test_a_missing_or_empty_trace_is_noticed_before_anything_runs(problems: Problems, tmp_path: Path) -> None:
    (tmp_path / "monday.csv").write_text("0\n1\n")
    (tmp_path / "empty.csv").write_text("")
    (missing,) = problems(arrivals("{trace: {file: monda.csv, scale: tim}}"))[1:]
    assert (missing.line, missing.field) == (5, "load.arrivals.trace.file")
    assert (missing.found, missing.hint) == ("no such file: monda.csv", "did you mean 'monday.csv'?")
    (empty,) = problems(arrivals("{trace: empty.csv}"))
    assert (empty.found, empty.hint) == ("an empty file: empty.csv", "it needs at least two times")


def test_options_that_say_no_load_are_all_told() -> None:
    with pytest.raises(ScenarioError) as caught:
        load_plan({"arrivals": "{gamma: {cv: none}}", "rates": float("inf"), "duration": "soon"})
    assert caught.value.message == "the command line cannot be run: 3 problems"
    cv, rate, duration = caught.value.detail.splitlines()
    assert cv.startswith("the command line: load.arrivals.gamma.cv: expected a number above 0 and up to 100, found")
    assert rate.startswith("the command line: load.rates.0: expected a number above 0 and up to 1,000,000, found")
    assert duration.startswith("the command line: load.duration: expected a duration above 0, such as 5ms")
    assert [line[line.index("found") :] for line in (cv, rate, duration)] == [
        "found 'none' (from --arrivals)",
        "found 'inf' (from --rate)",
        "found 'soon' (from --duration)",
    ]
    with pytest.raises(ScenarioError) as caught:
        load_plan({"arrivals": "{gamma: ["})
    assert caught.value.problems[0].field == "load.arrivals"
    assert "expected a YAML value" in caught.value.detail
