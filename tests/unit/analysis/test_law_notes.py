"""What is told beside c and m."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from raw_by_hand import repeated

from bench.analysis.law import fit_layer
from bench.analysis.law_notes import above_ceiling, disturbances, falling_throughput, notes
from bench.analysis.speedups import speedups


def line(B: float) -> float:
    return 0.004 + 0.002 * B


def told(samples: pd.DataFrame) -> tuple[str, ...]:
    fit = fit_layer(samples, "compute", 0.05)
    assert fit is not None
    return notes(samples, fit, speedups("triton", samples, fit, 0.05))


def test_of_a_quiet_line_there_is_nothing_to_tell() -> None:
    assert told(repeated(line)) == ()


def test_drift_and_spikes_are_told_in_that_order() -> None:
    samples = repeated(line, blocks=20)
    samples["time_s"] *= 1 + 0.10 * samples["block"] / 19
    samples.loc[(samples["block"] < 5) & (samples["batch_size"] == 6), "time_s"] *= 3
    drift, spikes = disturbances(samples)
    assert drift.startswith("the server became ")
    assert drift.endswith(" % slower from the first block to the last")
    assert spikes.startswith("5 of 240 visits (2.1 %) were disturbed")
    assert told(samples)[:2] == (drift, spikes)


def test_a_throughput_that_falls_is_told_with_its_best_batch_size() -> None:
    # B/T(B): 462, 476 and 345 per second at 6, 8 and 16.
    curve = {1: 3.0, 2: 4.5, 4: 9.0, 6: 13.0, 8: 16.8, 16: 46.4}
    words = falling_throughput(repeated(lambda B: curve[int(B)] * 1e-3, sizes=curve))
    assert words.startswith("the throughput B/T(B) is highest at B = 8, 47")
    assert "and falls to 34" in words
    assert "each request of such a batch costs 37." in words
    assert words.endswith("batches beyond 8 cost more than they bring")


@pytest.mark.parametrize(
    "curve",
    [
        line,
        lambda B: 0.002 * B,  # the same throughput at every size
        lambda B: 0.004 + 0.001 * (16 if B > 8 else B),  # it falls at 12 and is highest at 16
    ],
)
def test_a_throughput_that_does_not_end_lower_is_not_called_falling(curve: Callable[[float], float]) -> None:
    assert falling_throughput(repeated(curve, sd=0.02)) == ""


def test_a_fall_within_the_noise_is_not_told() -> None:
    falls = repeated(lambda B: 0.002 * B * (1.005 if B == 16 else 1), sd=0.02)
    assert falling_throughput(falls) == ""


def above(samples: pd.DataFrame) -> tuple[int, str]:
    fit = fit_layer(samples, "compute", 0.05)
    assert fit is not None
    return above_ceiling(samples, fit, speedups("triton", samples, fit, 0.05))


def test_a_speedup_above_the_ceiling_is_told_with_the_times_that_made_it() -> None:
    size, words = above(repeated(line, serial_s=0.012))
    assert size == 16
    assert words.startswith("S(16) = 5.3")
    assert "one request alone takes 12" in words
    assert "and a batch of 16 36" in words
    assert above(repeated(line)) == (0, "")


def test_below_a_knee_a_request_alone_is_what_makes_a_speedup_exceed_the_ceiling() -> None:
    # S(16) = 144/21 = 6.9, above 1 + 5/1.
    _, words = above(repeated(lambda B: max(0.009, 0.005 + 0.001 * B)))
    assert "below B = 4 c and m do not hold, and S tends to T(1)/m = " in words


def test_without_a_line_there_is_no_ceiling_to_exceed() -> None:
    assert above(repeated(lambda B: 0.002 + 0.0005 * B**2)) == (0, "")
