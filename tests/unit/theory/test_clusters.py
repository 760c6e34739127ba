from __future__ import annotations

import numpy as np
import pytest

from bench.theory.clusters import clustered_covariance, stretches
from bench.theory.fit import AffineFit, fit_affine

SIZES = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])
C_S, M_S = 0.004, 0.002


def fits(level: str, blocks: int, told: bool, simulations: int = 300) -> list[AffineFit]:
    """Fits under 2 % noise and, by `level`, a drift of 5 % or a level of 5 % for each block."""
    rng = np.random.default_rng(41)
    number = np.repeat(np.arange(blocks), len(SIZES)) if told else None
    found = []
    for _ in range(simulations):
        shared = 1 + 0.05 * (np.linspace(-0.5, 0.5, blocks) if level == "drift" else rng.standard_normal(blocks))
        times = (C_S + M_S * SIZES) * shared[:, None] * (1 + 0.02 * rng.standard_normal((blocks, len(SIZES))))
        found.append(fit_affine(np.tile(SIZES, blocks), times.ravel(), blocks=number))
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


@pytest.mark.parametrize("level", ["drift", "levels"])
@pytest.mark.parametrize("blocks", [10, 25])
def test_with_blocks_told_the_intervals_cover_under_drift_and_levels(level: str, blocks: int) -> None:
    assert covered(fits(level, blocks, told=True)) == pytest.approx((0.95, 0.95, 0.95), abs=0.04)


def test_levels_that_are_not_told_make_m_too_sure() -> None:
    assert covered(fits("levels", 10, told=False))[1] < 0.91


def test_a_drift_that_is_not_told_makes_the_intervals_too_wide() -> None:
    assert min(covered(fits("drift", 10, told=False))) > 0.965


def test_balanced_blocks_give_students_interval_of_their_own_lines() -> None:
    rng = np.random.default_rng(42)
    blocks = 12
    line = C_S + M_S * SIZES
    X = np.column_stack([np.ones_like(SIZES), SIZES]) / line[:, None]
    y = 1 + 0.02 * rng.standard_normal((blocks, len(SIZES)))
    own = np.array([np.linalg.lstsq(X, block, rcond=None)[0] for block in y])
    # The influence of least squares: (XᵀX)⁻¹·x·residual.
    residuals = y - X @ own.mean(axis=0)
    influence = np.concatenate([(X * off[:, None]) @ np.linalg.inv(blocks * X.T @ X) for off in residuals])
    found = clustered_covariance(influence, np.repeat(np.arange(blocks), len(SIZES)))
    time = np.arange(blocks) - (blocks - 1) / 2
    off_line = own - own.mean(axis=0) - np.outer(time, time @ own) / (time @ time)
    assert found.df == blocks - 2
    np.testing.assert_allclose(found.covariance, off_line.T @ off_line / (blocks - 2) / blocks)


def test_up_to_19_blocks_are_stretches_of_their_own_and_more_are_ten() -> None:
    assert stretches(np.array([7, 7, 9, 3])).tolist() == [1, 1, 2, 0]
    assert len(set(stretches(np.arange(19)).tolist())) == 19
    parts = stretches(np.arange(25))
    assert sorted(set(parts.tolist())) == list(range(10))
    assert set(np.bincount(parts).tolist()) == {2, 3}
    assert np.all(np.diff(parts) >= 0)


def test_two_clusters_have_no_covariance() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        clustered_covariance(np.ones((4, 2)), np.array([0, 0, 1, 1]))


def test_fewer_than_6_blocks_count_as_none() -> None:
    rng = np.random.default_rng(43)
    sizes, number = np.tile(SIZES, 5), np.repeat(np.arange(5), 8)
    times = (C_S + M_S * sizes) * (1 + 0.02 * rng.standard_normal(40))
    assert fit_affine(sizes, times, blocks=number) == fit_affine(sizes, times)


@pytest.mark.parametrize("blocks", [[0, 0, 1], [0.5] * 16])
def test_blocks_that_do_not_match_are_refused(blocks: list[float]) -> None:
    with pytest.raises(ValueError, match="whole block or start numbers"):
        fit_affine(np.tile(SIZES, 2), np.tile(C_S + M_S * SIZES, 2), blocks=blocks)
