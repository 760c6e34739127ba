"""`load.arrivals`: every spelling, and the way through a run's manifest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.errors import Problem
from bench.load import arrivals as schedules
from bench.load import traces
from bench.scenario import arrivals_form, arrivals_parts, spec
from bench.scenario.load import json_schema, load_plan
from bench.scenario.spec import Arrivals, Scenario
from bench.scenario.stored import from_json, to_json

Load = Callable[..., Scenario]
Problems = Callable[..., list[Problem]]

HEAD = "name: bursts\nmodel: {zoo: digits-cnn}\nservers: {t: {kind: triton}}\n"  # lines 1 to 3


def arrivals(written: str) -> str:
    return f"{HEAD}load:\n  arrivals: {written}\n"  # line 5


SPELLINGS = [
    ("poisson", Arrivals("poisson")),
    ("constant", Arrivals("constant")),
    ("{gamma: {cv: 2}}", Arrivals("gamma", {"cv": 2.0})),
    (
        "{on_off: {on: 1s, off: 250ms}}",
        Arrivals("on_off", {"on_s": 1.0, "off_s": 0.25, "share": 1.0, "dwell": "exponential"}),
    ),
    (
        "{on_off: {on: 1s, off: 4s, share: 80%, dwell: fixed}}",
        Arrivals("on_off", {"on_s": 1.0, "off_s": 4.0, "share": 0.8, "dwell": "fixed"}),
    ),
    (
        "{mmpp: [{rate: 0, dwell: 5s}, {rate: 10, dwell: 1s}]}",
        Arrivals("mmpp", {"states": ({"rate": 0.0, "dwell_s": 5.0}, {"rate": 10.0, "dwell_s": 1.0})}),
    ),
    (
        "{steps: [{factor: 1, share: 75%}, {factor: 3, share: 0.25}]}",
        Arrivals("steps", {"steps": ({"factor": 1.0, "share": 0.75}, {"factor": 3.0, "share": 0.25})}),
    ),
    ("{ramp: {from: 0, to: 200}}", Arrivals("ramp", {"start": 0.0, "end": 200.0})),
    ("{sine: {period: 1min, amplitude: 80%}}", Arrivals("sine", {"period_s": 60.0, "amplitude": 0.8})),
]


@pytest.mark.parametrize(("written", "expected"), SPELLINGS, ids=lambda value: str(value)[:24])
def test_every_kind_is_read_into_seconds_and_fractions_and_comes_back_from_json(
    load: Load, written: str, expected: Arrivals
) -> None:
    scenario = load(arrivals(written))
    assert scenario.load.arrivals == expected
    assert from_json(json.loads(json.dumps(to_json(scenario)))) == scenario


def test_a_trace_is_looked_for_beside_the_scenario_in_both_spellings(load: Load, tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    (tmp_path / "day/a.csv").write_text("0\n1\n")
    file = str(tmp_path / "day/a.csv")
    assert load(arrivals("{trace: day/a.csv}")).load.arrivals == Arrivals("trace", {"file": file, "scale": "time"})
    long = load(arrivals("{trace: {file: ./day/a.csv, scale: thin}}"))
    assert long.load.arrivals == Arrivals("trace", {"file": file, "scale": "thin"})
    assert from_json(json.loads(json.dumps(to_json(long)))) == long


def test_a_trace_may_stand_anywhere_when_its_path_is_whole(load: Load, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("0\n1\n")
    assert load(arrivals(f"{{trace: {tmp_path}/a.csv}}")).load.arrivals.parameters["file"] == str(tmp_path / "a.csv")


def test_a_manifest_of_the_first_version_has_the_word_alone(load: Load) -> None:
    scenario = load(arrivals("constant"))
    document = to_json(scenario)
    document["load"]["arrivals"] = "constant"
    assert from_json(document) == scenario


def test_set_takes_a_kind_with_its_parameters_and_reaches_into_one(load: Load) -> None:
    assert load(HEAD, overrides=["load.arrivals={gamma: {cv: 2}}"]).load.arrivals == Arrivals("gamma", {"cv": 2.0})
    text = arrivals("{gamma: {cv: 2}}")
    assert load(text, overrides=["load.arrivals.gamma.cv=3"]).load.arrivals == Arrivals("gamma", {"cv": 3.0})
    steps = arrivals("{steps: [{factor: 1, share: 50%}, {factor: 1, share: 50%}]}")
    changed = load(steps, overrides=["load.arrivals.steps.1.factor=4"]).load.arrivals.parameters["steps"]
    assert changed == ({"factor": 1.0, "share": 0.5}, {"factor": 4.0, "share": 0.5})


def test_a_trace_as_recorded_has_one_point(load: Load, problems: Problems, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("0\n1\n")
    text = arrivals("{trace: {file: a.csv, scale: recorded}}")
    assert load(text + "  rates: [5]\n").load.arrivals.parameters["scale"] == "recorded"
    (problem,) = problems(text + "  rates: [5, 6]\n")
    assert (problem.line, problem.field, problem.found) == (6, "load.rates", "2 rates")


def test_options_say_a_load_as_a_scenario_does(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("0\n1\n")
    assert load_plan({"arrivals": "poisson", "rates": 50.0}) == spec.Load(rates_per_s=(50.0,))
    plan = load_plan({"arrivals": "{trace: a.csv}", "duration": "2min", "warmup": "0"}, tmp_path)
    assert plan.arrivals.parameters["file"] == str(tmp_path / "a.csv")
    assert (plan.duration_s, plan.warmup_s) == (120.0, 0.0)


def test_the_schema_has_every_kind_with_its_keys() -> None:
    schema: dict[str, Any] = json_schema()
    word, *forms = schema["$defs"]["LoadForm"]["properties"]["arrivals"]["anyOf"]
    assert word["enum"] == ["constant", "poisson"]
    keys = [list(schema["$defs"][form["$ref"].rpartition("/")[2]]["properties"]) for form in forms]
    assert keys == [["gamma"], ["on_off"], ["mmpp"], ["steps"], ["ramp"], ["sine"], ["trace"]]
    assert schema["$defs"]["LoadForm"]["properties"]["arrivals"]["default"] == "poisson"
    assert list(schema["$defs"]["RampForm"]["properties"]) == ["from", "to"]
    assert schema["$defs"]["StateForm"]["properties"]["rate"]["minimum"] == 0
    mmpp = schema["$defs"]["MmppKeyForm"]["properties"]["mmpp"]
    assert (mmpp["type"], mmpp["items"]) == ("array", {"$ref": "#/$defs/StateForm"})


def test_the_scenario_and_the_load_know_the_same_kinds_and_scales() -> None:
    assert set(arrivals_form.KINDS) == set(schedules.KINDS)
    assert arrivals_parts.SCALES == traces.SCALES
