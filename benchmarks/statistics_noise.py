"""Simulated noise: factors on the times of visits, and response times of requests that wait in one queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from bench.theory.fit import fit_affine

Floats = NDArray[np.float64]
Factors = Callable[[np.random.Generator, tuple[int, int]], Floats]
"""Factors of shape (blocks, sizes) on times without noise."""

SD = 0.02
SPIKE_SHARE, SPIKE = 0.03, 5.0
DRIFT = 0.05
LASTING_LAG_1 = 0.5


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return 1 + SD * rng.standard_normal(shape)


def spikes(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    factors = normal(rng, shape)
    return np.where(rng.random(shape) < SPIKE_SHARE, SPIKE * factors, factors)


def one_sided(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return 1 + SD * rng.exponential(size=shape)


def drift(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return normal(rng, shape) * (1 + DRIFT * np.linspace(-0.5, 0.5, shape[0]))[:, None]


def levels(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Every block has a level of its own, as uncertain as a visit."""
    return normal(rng, shape) * (1 + SD * rng.standard_normal(shape[0]))[:, None]


def lasting_levels(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Every block has a level of its own, and those of neighbours are alike."""
    return normal(rng, shape) * (1 + SD * _chain(rng, shape[0], LASTING_LAG_1))[:, None]


NOISES: Mapping[str, Factors] = {
    "normal 2 %": normal,
    "spikes, 3 % of 5 ×": spikes,
    "one-sided 2 %": one_sided,
    "drift of 5 %": drift,
    "levels of blocks": levels,
    "lasting levels": lasting_levels,
}


@cache
def centre(noise: str) -> float:
    """What c and m of a fit are, over those without noise, with endless visits: 1 but where the noise is one-sided."""
    if noise != "one-sided 2 %":
        return 1.0
    factors = NOISES[noise](np.random.default_rng(0), (200_000, 2))
    return fit_affine(np.tile([1.0, 2.0], len(factors)), (factors * [1.0, 2.0]).ravel()).m_s


Responses = Callable[[np.random.Generator, int], Floats]


def independent(rng: np.random.Generator, n: int) -> Floats:
    """Exponential response times of mean 1."""
    return rng.exponential(size=n)


def correlated(rng: np.random.Generator, n: int) -> Floats:
    """Lognormal response times of σ = 0.5, neighbouring logs with a correlation of 0.9."""
    return np.exp(0.5 * _chain(rng, n, 0.9))


def queue(load: float) -> Responses:
    """Response times in an M/M/1 queue at that share of its capacity, arrivals 1 per second, steady from the first."""

    def responses(rng: np.random.Generator, n: int) -> Floats:
        return queue_run(rng, n, load)[1]

    return responses


def queue_run(rng: np.random.Generator, n: int, load: float, steady: bool = True) -> tuple[Floats, Floats]:
    """(due, response) of n requests at an M/M/1 queue, seconds; from an empty server where `steady` is false."""
    due, service = np.cumsum(rng.exponential(size=n)), load * rng.exponential(size=n)
    # Lindley: a request waits for what is left of the work of all before it. At a steady queue the first
    # finds the server busy with probability `load`, and then waits an exponential time of mean load/(1 − load).
    first = rng.exponential(load / (1 - load)) if steady and rng.random() < load else 0.0
    walk = np.concatenate([[0.0], np.cumsum(service[:-1] - np.diff(due))])
    wait = walk - np.minimum(np.minimum.accumulate(walk), -first)
    return due - due[0], wait + service


def percentile_of(name: str, q: float) -> float:
    """The true q-th percentile of the response times of that name, see RESPONSES."""
    if name == "AR(1)":
        return float(np.exp(0.5 * stats.norm.ppf(q / 100)))
    mean = 1.0
    if name.startswith("M/M/1"):
        load = float(name.split()[1])
        mean = load / (1 - load)
    return float(-mean * np.log(1 - q / 100))


RESPONSES: Mapping[str, Responses] = {
    "independent": independent,
    "AR(1)": correlated,
    **{f"M/M/1 {load:g}": queue(load) for load in (0.3, 0.5, 0.7, 0.8)},
}


def _chain(rng: np.random.Generator, n: int, lag_1: float) -> Floats:
    """n standard normal values with that correlation of neighbours."""
    steps = np.sqrt(1 - lag_1**2) * rng.standard_normal(n)
    chain: Floats = signal.lfilter([1.0], [1.0, -lag_1], steps, zi=[lag_1 * rng.standard_normal()])[0]
    return chain
