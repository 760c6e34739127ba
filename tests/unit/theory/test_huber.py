from __future__ import annotations

import numpy as np
import pytest

from bench.theory.huber import huber_regression


def location(values: list[float]) -> tuple[float, float]:
    """Huber's location and scale of numbers."""
    y = np.array(values)
    fitted = huber_regression(np.ones((len(y), 1)), y, np.array([np.median(y)]))
    return float(fitted.coefficients[0]), fitted.scale


def test_without_far_values_it_is_the_mean() -> None:
    assert location([1.0, 1.1, 1.2, 1.3])[0] == pytest.approx(1.15)


def test_a_far_value_pulls_as_if_it_were_near() -> None:
    near, _ = location([1.0, 1.1, 1.2, 1.3, 2.0])
    far, _ = location([1.0, 1.1, 1.2, 1.3, 2000.0])
    assert far == pytest.approx(near, abs=1e-6)
    assert far < 1.3


def test_the_scale_of_normal_noise_is_its_standard_deviation() -> None:
    noise = np.random.default_rng(1).normal(1, 0.03, 20_000)
    assert location(noise.tolist())[1] == pytest.approx(0.03, rel=0.02)


def test_the_influences_sum_to_0_and_their_squares_to_the_covariance() -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([np.ones(400), rng.uniform(0, 2, 400)])
    y = X @ [1.0, 0.5] + 0.02 * rng.standard_normal(400)
    fitted = huber_regression(X, y, np.array([1.0, 0.5]))
    np.testing.assert_allclose(fitted.influence.sum(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(fitted.influence.T @ fitted.influence, fitted.covariance, rtol=0.2)


def test_the_interval_of_a_location_covers_under_one_sided_noise() -> None:
    # The scale is estimated with the location, and noise on one side ties their errors together.
    rng = np.random.default_rng(3)
    centre, _ = location((1 + 0.02 * rng.exponential(size=200_000)).tolist())
    hits = []
    for _ in range(500):
        y = 1 + 0.02 * rng.exponential(size=60)
        fitted = huber_regression(np.ones((60, 1)), y, np.array([np.median(y)]))
        hits.append(abs(fitted.coefficients[0] - centre) <= 2.0 * np.sqrt(fitted.covariance[0, 0]))
    assert np.mean(hits) == pytest.approx(0.95, abs=0.03)


def test_exact_values_have_no_error() -> None:
    fitted = huber_regression(np.ones((5, 1)), np.ones(5), np.ones(1))
    assert fitted.covariance[0, 0] == pytest.approx(0, abs=1e-15)
