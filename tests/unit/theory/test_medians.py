from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.theory.fit import fit_affine
from bench.theory.medians import fit_medians


def test_the_line_through_two_medians_comes_out_by_hand() -> None:
    # Medians 9 ms at B = 1 and 36 ms at B = 10: 6 ms + B · 3 ms, whatever the spikes.
    line = fit_medians([1, 1, 1, 10, 10, 10], [0.009, 0.009, 0.500, 0.036, 0.036, 0.900])
    assert (line.c_s, line.m_s) == pytest.approx((0.006, 0.003))
    assert line.predict(4) == pytest.approx(0.018)
    np.testing.assert_allclose(line.predict(np.array([1.0, 2.0])), [0.009, 0.012])


def test_the_weights_are_one_over_the_time_squared() -> None:
    # Least squares of (c + B·m)/T − 1 at (1, 1), (2, 3), (3, 3): the normal equations
    # 11/9·c + 14/9·m = 5/3 and 14/9·c + 22/9·m = 8/3 give c = −3/23, m = 27/23.
    line = fit_medians([1, 2, 3], [1.0, 3.0, 3.0])
    assert (line.c_s, line.m_s) == pytest.approx((-3 / 23, 27 / 23))


def test_it_stands_near_the_huber_fit() -> None:
    rng = np.random.default_rng(1)
    sizes = np.tile([1.0, 2, 4, 8, 16], 30)
    times = (0.004 + 0.002 * sizes) * (1 + 0.02 * rng.standard_normal(len(sizes)))
    line, fit = fit_medians(sizes, times), fit_affine(sizes, times)
    assert (line.c_s, line.m_s) == pytest.approx((fit.c_s, fit.m_s), rel=0.03)


def test_one_size_is_no_line() -> None:
    with pytest.raises(ValueError, match="at least 2 batch sizes"):
        fit_medians([2, 2], [1.0, 1.0])


@given(st.floats(1e-4, 1), st.floats(1e-4, 1), st.sets(st.integers(1, 128), min_size=2, max_size=8))
@settings(deadline=None, derandomize=True)
def test_exact_lines_come_out_and_a_minority_of_spikes_does_nothing(c_s: float, m_s: float, sizes: set[int]) -> None:
    B = np.array(sorted(sizes), dtype=np.float64)
    times = np.concatenate([c_s + m_s * B] * 2 + [100 * (c_s + m_s * B)])
    line = fit_medians(np.tile(B, 3), times)
    np.testing.assert_allclose(line.predict(B), c_s + m_s * B, rtol=1e-6)
