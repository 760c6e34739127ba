"""What batching means for one server, in one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench.analysis.calibration import LAW_LAYER, typical_times
from bench.analysis.law import LayerFit
from bench.analysis.speedups import Speedup
from bench.theory.law import plain_sentence


def sentence(samples: pd.DataFrame, fit: LayerFit, rows: Sequence[Speedup], max_batch: int) -> str:
    """Without a full stop. rows: of this server, by batch size; max_batch: the largest batch in use."""
    if fit.holds_from is None:
        return f"T(B) is no line, so there are no c and m to go by: {fit.shape_words}; {_best(samples, rows)}"
    if fit.unbounded:
        largest = rows[-1] if rows else None
        gain = f"; a batch of {largest.batch_size} is {largest.measured:.3g} times faster" if largest else ""
        return f"batching has no ceiling that could be seen: m cannot be told from 0{gain}"
    if not fit.has_knee:
        return plain_sentence(fit.model, max_batch)
    return f"c and m hold from B = {fit.holds_from:g} on: {plain_sentence(fit.model, max_batch, fit.alone_s)}"


def _best(samples: pd.DataFrame, rows: Sequence[Speedup]) -> str:
    """The batch size of the table that serves the most requests per second."""
    rates = {B: B / seconds for B, seconds in typical_times(samples, LAW_LAYER).items()}
    best = max(rates, key=lambda B: rates[B])
    gain = next((f", {row.measured:.3g} times as many as one at a time" for row in rows if row.batch_size == best), "")
    return f"of the sizes measured, batches of {best} serve most, {rates[best]:.3g} requests per second{gain}"
