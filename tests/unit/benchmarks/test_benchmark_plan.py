"""Which runs a plan has, and how long they take."""

from __future__ import annotations

import pytest

from benchmarks.names import (
    ASYNC,
    CONSTANT_ONLY,
    DEFAULT,
    FREEZE,
    LADDER,
    OURS,
    OURS_2,
    OURS_GRPC,
    OURS_TABLES,
    PACING,
    PURPOSES,
    SOAK,
    TOOLS,
    WRK,
)
from benchmarks.plan import Plan, climb_s, everything, ladder
from benchmarks.sizes import FULL, QUICK, Size


def loads(plan: Plan, tool: str) -> set[tuple[str, float]]:
    return {(cell.arrivals, cell.rate_per_s) for cell in plan.steady if (cell.purpose, cell.tool) == (PACING, tool)}


def test_all_of_it_takes_no_more_than_27_minutes_ladders_to_their_tops_included() -> None:
    assert everything(FULL, TOOLS).expected_s <= 27 * 60


def test_a_quick_look_takes_no_more_than_two_and_a_half_minutes() -> None:
    assert everything(QUICK, TOOLS).expected_s <= 150


def test_a_ladder_counts_to_its_top_and_for_one_second_try() -> None:
    steps = ladder(FULL, OURS, 0)
    assert climb_s(steps) == pytest.approx(sum(cell.expected_s for cell in steps) + steps[-1].expected_s)
    assert climb_s([]) == 0.0


@pytest.mark.parametrize("size", [FULL, QUICK])
def test_a_peer_that_reaches_its_ladders_top_cannot_be_said_to_be_beaten_three_times(size: Size) -> None:
    ours = max(max(size.ladders.get(tool, (0,))) for tool in (OURS, OURS_2))
    assert ours < 3 * max(size.ladders[ASYNC])


def test_ours_is_paced_by_every_kind_and_two_workers_and_grpc_by_poisson_alone() -> None:
    plan = everything(FULL, TOOLS)
    common = {500, 1000, 5000}
    assert loads(plan, OURS) == {(kind, rate) for kind in ("poisson", "constant", "gamma") for rate in common} | {
        ("poisson", 10_000),
        ("poisson", 20_000),
    }
    assert loads(plan, OURS_2) == {("poisson", 10_000), ("poisson", 20_000)}
    assert loads(plan, OURS_GRPC) == {("poisson", 500), ("poisson", 1000), ("poisson", 2000)}
    assert loads(plan, ASYNC) == loads(plan, DEFAULT) == {(k, r) for k in ("poisson", "constant") for r in common}


@pytest.mark.parametrize("size", [FULL, QUICK])
def test_closed_loops_only_ever_have_constant_arrivals(size: Size) -> None:
    plan = everything(size, TOOLS)
    cells = [*plan.steady, *(cell for steps in plan.ladders for cell in steps)]
    for tool in CONSTANT_ONLY:
        mine = [cell for cell in cells if cell.tool == tool]
        assert {cell.purpose for cell in mine} == {PACING, FREEZE, LADDER}
        assert {cell.arrivals for cell in mine} == {"constant"}


@pytest.mark.parametrize("size", [FULL, QUICK])
def test_every_purpose_is_in_a_plan_and_can_be_asked_for_alone(size: Size) -> None:
    for purpose in PURPOSES:
        plan = everything(size, TOOLS, [purpose])
        cells = [*plan.steady, *(cell for steps in plan.ladders for cell in steps)]
        assert {cell.purpose for cell in cells} == {purpose}


def test_what_is_not_on_the_machine_is_not_planned() -> None:
    plan = everything(FULL, [OURS])
    cells = [*plan.steady, *(cell for steps in plan.ladders for cell in steps)]
    assert {cell.tool for cell in cells} == {OURS}


def test_a_soak_is_three_million_requests_and_another_two_million_to_the_tables() -> None:
    soaks = {cell.tool: cell for cell in everything(FULL, TOOLS).steady if cell.purpose == SOAK}
    assert soaks[OURS].seconds == 300
    assert soaks[OURS].rate_per_s * soaks[OURS].seconds == 3_000_000
    assert soaks[OURS_TABLES].rate_per_s * soaks[OURS_TABLES].seconds >= 2_000_000


def test_repeats_are_outermost_so_that_noise_falls_on_all_tools_alike() -> None:
    repeats = [cell.repeat for cell in everything(FULL, TOOLS).steady if cell.purpose in (PACING, FREEZE)]
    assert repeats == sorted(repeats)
    assert WRK not in {cell.tool for cell in everything(FULL, TOOLS).steady if cell.purpose == PACING}
