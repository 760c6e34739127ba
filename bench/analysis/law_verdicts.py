"""Is c + B·m known, is T(B) a line, and do S(B) and the ceiling follow from it?"""

from __future__ import annotations

import math

import pandas as pd

from bench.analysis.calibration import LAW_LAYER, observed
from bench.analysis.law import KNOWN, LayerFit, straightness
from bench.analysis.law_notes import above_ceiling, between_starts, disturbances, falling_throughput
from bench.analysis.speedups import Speedup, ceiling
from bench.analysis.verdict import Verdict, judge, relative
from bench.scenario.spec import Checks


def law_verdicts(
    server: str, samples: pd.DataFrame, fit: LayerFit, rows: list[Speedup], *, precision: float, checks: Checks
) -> list[Verdict]:
    """Precision of the fit, straightness of the line, S(B) at every B, and the ceiling."""
    above, words = above_ceiling(samples, fit, rows)
    return [
        _precision(server, samples, fit, precision),
        _affine(server, samples, fit, checks.affine_tolerance),
        *(_speedup(row, checks.speedup_tolerance, words if row.batch_size == above else "") for row in rows),
        _ceiling(server, samples, fit, checks.ceiling_tolerance),
    ]


def _precision(server: str, samples: pd.DataFrame, fit: LayerFit, asked: float) -> Verdict:
    told = "".join(f"; {words}" for words in disturbances(samples))
    known = f"95 % intervals of c and m after {fit.samples} visits{between_starts(observed(samples, LAW_LAYER))}"
    known += f" from B = {fit.holds_from:g} on" if fit.has_knee else ""
    if fit.holds_from is None:
        why = f"T(B) is no line, so there are no c and m to know{told}"
        return Verdict("precision", server, "c and m", asked, fit.precision, asked, "not applicable", why)
    if fit.precision <= asked:
        return Verdict("precision", server, "c and m", asked, fit.precision, asked, "holds", f"{known}{told}")
    if fit.precision <= KNOWN:
        why = f"{known}{told}; max_duration was over before they were as narrow as asked, they stand as they are"
        return Verdict("precision", server, "c and m", asked, fit.precision, asked, "not applicable", why)
    if _flat(fit):
        why = f"{known}{told}; m cannot be told from 0, it is {fit.m_hi_s * 1e3:.3g} ms at the most"
        return Verdict("precision", server, "c and m", asked, fit.precision, asked, "not applicable", why)
    why = f"{known}{told}; too wide to say what c and m are: raise calibration.max_duration, or quieten the machine"
    return Verdict("precision", server, "c and m", asked, fit.precision, asked, "invalid", why)


def _flat(fit: LayerFit) -> bool:
    """Whether m cannot be told from 0 although T(B) is known: to a quarter of c at the largest batch."""
    reach_s = (fit.m_hi_s - fit.m_lo_s) / 2 * fit.largest_batch
    return fit.unbounded and fit.c_hi_s - fit.c_lo_s <= 2 * KNOWN * fit.c_s and reach_s <= KNOWN * fit.c_s


def _affine(server: str, samples: pd.DataFrame, fit: LayerFit, tolerance: float) -> Verdict:
    """Of the line through all batch sizes, whatever the finer shape; that is told beside it."""
    line = straightness(observed(samples, LAW_LAYER), tolerance)
    why = f"B={line.worst} {line.text}; lack of fit p = {line.whole.lack_of_fit_p:.2g}"
    finer = "" if fit.shape == "affine" else fit.shape_words
    if line.outcome == "fails":
        why += f"; T(B) is no line here{f': {finer}' if finer else ''}"
        why += f"; c and m hold from B = {fit.holds_from:g} on" if fit.has_knee else ""
        why += "; table only" if fit.holds_from is None else ""
        why += "; look at plots/latency_vs_batch.png"
    elif finer:
        why += f"; looked at more closely than to {tolerance:.0%}, {finer}"
        why += f"; c and m are those from B = {fit.holds_from:g} on" if fit.has_knee else ""
    falls = falling_throughput(samples)
    why += f"; {falls}" if falls else ""
    worst = line.whole.max_residual
    return Verdict("affine", server, "T(B) = c + Bm", 0.0, worst, tolerance, line.outcome, why)


def _speedup(row: Speedup, tolerance: float, remark: str) -> Verdict:
    why = f"{row.why}; {remark}" if remark else row.why
    return Verdict(
        "speedup", row.server, f"B={row.batch_size}", row.expected, row.measured, tolerance, row.outcome, why
    )


def _ceiling(server: str, samples: pd.DataFrame, fit: LayerFit, tolerance: float) -> Verdict:
    subject, expected = ("T(1)/m", fit.speedup_limit) if fit.has_knee else ("1 + c/m", fit.ceiling)
    if fit.holds_from is None:
        why = "T(B) is no line, so there is no ceiling to compare"
        return Verdict("ceiling", server, subject, "none", "none", tolerance, "not applicable", why)
    measured = ceiling(samples, fit.holds_from)
    bounds = () if measured is None else (expected, fit.ceiling_hi, measured.value, measured.hi)
    if measured is None or not all(map(math.isfinite, bounds)):
        why = "m cannot be told from 0, so there is no ceiling to compare" if measured else "too few batch sizes"
        return Verdict("ceiling", server, subject, expected, "unbounded", tolerance, "not applicable", why)
    outcome, why = judge(relative(measured, expected), tolerance)
    if fit.has_knee:
        why += f"; c and m hold from B = {fit.holds_from:g} on, so it is T(1)/m and not 1 + c/m = {fit.ceiling:.3g}"
    if fit.extrapolation:
        reached = float(fit.model.share_of_ceiling(fit.largest_batch))
        why += f"; an extrapolation: B = {fit.largest_batch:.0f} reaches {reached:.0%} of it"
        if outcome == "invalid":
            outcome = "not applicable"  # what no batch came near cannot be measured, however long one tries
    return Verdict("ceiling", server, subject, expected, measured.value, tolerance, outcome, why)
