"""The receiver's log, written and read back, with its freeze and without."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter_ns

from benchmarks.arrival_log import ArrivalLog, read_arrivals, read_freeze


def test_a_full_log_goes_on_counting(tmp_path: Path) -> None:
    log = ArrivalLog(capacity=2)
    for now_ns in (6, 5, 7):
        log.arrived(now_ns)
    log.write(tmp_path / "arrivals")
    assert log.count == 3
    assert read_arrivals(tmp_path / "arrivals").tolist() == [5, 6]
    assert read_freeze(tmp_path / "arrivals") is None


def test_a_freeze_holds_the_loop_after_the_first_arrival_and_is_written_down(tmp_path: Path) -> None:
    async def arrivals() -> int:
        log.arrived(perf_counter_ns())
        log.arrived(perf_counter_ns())
        await asyncio.sleep(0.05)
        return perf_counter_ns()

    log = ArrivalLog(capacity=10, freeze_after_s=0.001, freeze_s=0.08)
    after_ns = asyncio.run(arrivals())
    log.write(tmp_path / "arrivals")
    frozen = read_freeze(tmp_path / "arrivals")
    assert frozen is not None
    began_ns, ended_ns = frozen
    assert log.times[1] < began_ns < ended_ns <= after_ns
    assert ended_ns - began_ns >= 80_000_000
