"""c and m of every layer, and from which batch size on they hold."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from raw_by_hand import calibration, repeated

from bench.analysis.law import LayerFit, fit_all, fit_layer


def test_the_fit_gives_back_the_lessons_c_and_m() -> None:
    fit = fit_layer(calibration(), "compute", 0.05)
    assert fit is not None
    assert fit.c_s == pytest.approx(0.006, rel=2e-3)
    assert fit.m_s == pytest.approx(0.003, rel=2e-3)
    assert fit.ceiling == pytest.approx(3.0, rel=3e-3)
    assert fit.c_lo_s < 0.006 < fit.c_hi_s
    assert fit.m_lo_s < 0.003 < fit.m_hi_s
    # What a block does to all its times cancels in c/m, and here there is nothing else.
    assert fit.ceiling_lo - 1e-9 <= 3.0 <= fit.ceiling_hi + 1e-9
    assert fit.shape == "affine"
    assert fit.samples == 48  # 12 blocks of 4 sizes, and not each of the 3 repeats


def test_there_is_no_fit_of_one_block_or_of_one_batch_size() -> None:
    assert fit_layer(calibration(blocks=1), "compute", 0.05) is None
    assert fit_layer(calibration({4: 0.018}), "compute", 0.05) is None
    assert fit_layer(calibration(), "path", 0.05) is None
    assert fit_layer(calibration().iloc[:0], "compute", 0.05) is None


def test_there_is_no_fit_while_two_blocks_have_seen_one_batch_size_each() -> None:
    samples = calibration({1: 0.009, 2: 0.012}, blocks=2)
    first = (samples["block"] == 0) & (samples["batch_size"] == 1)
    second = (samples["block"] == 1) & (samples["batch_size"] == 2)
    assert fit_layer(samples[first | second], "compute", 0.05) is None


def test_every_layer_with_more_than_one_batch_size_is_fitted() -> None:
    path = calibration({1: 0.010, 2: 0.014, 5: 0.026, 10: 0.046}, layer="path", serial_s=None)
    fits = fit_all(pd.concat([calibration(), path]), 0.05)
    assert list(fits) == ["compute", "path"]  # compute_serial is one batch size
    assert fits["path"].c_s == pytest.approx(0.006, rel=5e-3)
    assert fits["path"].m_s == pytest.approx(0.004, rel=5e-3)


def compute(samples: pd.DataFrame, affine_tolerance: float = 0.05) -> LayerFit:
    found = fit_layer(samples, "compute", affine_tolerance)
    assert found is not None
    return found


def test_a_line_holds_from_the_smallest_batch_on() -> None:
    fit = compute(repeated(lambda B: 0.004 + 0.002 * B))
    assert (fit.shape, fit.holds_from, fit.has_knee) == ("affine", 1, False)
    assert math.isnan(fit.knee_lo)
    assert fit.alone_s == pytest.approx(fit.c_s + fit.m_s)
    assert float(fit.speedup(16.0)) == pytest.approx(16 * (fit.c_s + fit.m_s) / (fit.c_s + 16 * fit.m_s))
    assert fit.speedup_limit == pytest.approx(fit.ceiling)
    assert (fit.c_median_s, fit.m_median_s) == (pytest.approx(0.004, rel=0.03), pytest.approx(0.002, rel=0.02))
    assert fit.samples == 15 * 12


def test_beyond_a_knee_c_and_m_are_those_of_the_upper_line() -> None:
    fit = compute(repeated(lambda B: max(0.009, 0.005 + 0.001 * B)))
    assert (fit.shape, fit.holds_from, fit.has_knee) == ("hinge", 4, True)
    assert fit.knee_lo <= 4 <= fit.knee_hi
    assert (fit.c_s, fit.m_s) == (pytest.approx(0.005, rel=0.05), pytest.approx(0.001, rel=0.03))
    assert (fit.c_median_s, fit.m_median_s) == (pytest.approx(0.005, rel=0.05), pytest.approx(0.001, rel=0.03))
    assert [fit.claims(B) for B in (1, 3, 4, 16)] == [False, False, True, True]
    # A request alone takes 9 ms and not c + m = 6: 16 of them 144, one batch 21.
    assert fit.alone_s == pytest.approx(0.009, rel=0.01)
    assert float(fit.speedup(16.0)) == pytest.approx(144 / 21, rel=0.01)
    assert fit.speedup_limit == pytest.approx(9, rel=0.03)
    assert fit.largest_batch == 16


def test_without_a_line_c_and_m_hold_nowhere() -> None:
    fit = compute(repeated(lambda B: 0.004 + 0.001 * 2 ** math.ceil(math.log2(B))))
    assert (fit.shape, fit.holds_from, fit.has_knee) == ("staircase", None, False)
    assert not fit.claims(16)


def test_a_line_within_the_tolerance_holds_and_its_finer_shape_is_told() -> None:
    bent = repeated(lambda B: 0.020 + 0.001 * B + 0.00001 * B**2, sd=0.003)
    fit = compute(bent, affine_tolerance=0.05)
    assert (fit.shape, fit.holds_from) == ("quadratic", 1)
    assert "faster than in proportion to B" in fit.shape_words
    assert compute(bent, affine_tolerance=0.001).holds_from is None


def test_a_knee_within_the_tolerance_beyond_which_nothing_is_known_does_not_count() -> None:
    # The last three sizes are so near to each other that their line says little of c.
    curve = {1: 10.0, 2: 10.4, 3: 10.8, 4: 11.2, 5: 11.6, 10: 13.6, 11: 14.6, 12: 15.6}
    samples = repeated(lambda B: curve[int(B)] * 1e-3, sizes=curve, sd=0.02)
    shape = compute(samples, affine_tolerance=0.5)
    assert shape.shape == "two segments"
    assert (shape.holds_from, shape.has_knee) == (1, False)
    assert compute(samples, affine_tolerance=0.01).has_knee


def test_what_a_row_says_of_its_ceiling() -> None:
    near, far = compute(repeated(lambda B: 0.004 + 0.002 * B)), compute(repeated(lambda B: 0.020 + 0.001 * B))
    flat = compute(repeated(lambda B: 0.004 + 1e-9 * B))
    assert [fit.extrapolation for fit in (near, far)] == [False, True]
    assert [fit.unbounded for fit in (near, far, flat)] == [False, False, True]


def test_a_layer_is_fitted_to_visits_and_not_to_blocks() -> None:
    fit = compute(repeated(lambda B: 0.004 + 0.002 * B, blocks=10, ends=2))
    assert fit.samples == 10 * 10
    assert np.isfinite([fit.c_lo_s, fit.m_lo_s]).all()
