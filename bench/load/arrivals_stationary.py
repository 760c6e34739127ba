"""Arrivals that are the same process all the time: constant, Poisson, gamma, and bursts (on/off, MMPP)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

# Drawn in blocks of one size: the stream of draws, and so every arrival, does not depend on the duration.
_BLOCK = 4096


def constant(rate_per_s: float, duration_s: float, _seed: int) -> np.ndarray:
    """Arrival k at k / rate."""
    return np.arange(math.ceil(rate_per_s * duration_s)) / rate_per_s


def poisson(rate_per_s: float, duration_s: float, seed: int | Sequence[int]) -> np.ndarray:
    """Gaps exponential with mean 1 / rate."""
    return poisson_of(np.random.default_rng(seed), rate_per_s, duration_s)


def poisson_of(rng: np.random.Generator, rate_per_s: float, duration_s: float) -> np.ndarray:
    """A Poisson process of a generator's own; its last arrivals lie past the end."""
    return _summed(lambda size: rng.exponential(1 / rate_per_s, size), duration_s)


def gamma(rate_per_s: float, duration_s: float, seed: int, *, cv: float) -> np.ndarray:
    """Gaps gamma with mean 1 / rate and standard deviation cv / rate: shape 1 / cv², scale cv² / rate.

    It starts in equilibrium: 0 falls into a gap as any moment does, into a longer one more likely (its length has
    the density x·f(x)/mean, again a gamma, of shape 1 / cv² + 1) and at a uniform point of it. A start at an
    arrival would give (cv² - 1) / 2 arrivals more than the rate asks for. cv 1 is Poisson.
    """
    rng = np.random.default_rng(seed)
    shape, scale_s = cv**-2, cv**2 / rate_per_s
    first = rng.uniform() * rng.gamma(shape + 1, scale_s)
    later = first + _summed(lambda size: rng.gamma(shape, scale_s, size), duration_s)
    return np.concatenate([[first], later])


def mmpp(rate_per_s: float, duration_s: float, seed: int, *, states: Sequence[Mapping[str, float]]) -> np.ndarray:
    """Poisson arrivals whose rate is that of a state: Markov-modulated.

    Of each state: `rate`, relative to those of the others, and `dwell_s`, the mean of its exponential stay, after
    which each of the other states is as likely to be next. A state then has dwell / (sum of the dwells) of the
    time, and a start in a state drawn by these shares makes the expected rate the asked one at every moment. Over
    one window the states are what chance makes them.
    """
    path_rng, arrival_rng = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    rates = np.array([state["rate"] for state in states])
    dwells_s = np.array([state["dwell_s"] for state in states])
    occupied = dwells_s / dwells_s.sum()
    state = int(path_rng.choice(len(states), p=occupied))
    factors, stays_s, reached_s = [], [], 0.0
    while reached_s < duration_s:
        jumps = path_rng.integers(1, len(states), size=_BLOCK)
        visited = (state + np.concatenate([[0], np.cumsum(jumps)])) % len(states)
        state = int(visited[-1])
        stays_s.append(path_rng.exponential(dwells_s[visited[:-1]]))
        factors.append(rates[visited[:-1]] / float(occupied @ rates))
        reached_s += float(stays_s[-1].sum())
    return piecewise(arrival_rng, rate_per_s, duration_s, np.concatenate(stays_s), np.concatenate(factors))


def on_off(
    rate_per_s: float,
    duration_s: float,
    seed: int,
    *,
    on_s: float,
    off_s: float,
    share: float = 1.0,
    dwell: str = "exponential",
) -> np.ndarray:
    """Poisson bursts of `on_s` with pauses of `off_s` between them, and `share` of all arrivals in the bursts.

    dwell 'exponential': the times are means, and it is an MMPP of two states. 'fixed': every burst and pause
    lasts just so long, from a start at a uniform point of the cycle. Either way the expected rate is the asked
    one at every moment; over one window it is what chance makes it.
    """
    if dwell not in ("exponential", "fixed"):
        raise ValueError(f"arrivals: on_off: dwell: expected exponential or fixed, got {dwell!r}")
    rates = (share / on_s, (1 - share) / off_s)
    if dwell == "exponential":
        states = [{"rate": rates[0], "dwell_s": on_s}, {"rate": rates[1], "dwell_s": off_s}]
        return mmpp(rate_per_s, duration_s, seed, states=states)
    cycle_s = on_s + off_s
    phase_rng, arrival_rng = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    before_s = phase_rng.uniform() * cycle_s
    cycles = math.ceil((before_s + duration_s) / cycle_s)
    ends_s = np.cumsum(np.tile([on_s, off_s], cycles)) - before_s
    stays_s = np.diff(np.maximum(ends_s, 0.0), prepend=0.0)
    return piecewise(arrival_rng, rate_per_s, duration_s, stays_s, np.tile(rates, cycles) * cycle_s)


def piecewise(
    rng: np.random.Generator, rate_per_s: float, duration_s: float, lengths_s: np.ndarray, factors: np.ndarray
) -> np.ndarray:
    """Poisson arrivals at rate × factor within each length, by a change of time, which is exact.

    A Poisson process of rate 1 in Λ, the arrivals expected by t, becomes one of rate dΛ/dt in t. Λ is linear in
    each length, so its inverse is an interpolation.
    """
    ends_s = np.concatenate([[0.0], np.cumsum(lengths_s)])
    expected = np.concatenate([[0.0], np.cumsum(rate_per_s * factors * lengths_s)])
    total = float(np.interp(duration_s, ends_s, expected))
    unit = poisson_of(rng, 1.0, total)
    return np.asarray(np.interp(unit[unit < total], expected, ends_s))


def _summed(draw: Callable[[int], np.ndarray], until: float) -> np.ndarray:
    blocks: list[np.ndarray] = []
    reached = 0.0
    while reached < until:
        blocks.append(draw(_BLOCK))
        reached += float(blocks[-1].sum())
    return np.cumsum(np.concatenate(blocks)) if blocks else np.empty(0)
