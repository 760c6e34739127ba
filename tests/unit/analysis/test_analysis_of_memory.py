"""Memory against B, the largest batch that is safe, and a batch that did not fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import pytest
from raw_by_hand import LESSON, calibration, point, scenario

from bench.analysis.memory import MemoryUse, memory_use, smallest_failed
from bench.analysis.run import Analysis, RawRun, analyse
from bench.analysis.tables import RAW_COLUMNS
from bench.scenario.spec import Server

MB, GB = 1_000_000, 1_000_000_000
TRITON = Server("triton", "triton", max_batch_size=10)
# 250 MB + 2 MB·B, half a MB to and fro.
GROWS = {1: 252.5, 2: 253.5, 5: 260.5, 10: 269.5}
FLAT = {1: 250.1, 2: 249.8, 5: 250.0, 10: 250.1}


def read(peaks_mb: Mapping[int, float], limit: float = 8 * GB, loading_mb: float = 240.0) -> pd.DataFrame:
    rows = [("triton", size, 0, 12, peak * MB, math.nan, limit, loading_mb * MB) for size, peak in peaks_mb.items()]
    return pd.DataFrame(rows, columns=list(RAW_COLUMNS["memory"]))


def ran_out(*sizes: int) -> pd.DataFrame:
    rows = [("triton", size, "calibration", "out of resources") for size in sizes]
    return pd.DataFrame(rows, columns=list(RAW_COLUMNS["out_of_memory"]))


def use(measured: pd.DataFrame, failed: pd.DataFrame | None = None, server: Server = TRITON) -> MemoryUse:
    failed_at = None if failed is None else smallest_failed(failed)
    found = memory_use(server, calibration(), measured, failed_at)
    assert found is not None
    return found


def test_the_line_and_the_largest_safe_batch_are_told() -> None:
    found = use(read(GROWS))
    assert found.line is not None
    assert found.line.a.value == pytest.approx(250 * MB, rel=0.01)
    assert found.line.b.value == pytest.approx(2 * MB, rel=0.1)
    # (0.9 · 8 GB − 250 MB) / 2 MB
    assert found.safe.value == pytest.approx(3475, rel=0.1)
    assert found.words.startswith("a process takes 25")
    assert "the largest safe B is about 3" in found.words
    assert "00, an extrapolation from 10 (8 GB were to be had, 10% of it left free)" in found.words


def test_what_loading_takes_is_told_where_it_is_more_than_serving() -> None:
    assert "while it loads" not in use(read(GROWS, loading_mb=240)).words
    assert "; 326 MB while it loads; " in use(read(GROWS, loading_mb=326)).words
    assert "while it loads" not in use(read(GROWS, loading_mb=math.nan)).words  # it is in the peak


def test_a_limit_near_what_was_measured_is_no_extrapolation() -> None:
    found = use(read(GROWS, limit=300 * MB))
    # (0.9 · 300 − 250) / 2 = 10
    assert found.safe.value == pytest.approx(10, abs=1)
    assert "the largest safe B is 10 (0.3 GB" in found.words
    assert "extrapolation" not in found.words


def test_instances_share_the_limit() -> None:
    two = use(read(GROWS), server=replace(TRITON, instances=2))
    assert two.safe.value == pytest.approx((3600 - 250) / 2, rel=0.1)


def test_memory_that_does_not_grow_is_said_to_be_so() -> None:
    found = use(read(FLAT))
    assert found.safe.hi == math.inf
    assert found.words.startswith("memory does not grow measurably with B up to 10: a process takes 250 MB")
    verdict = found.verdict
    assert verdict is not None
    assert (verdict.outcome, verdict.measured) == ("holds", "no growth")


def test_a_largest_batch_that_fits_holds_and_one_that_cannot_fails_with_what_to_do() -> None:
    fits = use(read(GROWS)).verdict
    too_large = use(read(GROWS, limit=300 * MB), server=replace(TRITON, max_batch_size=64)).verdict
    assert fits is not None
    assert too_large is not None
    assert (fits.check, fits.server, fits.subject, fits.expected) == ("memory", "triton", "max_batch_size", 10.0)
    assert (fits.outcome, too_large.outcome) == ("holds", "fails")
    assert too_large.why.endswith("lower max_batch_size or instances, or give the server more memory")


def test_a_batch_that_did_not_fit_bounds_the_safe_one_and_fails() -> None:
    found = use(read({1: 252, 2: 254, 5: 260}), ran_out(10, 12))
    assert (found.failed_at, found.ran, found.safe.value) == (10, 5, 5.0)
    verdict = found.verdict
    assert verdict is not None
    assert (verdict.outcome, verdict.expected, verdict.measured) == ("fails", 10.0, 5.0)
    assert "a batch of 10 did not fit, one of 5 did: set max_batch_size to 5 or less" in verdict.why
    assert found.row["out_of_memory_at"] == 10


def test_a_server_that_never_forms_such_a_batch_holds() -> None:
    verdict = use(read(GROWS), ran_out(12)).verdict
    assert verdict is not None
    assert verdict.outcome == "holds"


def test_two_sizes_make_no_line_and_no_verdict() -> None:
    found = use(read({1: 250, 2: 251}))
    assert found.line is None
    assert found.verdict is None
    assert found.words == ""


def test_a_run_of_before_has_nothing_to_say_of_memory() -> None:
    assert memory_use(TRITON, calibration(), read({}), None) is None
    assert smallest_failed(ran_out()) is None


# ---- in a whole run


def analysed(failed: pd.DataFrame, measured: pd.DataFrame, *, loaded: bool) -> Analysis:
    tables = {"memory": measured, "out_of_memory": failed}
    points = (point(),) if loaded else ()
    return analyse(RawRun(scenario("triton"), calibration(), points, None, {}, tables))


def test_a_run_has_a_verdict_and_a_table_of_memory() -> None:
    made = analysed(ran_out(), read(GROWS), loaded=True)
    assert [v.outcome for v in made.verdicts if v.check == "memory"] == ["holds"]
    (row,) = made.tables["memory_fit"].to_dict("records")
    assert row["server"] == "triton"
    assert (row["points"], row["largest_batch"], row["margin"]) == (4, 10, 0.10)
    assert made.exit_code == 0


def test_sizes_that_do_not_fit_are_left_out_of_the_law_and_the_load_is_not_missed() -> None:
    made = analysed(ran_out(10), read({1: 252, 2: 254, 5: 260}), loaded=False)
    fit = made.fits["triton"]["compute"]
    assert fit.largest_batch == 5
    assert fit.c_s == pytest.approx(0.006, rel=0.01)
    assert [row.batch_size for row in made.speedups if row.layer == "compute"] == [2, 5]
    outcomes = {v.check: v.outcome for v in made.verdicts}
    assert (outcomes["memory"], outcomes["load"], outcomes["precision"]) == ("fails", "not applicable", "holds")
    assert made.exit_code == 1
    assert "batch of 5 " in made.sentences["triton"]


def test_where_one_size_fits_there_is_no_law_and_the_reason_is_told() -> None:
    made = analysed(ran_out(2), read({}), loaded=False)
    (law,) = (v for v in made.verdicts if v.check == "calibration")
    assert (law.outcome, law.why) == (
        "not applicable",
        "not measured: a batch of 2 did not fit into memory, see the verdict of that",
    )
    assert made.exit_code == 1


# ---- starts of the server


def started(starts: int, apart: float) -> pd.DataFrame:
    """Blocks of as many starts, the times of one start a little longer than those of the one before."""
    frames = []
    for start in range(starts):
        times = {size: seconds * (1 + apart * start) for size, seconds in LESSON.items()}
        own = calibration(times, serial_s=0.009 * (1 + apart * start), blocks=4)
        frames.append(own.assign(block=own["block"] + 4 * start, start=start))
    return pd.concat(frames, ignore_index=True)


def why_precise(samples: pd.DataFrame) -> tuple[str, float]:
    made = analyse(RawRun(scenario("triton"), samples, (point(),), None))
    (verdict,) = (v for v in made.verdicts if v.check == "precision")
    return verdict.why, float(verdict.measured)


def test_with_five_starts_the_errors_are_over_them_and_the_spread_is_told() -> None:
    why, wide = why_precise(started(5, 0.01))
    assert why.startswith("95 % intervals of c and m after 80 visits of 5 starts, errors over them; between starts")
    # 6 ms and 3 ms, 4 % more in the last start than in the first.
    assert "c differs by up to 0.24 ms, m by up to 0.12 ms" in why
    # Levels of 0 … 4 %: their standard deviation is 1.58 %, t(4) = 2.776, over √5; relative to the mean level of 1.02.
    assert wide == pytest.approx(2.776 * 0.0158 / math.sqrt(5) / 1.02, rel=0.05)


def test_with_fewer_they_are_over_blocks_and_that_is_said() -> None:
    why, _ = why_precise(started(3, 0.01))
    assert "of 3 starts, errors over blocks, as fewer than 5 starts tell little; between starts c differs" in why


def test_one_start_has_no_spread() -> None:
    why, _ = why_precise(started(1, 0.0))
    assert "start" not in why
