"""--set, --server and --seed: applied before the file is checked, and named when they are wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.errors import Problem
from bench.scenario.spec import Objective, Scenario

Load = Callable[..., Scenario]
Problems = Callable[..., list[Problem]]

TEXT = """\
name: options
model: {zoo: digits-cnn}
servers:
  triton: {kind: triton}
  ts.v1: {kind: torchserve, ports: {metrics: 8002}}
load: {rates: [50, 100]}
"""


def test_set_replaces_a_value_a_list_and_an_item(load: Load) -> None:
    sets = [
        "servers.triton.max_batch_size=8",
        "load.rates=[10, 20, 30]",
        "load.rates.1=25",
        "load.duration=5s",
    ]
    scenario = load(TEXT, overrides=sets)
    assert scenario.servers[0].max_batch_size == 8
    assert scenario.load.rates_per_s == (10.0, 25.0, 30.0)
    assert scenario.load.duration_s == 5.0


def test_set_reaches_into_sections_that_the_file_leaves_out(load: Load) -> None:
    sets = ["slo.percentile=95", "checks.speedup_tolerance=7%", "servers.triton.ports.http=8000"]
    scenario = load(TEXT, overrides=sets)
    assert scenario.slo == Objective(95.0, 0.06)
    assert scenario.checks.speedup_tolerance == 0.07
    assert scenario.servers[0].ports == {"http": 8000}


def test_set_knows_server_names_with_dots(load: Load) -> None:
    scenario = load(TEXT, overrides=["servers.ts.v1.threads=3", "servers.ts.v1.ports.metrics=9002"])
    assert (scenario.servers[1].threads, scenario.servers[1].ports) == (3, {"metrics": 9002})


def test_set_takes_whole_mappings_and_values_with_an_equals_sign(load: Load, problems: Problems) -> None:
    assert load(TEXT, overrides=["slo={percentile: 90, response_time: 20ms}"]).slo == Objective(90.0, 0.02)
    (problem,) = problems(TEXT, overrides=["name=a=b"])
    assert problem.found == "'a=b' (from --set)"


def test_set_mends_what_the_file_has_wrong(load: Load) -> None:
    assert load(TEXT.replace("name: options", "name: no name"), overrides=["name=fine"]).name == "fine"


@pytest.mark.parametrize(
    ("setting", "field", "part"),
    [
        ("load.rates", "load.rates", "expected --set field=value"),
        ("=5", "", "expected --set field=value"),
        ("", "", "write for example --set load.duration=5s"),
        ("sead=5", "sead", "did you mean 'seed'?"),
        (
            "servers.triton.max_btach_size=5",
            "servers.triton.max_btach_size",
            "did you mean 'max_batch_size'?",
        ),
        ("servers.trition.threads=5", "servers.trition.threads", "did you mean 'triton'?"),
        ("servers.new={kind: triton}", "servers.new", "expected a server of the file"),
        ("lod.rates=[1]", "lod.rates", "did you mean 'load'?"),
        ("name.first=x", "name.first", "found name, which is 'options' (from --set)"),
        (
            "load.rates.2=7",
            "load.rates.2",
            "an index into load.rates, which has 0 to 1, found '2' (from --set)",
        ),
        ("load.rates.x=7", "load.rates.x", "an index into load.rates"),
        (
            "calibration.batch_sizes.0=1",
            "calibration.batch_sizes.0",
            "found 'batch_sizes', which is not there",
        ),
        ("load..rates=1", "load..rates", "which is not there (from --set)"),
        ("load.rates=[1, 2", "load.rates", "expected a YAML value"),
        ("seed=!!python/name:os.system x", "seed", "without a tag"),
        ("seed=1\n---\n2", "seed", "another document"),
        ("seed=", "seed", "found nothing (from --set)"),
        ("seed=yes", "seed", "found 'yes' (from --set)"),
        ("load.rates.0=-1", "load.rates.0", "found -1 (from --set)"),
        ("load={rates: [5, 0]}", "load.rates.1", "found 0 (from --set)"),
        ("servers.ts.v1.max_queue_delay=2ms", "servers.ts.v1.max_queue_delay", "found 2ms (from --set)"),
        ("servers.triton.max_batch_size=1", "servers.triton.max_batch_size", "found 1 (from --set)"),
    ],
)
def test_a_wrong_set_has_line_zero_and_says_that_it_comes_from_there(
    problems: Problems, setting: str, field: str, part: str
) -> None:
    (problem,) = problems(TEXT, overrides=[setting])
    assert (problem.line, problem.field) == (0, field)
    assert part in problem.text("scenario.yaml")


def test_a_missing_key_below_a_set_mapping_has_line_zero(problems: Problems) -> None:
    (problem,) = problems(TEXT, overrides=["model={zoo: calibrated, c: 1ms}"])
    assert (problem.line, problem.field) == (0, "model.m")


def test_problems_of_sets_stand_before_those_of_the_file(problems: Problems) -> None:
    found = problems(TEXT + "seed: x\n", overrides=["load.duration=0", "nonsense"])
    assert [(p.line, p.field) for p in found] == [(0, "nonsense"), (0, "load.duration"), (7, "seed")]


def test_seed_replaces_that_of_the_file(load: Load, problems: Problems) -> None:
    assert load(TEXT + "seed: 3\n", seed=7).seed == 7
    assert load(TEXT, seed=0).seed == 0
    (problem,) = problems(TEXT, seed=-1)
    assert (problem.line, problem.field, problem.found) == (0, "seed", "-1 (from --seed)")


def test_server_keeps_only_those_named_in_the_order_of_the_file(load: Load) -> None:
    assert [s.name for s in load(TEXT, servers=["ts.v1"]).servers] == ["ts.v1"]
    assert [s.name for s in load(TEXT, servers=["ts.v1", "triton"]).servers] == ["triton", "ts.v1"]


def test_a_server_left_out_is_not_checked_and_limits_no_batch_size(load: Load) -> None:
    text = TEXT.replace("triton: {kind: triton}", "triton: {kind: triton, max_batch_size: 4, threads: none}")
    assert load(text, servers=["ts.v1"]).calibration.batch_sizes[-1] == 16


def test_an_unknown_server_is_told_the_known_ones_and_hides_no_other_problem(problems: Problems) -> None:
    found = problems(TEXT + "seed: x\n", servers=["torchserve"])
    assert [(p.line, p.field) for p in found] == [(0, "servers"), (7, "seed")]
    assert found[0].text("f") == (
        "f: servers: expected triton or ts.v1, found 'torchserve' (from --server) (known here: triton, ts.v1)"
    )
