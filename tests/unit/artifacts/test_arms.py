from __future__ import annotations

from bench.scenario.arms import Arm, all_arms, batching_off, exactly, production
from bench.scenario.spec import Server

SERVER = Server("any", "triton", instances=3, max_batch_size=16, max_queue_delay_s=0.007)


def test_production_is_what_the_scenario_asks() -> None:
    assert production("cnn", SERVER) == Arm("cnn", 16, 0.007, batching=True, instances=3)


def test_with_batching_off_there_is_one_instance_and_no_delay() -> None:
    assert batching_off("cnn", SERVER) == Arm("cnn_off", 16, 0.0, batching=False, instances=1)


def test_exactly_b_has_b_as_its_largest_batch_and_a_delay_that_no_measurement_waits_out() -> None:
    assert exactly("cnn", 12) == Arm("cnn_b12", 12, 5.0, batching=True, instances=1)


def test_all_arms_are_the_scenarios_own_then_off_then_each_batch_size_in_order() -> None:
    arms = all_arms("cnn", SERVER, (1, 2, 16))[:5]
    assert [arm.name for arm in arms] == ["cnn", "cnn_off", "cnn_b1", "cnn_b2", "cnn_b16"]
    assert [arm.max_batch_size for arm in arms] == [16, 16, 1, 2, 16]
