from __future__ import annotations

import json

import pytest

from bench.scenario.spec import Arrivals, Calibrated, Calibration, Checks, Digits, Load, Objective, Scenario, Server
from bench.scenario.stored import from_json, to_json

FULL = Scenario(
    name="full",
    model=Calibrated(0.004, 0.002),
    servers=(
        Server("b", "torchserve", instances=2, threads=3, max_batch_size=8, max_queue_delay_s=0.01, ports={"grpc": 1}),
        Server("a", "triton", startup_timeout_s=5.5),
    ),
    calibration=Calibration((1, 2, 4), 0.01, 12.5),
    load=Load(Arrivals("gamma", {"cv": 2.0}), (50.0, 0.1), 3.0, 0.5, 2, "grpc", 2),
    slo=Objective(99.9, 0.25),
    checks=Checks(0.01, 0.02, 0.03, 1e-6),
    seed=7,
)
LEAST = Scenario("least", Digits(), (Server("only", "triton"),))


@pytest.mark.parametrize("scenario", [FULL, LEAST], ids=["full", "least"])
def test_a_scenario_comes_back_from_json_as_it_was(scenario: Scenario) -> None:
    assert from_json(json.loads(json.dumps(to_json(scenario)))) == scenario


def test_a_stored_scenario_is_in_seconds_and_plain_numbers() -> None:
    document = to_json(FULL)
    assert document["model"] == {"c_s": 0.004, "m_s": 0.002, "zoo": "calibrated"}
    assert document["servers"][0]["max_queue_delay_s"] == 0.01
    assert document["slo"] == {"percentile": 99.9, "response_time_s": 0.25}
    assert [server["name"] for server in document["servers"]] == ["b", "a"]


def test_a_scenario_without_an_objective_has_none_again() -> None:
    assert to_json(LEAST)["slo"] is None
    assert from_json(to_json(LEAST)).slo is None


@pytest.mark.parametrize(
    "change",
    [{"name": None}, {"model": {"zoo": "resnet"}}, {"servers": [{"name": "x", "kind": "trition"}]}, {"seed": "one"}],
    ids=["name", "model", "kind", "seed"],
)
def test_a_document_that_was_never_a_scenario_is_a_value_error(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        from_json(to_json(LEAST) | change)
