"""Resident memory from the lines of /proc, and its growth under load."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cpu import Sample
from benchmarks.memory import NOT_SAMPLED, own_peak_bytes, resident, resident_bytes, status_bytes

STATUS = "Name:\tpython\nVmPeak:\t  900 kB\nVmHWM:\t   700 kB\nVmRSS:\t   500 kB\nRssAnon:\t   100 kB\n"


def sample(at_ns: int, resident_bytes: int) -> Sample:
    return Sample(at_ns, 0.0, 0.0, 0.0, resident_bytes)


def test_a_field_of_a_status_is_in_kibibytes() -> None:
    assert (status_bytes(STATUS, "VmHWM"), status_bytes(STATUS, "VmRSS")) == (700 * 1024, 500 * 1024)
    assert status_bytes(STATUS, "VmSwap") == 0


def test_a_process_that_is_gone_has_none(tmp_path: Path) -> None:
    assert resident_bytes(1, tmp_path) == 0


def test_this_process_never_had_less_than_it_has() -> None:
    assert 0 < resident_bytes(os.getpid()) <= own_peak_bytes()


def test_growth_is_from_a_tenth_of_the_run_on_and_ends_with_the_last_arrival() -> None:
    samples = [sample(50, 10), sample(120, 100), sample(500, 103), sample(900, 102), sample(1100, 500)]
    found = resident(samples, np.array([0, 1000]))
    assert (found.early_bytes, found.most_bytes) == (100, 103)
    assert found.growth == pytest.approx(0.03)


def test_a_sample_of_a_process_that_was_gone_does_not_count() -> None:
    assert resident([sample(200, 100), sample(300, 0)], np.array([0, 1000])) == NOT_SAMPLED
    assert math.isnan(NOT_SAMPLED.growth)


def test_memory_is_not_sampled_without_a_load() -> None:
    assert resident([sample(0, 1), sample(1, 2)], np.zeros(0, dtype=np.int64)) == NOT_SAMPLED
