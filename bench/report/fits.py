"""c, m and the ceiling of every layer on the terminal, and how far they can be trusted."""

from __future__ import annotations

from rich.table import Table

from bench.analysis.law import LayerFit
from bench.analysis.run import Analysis
from bench.report import quantity
from bench.report.table import new_table

EXTRAPOLATION = "* extrapolation: no batch came near it, the largest has B < 4·c/m"


def fits_table(analysis: Analysis) -> Table:
    """A row for each server and layer, with the batch size from which c and m hold; none where there is no line."""
    columns = ("server", "layer", "c, ms", "m, ms", "ceiling", "shape", "off by")
    table = new_table("T(B) = c + B·m, 95 % intervals", *columns)
    for server, layers in analysis.fits.items():
        for layer, fit in layers.items():
            c, m, ceiling = _law(fit)
            where = f"{layer}, B ≥ {fit.holds_from:g}" if fit.has_knee else layer
            table.add_row(server, where, c, m, ceiling, fit.shape, quantity.share(fit.max_residual))
            if ceiling.endswith("*"):
                table.caption, table.caption_justify = f"{EXTRAPOLATION}\n", "left"
    return table


def _law(fit: LayerFit) -> tuple[str, str, str]:
    if fit.holds_from is None:
        return "–", "–", "–"
    c = quantity.ms_with_interval(fit.c_s, fit.c_lo_s, fit.c_hi_s)
    m = quantity.ms_with_interval(fit.m_s, fit.m_lo_s, fit.m_hi_s)
    if fit.unbounded:
        return c, m, "unbounded"
    ceiling = quantity.with_interval(fit.ceiling, fit.ceiling_lo, fit.ceiling_hi)
    return c, m, f"{ceiling}*" if fit.extrapolation else ceiling
