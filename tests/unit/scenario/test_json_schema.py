from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

from bench.scenario import spec
from bench.scenario.load import json_schema

SCHEMA: dict[str, Any] = json_schema()


def section(name: str) -> dict[str, Any]:
    reference = SCHEMA["properties"][name]["$ref"].rpartition("/")[2]
    return dict(SCHEMA["$defs"][reference])


def test_it_is_plain_json_with_the_required_keys() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert SCHEMA["required"] == ["name", "model", "servers"]
    assert set(SCHEMA["properties"]) == {f.name for f in fields(spec.Scenario)}


def test_every_mapping_refuses_unknown_keys_and_describes_the_known_ones() -> None:
    for form in [SCHEMA, *SCHEMA["$defs"].values()]:
        assert form["additionalProperties"] is False
        assert form["description"]
        assert all("description" in key for key in form["properties"].values())


def test_every_reference_leads_somewhere() -> None:
    for name in re.findall(r'"#/\$defs/(\w+)"', json.dumps(SCHEMA)):
        assert name in SCHEMA["$defs"]


def test_durations_are_numbers_or_text_with_a_unit() -> None:
    duration = section("load")["properties"]["duration"]
    text, number = duration["anyOf"]
    assert (number["type"], number["exclusiveMinimum"]) == ("number", 0)
    assert all(re.search(text["pattern"], word) for word in ("5ms", "60 ms", "250µs", "1.5s", "2 min", "7"))
    assert not any(re.search(text["pattern"], word) for word in ("-5ms", "5 sec", "ms", "5ms, 6ms"))


def test_defaults_are_written_as_people_write_them() -> None:
    assert section("load")["properties"]["duration"]["default"] == "10s"
    assert section("slo")["properties"]["response_time"]["default"] == "60ms"
    assert section("calibration")["properties"]["precision"]["default"] == "2%"
    assert section("calibration")["properties"]["batch_sizes"]["default"] == [1, 2, 3, 4, 6, 8, 12, 16]
    assert SCHEMA["$defs"]["ServerForm"]["properties"]["max_queue_delay"]["default"] == "5ms"


def test_kinds_and_models_are_listed() -> None:
    assert SCHEMA["$defs"]["ServerForm"]["properties"]["kind"]["enum"] == ["triton", "torchserve"]
    assert SCHEMA["$defs"]["ServerForm"]["required"] == ["kind"]
    assert SCHEMA["$defs"]["DigitsForm"]["properties"]["zoo"]["enum"] == ["digits-cnn"]
    assert SCHEMA["$defs"]["ResNet18Form"]["properties"]["zoo"]["enum"] == ["resnet18"]
    assert SCHEMA["$defs"]["CalibratedForm"]["properties"]["zoo"]["enum"] == ["calibrated"]
    assert len(SCHEMA["properties"]["model"]["anyOf"]) == 6
