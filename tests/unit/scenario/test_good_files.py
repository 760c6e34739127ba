from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.scenario.load import load_scenario
from bench.scenario.spec import (
    Arrivals,
    Calibrated,
    Calibration,
    Checks,
    Digits,
    Load,
    Objective,
    ResNet18,
    Scenario,
    Search,
    Server,
)
from bench.scenario.stored import from_json, to_json

LoadText = Callable[..., Scenario]

ROOT = Path(__file__).parents[3]
SMALLEST = "name: small\nmodel: {zoo: digits-cnn}\nservers:\n  one: {kind: triton}\n"


def test_the_shipped_quickstart_is_read_in_full() -> None:
    assert load_scenario(ROOT / "scenarios/quickstart.yaml") == Scenario(
        name="quickstart",
        model=Digits(),
        servers=(
            Server("triton", "triton", "process", "cpu", 1, 1, 16, 0.005, 60.0, {}),
            Server("torchserve", "torchserve", "process", "cpu", 1, 1, 16, 0.005, 60.0, {}),
        ),
        calibration=Calibration((1, 2, 3, 4, 6, 8, 12, 16), 0.03, 40.0),
        load=Load(Arrivals("poisson"), (50.0, 100.0), 6.0, 1.0, 2),
        slo=Objective(99.0, 0.1),
        checks=Checks(0.1, 0.15, 0.1, 1e-4, 0.15),
        seed=1,
    )


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.yaml")), ids=lambda path: path.name)
def test_every_shipped_scenario_is_named_after_its_file(path: Path) -> None:
    assert load_scenario(path).name == path.stem


def test_all_but_name_model_and_servers_has_a_default(load: LoadText) -> None:
    assert load(SMALLEST) == Scenario("small", Digits(), (Server("one", "triton"),))


@pytest.mark.parametrize(
    "model",
    [
        "{zoo: calibrated, c: 4ms, m: 2ms}",
        "{calibrated: {c: 4ms, m: 0.002}}",
        "{zoo: {calibrated: {c: 4000us, m: 2 ms}}}",
    ],
)
def test_a_calibrated_model_has_three_spellings(load: LoadText, model: str) -> None:
    assert load(SMALLEST.replace("{zoo: digits-cnn}", model)).model == Calibrated(c_s=0.004, m_s=0.002)


def test_a_resnet_is_one_word_and_comes_back_from_the_manifest_as_it_was(load: LoadText) -> None:
    scenario = load(SMALLEST.replace("digits-cnn", "resnet18"))
    assert scenario == Scenario("small", ResNet18(), (Server("one", "triton"),))
    document = json.loads(json.dumps(to_json(scenario)))
    assert document["model"] == {"dtype": "fp32", "zoo": "resnet18"}
    assert from_json(document) == scenario


def test_every_key_of_a_server_reaches_it(load: LoadText) -> None:
    text = (
        "name: full\nmodel: {zoo: digits-cnn}\n"
        "servers:\n  ts-1.a:\n    kind: torchserve\n    runtime: process\n"
        "    device: cpu\n    instances: 2\n    threads: 3\n    max_batch_size: 8\n    max_queue_delay: 6ms\n"
        "    startup_timeout: 2 min\n    ports: {inference: 8080, grpc_inference: 7070}\n"
        "    max_queue_size: 500\n    image: nvcr.io/a/b:1-py3\n"
    )
    ports = {"inference": 8080, "grpc_inference": 7070}
    server = Server("ts-1.a", "torchserve", "process", "cpu", 2, 3, 8, 0.006, 120.0, ports, 500, "nvcr.io/a/b:1-py3")
    assert load(text).servers == (server,)


@pytest.mark.parametrize(
    ("largest", "sizes"),
    [
        (16, (1, 2, 3, 4, 6, 8, 12, 16)),
        (12, (1, 2, 3, 4, 6, 8, 12)),
        (7, (1, 2, 3, 4, 6, 7)),
        (3, (1, 2, 3)),
        (2, (1, 2)),
        (32, (1, 2, 3, 4, 6, 8, 12, 16, 32)),
    ],
)
def test_default_batch_sizes_go_up_to_the_smallest_largest_batch(
    load: LoadText, largest: int, sizes: tuple[int, ...]
) -> None:
    text = SMALLEST + f"  two: {{kind: triton, max_batch_size: {largest}}}\n"
    text = text.replace("one: {kind: triton}", "one: {kind: triton, max_batch_size: 64}")
    assert load(text).calibration.batch_sizes == sizes


def test_two_sizes_are_enough_where_the_largest_batch_is_two(load: LoadText) -> None:
    text = SMALLEST.replace("{kind: triton}", "{kind: triton, max_batch_size: 2}")
    assert load(text + "calibration: {batch_sizes: [1, 2]}\n").calibration.batch_sizes == (1, 2)


def test_restarts_of_the_calibration_are_none_unless_asked_for(load: LoadText) -> None:
    assert load(SMALLEST).calibration.restarts == 0
    made = load(SMALLEST + "calibration: {restarts: 4}\n")
    assert made.calibration.restarts == 4
    assert from_json(json.loads(json.dumps(to_json(made)))) == made


def test_warmup_may_be_zero_and_longer_than_the_duration(load: LoadText) -> None:
    assert load(SMALLEST + "load: {warmup: 0, duration: 1s}\n").load.warmup_s == 0.0
    assert load(SMALLEST + "load: {warmup: 5s, duration: 1s}\n").load.warmup_s == 5.0


def test_an_empty_slo_is_the_default_objective_and_none_is_none(load: LoadText) -> None:
    assert load(SMALLEST + "slo: {}\n").slo == Objective(99.0, 0.06)
    assert load(SMALLEST).slo is None


def test_an_anchor_shares_settings_and_the_nearer_key_wins(load: LoadText) -> None:
    text = (
        "name: shared\nmodel: {zoo: digits-cnn}\n"
        "servers:\n  a: &base {kind: triton, threads: 4, instances: 2}\n"
        "  b: {<<: *base, kind: torchserve, instances: 1}\n"
    )
    a, b = load(text).servers
    assert (a.kind, a.threads, a.instances) == ("triton", 4, 2)
    assert (b.kind, b.threads, b.instances) == ("torchserve", 4, 1)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALLEST.replace("\n", "\r\n").encode())
    assert load_scenario(path).name == "small"


def test_triton_may_send_a_batch_without_any_delay(load: LoadText) -> None:
    text = SMALLEST.replace("{kind: triton}", "{kind: triton, max_queue_delay: 0}")
    assert load(text).servers[0].max_queue_delay_s == 0.0


def test_a_search_has_defaults_and_its_range_may_be_given(load: LoadText) -> None:
    text = "name: a\nmodel: {zoo: digits-cnn}\nservers: {triton: {kind: triton}}\nslo: {response_time: 60ms}\n"
    assert load(text).load.search is None
    assert load(text + "load: {search: {}}\n").load.search == Search(10.0, None, 0.03, 3)
    given = load(text + "load: {search: {from: 50, to: 400, resolution: 2%, replications: 5}}\n").load.search
    assert given == Search(50.0, 400.0, 0.02, 5)
