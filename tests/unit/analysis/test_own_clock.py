"""The server's figure of a batch beside the model's own."""

from __future__ import annotations

import numpy as np

from bench.analysis.own_clock import own_clock_verdicts
from bench.theory.fit import AffineFit, fit_affine


def fit(c: float, m: float) -> AffineFit:
    sizes = np.tile([1.0, 4.0, 16.0], 4)
    noise = np.repeat([1.0, 0.9995, 1.0005, 1.0002], 3)
    return fit_affine(sizes, (c + m * sizes) * noise)


def test_what_the_server_adds_is_told_and_bounded() -> None:
    own = fit(0.004, 0.002)
    found = own_clock_verdicts("s", "torchserve", {"own_clock": own, "compute": fit(0.0041, 0.00201)})
    assert [(v.subject, v.outcome) for v in found] == [("c", "holds"), ("m", "holds")]
    assert "+0.1" in found[0].why
    found = own_clock_verdicts("s", "torchserve", {"own_clock": own, "compute": fit(0.0047, 0.0022)})
    assert [v.outcome for v in found] == ["fails", "fails"]
    found = own_clock_verdicts("s", "triton", {"own_clock": own, "compute": fit(0.0047, 0.00208)})
    assert [v.outcome for v in found] == ["holds", "holds"]


def test_a_model_without_a_clock_has_nothing_to_compare() -> None:
    assert own_clock_verdicts("s", "triton", {"compute": fit(0.004, 0.002)}) == []
