"""calibration.csv as visits to batch sizes: what everything that is said of T(B) starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.theory.fit import fit_affine
from bench.theory.shape import shape_of

Floats = NDArray[np.float64]
# Visits to each batch size: with two, a single disturbed one moves the fit by percents.
FEWEST_BLOCKS = 10
FEWEST_TO_FIT = 3
LAW_LAYER = "compute"
SERIAL_LAYER = "compute_serial"


@dataclass(frozen=True, slots=True)
class Observed:
    """The visits of one layer, each of shape (n,): batch size, median time in seconds, the block it was made in, and
    the start of the server that this block belongs to."""

    sizes: Floats
    times_s: Floats
    blocks: NDArray[np.intp]
    starts: NDArray[np.intp]

    @property
    def enough(self) -> bool:
        """Whether c and m can be fitted."""
        return len(np.unique(self.blocks)) > 1 and len(self.times_s) >= FEWEST_TO_FIT and len(np.unique(self.sizes)) > 1

    def since(self, smallest: float) -> Observed:
        """The visits to that batch size and larger ones."""
        return self.where(self.sizes >= smallest)

    def where(self, kept: NDArray[np.bool_]) -> Observed:
        """Some of the visits; kept: shape (n,)."""
        return Observed(self.sizes[kept], self.times_s[kept], self.blocks[kept], self.starts[kept])

    def by_block(self, batch_size: float) -> Floats:
        """The time that each block which visited a batch size says, the median of its visits."""
        there = self.sizes == batch_size
        times, blocks = self.times_s[there], self.blocks[there]
        return np.array([np.median(times[blocks == block]) for block in np.unique(blocks)], dtype=np.float64)

    def at(self, batch_size: float) -> Floats:
        """The times of the visits to one batch size."""
        chosen: Floats = self.times_s[self.sizes == batch_size]
        return chosen


def visits(samples: pd.DataFrame, layer: str) -> pd.DataFrame:
    """What a block says of each batch size: a row per block, a column per size, seconds.

    A visit counts by the median of its batches, and a block that visits a size several times by the median of those.
    """
    medians = _medians(samples, layer)
    return medians.pivot_table(index="block", columns="batch_size", values="time_s", aggfunc="median")


def typical_times(samples: pd.DataFrame, layer: str) -> dict[int, float]:
    """Batch size -> the median of its visits, seconds, ascending; without c and m this table is all there is."""
    seen = observed(samples, layer)
    return {int(B): float(np.median(seen.at(B))) for B in np.unique(seen.sizes)}


def observed(samples: pd.DataFrame, layer: str) -> Observed:
    """Each visit of one server's samples on its own, also where a block visits a size several times."""
    medians = _medians(samples, layer)
    sizes, times = (medians[name].to_numpy().astype(np.float64) for name in ("batch_size", "time_s"))
    blocks, starts = (medians[name].to_numpy().astype(np.intp) for name in ("block", "start"))
    return Observed(sizes, times, blocks, starts)


def serial_visits(samples: pd.DataFrame) -> pd.Series[float]:
    """Seconds of a request sent alone with batching off, by block; empty where that was not measured."""
    table = visits(samples, SERIAL_LAYER)
    return table[1] if 1 in table.columns else pd.Series(dtype=float)


def precise_enough(samples: pd.DataFrame, precision: float, layer: str = LAW_LAYER) -> bool:
    """Whether the 95 % intervals of a layer's c and m are within ±precision of them.

    Of all visits, and where T(B) has a knee also of those beyond it.
    """
    if samples.empty or samples["block"].nunique() < FEWEST_BLOCKS:
        return False
    seen = observed(samples, layer)
    if not seen.enough or not _precise(seen, precision):
        return False
    knee = shape_of(seen.sizes, seen.times_s, blocks=seen.blocks).knee
    return knee is None or _precise(seen.since(knee.hi), precision)


def _precise(seen: Observed, precision: float) -> bool:
    # Both must be: with the errors over blocks alone, one lucky block in a row of looks would end it.
    fits = (fit_affine(seen.sizes, seen.times_s, blocks=blocks) for blocks in (None, seen.blocks))
    return all(fit.precision <= precision for fit in fits)


def _medians(samples: pd.DataFrame, layer: str) -> pd.DataFrame:
    """The median of each visit: columns start, block, visit, batch_size, time_s.

    Runs of before have one visit in a block, and one start.
    """
    chosen = samples[samples["layer"] == layer]
    chosen = chosen.assign(**{name: 0 for name in ("visit", "start") if name not in chosen})
    return chosen.groupby(["start", "block", "visit", "batch_size"])["time_s"].median().reset_index()
