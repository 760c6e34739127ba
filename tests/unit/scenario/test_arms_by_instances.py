"""The forms in which a model is served."""

from __future__ import annotations

import pytest

from bench.scenario.arms import all_arms, saturated_sizes
from bench.scenario.spec import Server


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [
        ((1, 2, 3, 4, 6, 8, 12, 16), (1, 4, 8, 16)),
        ((1, 2, 4), (1, 2, 4)),
        ((1, 2), (1, 2)),
        ((1, 5, 32), (1, 5, 32)),
        ((1, 3, 7, 20, 30, 64), (1, 20, 30, 64)),
    ],
)
def test_saturation_is_measured_at_the_ends_a_quarter_and_a_half(
    sizes: tuple[int, ...], chosen: tuple[int, ...]
) -> None:
    assert saturated_sizes(sizes) == chosen


def test_several_instances_have_arms_of_their_own_beside_those_of_one() -> None:
    one = all_arms("m", Server("s", "triton"), (1, 4, 16))
    assert [arm.name for arm in one] == ["m", "m_off", "m_b1", "m_b4", "m_b16"]
    two = all_arms("m", Server("s", "triton", instances=2), (1, 4, 16))
    assert [arm.name for arm in two[5:]] == ["m_n2_b1", "m_n2_b4", "m_n2_b16"]
    assert [arm.instances for arm in two] == [2, 1, 1, 1, 1, 2, 2, 2]
