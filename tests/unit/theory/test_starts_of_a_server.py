"""A level for each start of a server: errors over the starts hold, errors over blocks do not."""

from __future__ import annotations

import numpy as np
import pytest

from bench.theory.clusters import FEWEST_STARTS, clustered_covariance
from bench.theory.fit import AffineFit, fit_affine

SIZES = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])
C_S, M_S = 0.004, 0.002
BLOCKS_EACH = 3


def fits(
    starts: int, *, told: bool, level: float = 0.04, simulations: int = 300, blocks_each: int = BLOCKS_EACH
) -> list[AffineFit]:
    """Fits under 2 % noise of each visit, where c and m have a level of their own for each start of the server."""
    rng = np.random.default_rng(47)
    blocks = starts * blocks_each
    number = np.repeat(np.arange(blocks), len(SIZES))
    found = []
    for _ in range(simulations):
        c, m = (np.repeat(true * (1 + level * rng.standard_normal(starts)), blocks_each) for true in (C_S, M_S))
        noise = 1 + 0.02 * rng.standard_normal((blocks, len(SIZES)))
        times = (c[:, None] + m[:, None] * SIZES) * noise
        which = number // blocks_each if told else None
        found.append(fit_affine(np.tile(SIZES, blocks), times.ravel(), blocks=number, starts=which))
    return found


def covered(found: list[AffineFit]) -> tuple[float, float, float]:
    """Shares of the fits whose intervals hold c, m and the ceiling."""
    ceiling = 1 + C_S / M_S
    hits = [
        (f.c_lo_s <= C_S <= f.c_hi_s, f.m_lo_s <= M_S <= f.m_hi_s, f.ceiling_lo <= ceiling <= f.ceiling_hi)
        for f in found
    ]
    c, m, top = np.mean(hits, axis=0).tolist()
    return c, m, top


@pytest.mark.parametrize("starts", [5, 6])
def test_over_starts_the_intervals_cover_what_the_next_start_may_bring(starts: int) -> None:
    assert covered(fits(starts, told=True)) == pytest.approx((0.95, 0.95, 0.95), abs=0.035)


@pytest.mark.parametrize("starts", [5, 6])
def test_over_blocks_they_are_too_sure_of_c_m_and_the_ceiling(starts: int) -> None:
    assert max(covered(fits(starts, told=False))) < 0.85


def test_one_start_alone_says_little_of_the_next() -> None:
    assert max(covered(fits(1, told=False, blocks_each=10))) < 0.5


def test_where_starts_are_alike_the_intervals_over_them_hold_too() -> None:
    assert covered(fits(6, told=True, level=0.0)) == pytest.approx((0.95, 0.95, 0.95), abs=0.035)


def test_fewer_than_5_starts_count_as_none() -> None:
    assert FEWEST_STARTS == 5
    assert fits(4, told=True, simulations=3) == fits(4, told=False, simulations=3)


def test_clusters_without_a_trend_have_students_variance_of_a_mean() -> None:
    own = np.array([0.3, -0.1, 0.4, 0.0, -0.6])  # of 5 clusters of 3, the mean of each
    influence = np.repeat(own, 3)[:, None] / 15
    found = clustered_covariance(influence, np.repeat(np.arange(5), 3), trend=False)
    assert found.df == 4
    assert found.covariance[0, 0] == pytest.approx(np.var(own, ddof=1) / 5)


def test_starts_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="whole block or start numbers"):
        fit_affine(np.tile(SIZES, 2), np.tile(C_S + M_S * SIZES, 2), starts=[0, 1])
