"""The plain sentence of a server."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from raw_by_hand import repeated

from bench.analysis.law import fit_layer
from bench.analysis.sentences import sentence
from bench.analysis.speedups import speedups


def said(curve: Callable[[float], float], max_batch: int = 16) -> str:
    samples = repeated(curve, sd=0.003)
    fit = fit_layer(samples, "compute", 0.05)
    assert fit is not None
    return sentence(samples, fit, speedups("triton", samples, fit, 0.05), max_batch)


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        (
            lambda B: 0.004 + 0.002 * B,
            "batching can make this up to 3 times faster: balanced; the largest batch of 16 already reaches 8",
        ),
        # T(1)/m = 9, and 16·1/21 of it.
        (
            lambda B: max(0.009, 0.005 + 0.001 * B),
            "c and m hold from B = 4 on: batching can make this up to 9 times faster: overhead-bound; a batch of 2",
        ),
        (
            lambda B: 0.004 + 1e-9 * B,
            "batching has no ceiling that could be seen: m cannot be told from 0; a batch of 16 is 16 times faster",
        ),
        (
            lambda B: 0.004 + 0.001 * 2 ** math.ceil(math.log2(B)),
            "T(B) is no line, so there are no c and m to go by: T(B) is a staircase, as if each batch were padded to ",
        ),
    ],
)
def test_what_batching_means(curve: Callable[[float], float], words: str) -> None:
    assert said(curve).startswith(words)


def test_without_a_line_the_best_batch_size_is_the_one_with_most_requests_per_second() -> None:
    # B/T(B) is highest at √(c/a) = 6.3: of 6 requests in 13.6 ms, 441/s, and 5.1 ms for one alone.
    found = said(lambda B: 0.004 + 0.001 * B + 0.0001 * B**2)
    assert "of the sizes measured, batches of 6 serve most, 44" in found
    assert found.endswith("times as many as one at a time")
