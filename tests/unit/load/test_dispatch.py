"""The dispatcher alone: senders that answer at once, later, or never."""

from __future__ import annotations

import asyncio
import gc
from time import perf_counter_ns, process_time_ns

import numpy as np
import pytest
import uvloop

from bench.load.dispatch import DoneFn, Progress, TimerFactory, replay
from bench.load.recorder import Recorder
from bench.load.records import Accounting, Records
from bench.load.timer import LoopTimer, open_timer

MS = 1_000_000
OFFSETS = np.arange(0, 100 * MS, MS, dtype=np.int64)


def play(offsets: np.ndarray, send: object, **options: object) -> Records:
    async def main() -> Records:
        return await replay(offsets, send, **{"drain_timeout_s": 1.0, **options})

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def answer(_index: int, done: DoneFn) -> None:
    done(200, perf_counter_ns(), perf_counter_ns(), 1, -1, "")


@pytest.mark.parametrize(
    "timer",
    [open_timer, lambda loop, wake, _gap: LoopTimer(loop, wake)],
    ids=["this system's", "the loop's own"],
)
def test_every_request_is_sent_once_in_order_not_before_it_is_due(timer: TimerFactory) -> None:
    order: list[int] = []

    def send(index: int, done: DoneFn) -> None:
        order.append(index)
        answer(index, done)

    records = play(OFFSETS, send, timer=timer)
    assert order == list(range(100))
    assert (records.dispatch_delays_ns() >= 0).all()
    assert records.scheduled_ns[-1] == 99 * MS


def test_all_that_is_due_goes_at_one_wake_up_without_waiting_for_answers() -> None:
    waiting: list[DoneFn] = []

    def send(_index: int, done: DoneFn) -> None:
        waiting.append(done)
        if len(waiting) == 50:  # only now do answers come
            for held in waiting:
                answer(0, held)

    records = play(np.full(50, 5 * MS, dtype=np.int64), send)
    assert records.accounting().ok == 50


def test_no_arrivals_make_no_rows() -> None:
    assert play(np.array([], dtype=np.int64), answer).accounting() == Accounting(0, 0, 0, 0, 0, 0, 0, 0)


def test_the_cap_sheds_and_what_never_ends_is_in_flight() -> None:
    records = play(OFFSETS, lambda _index, _done: None, in_flight_cap=3, drain_timeout_s=0.05)
    assert records.accounting() == Accounting(
        scheduled=100, sent=3, shed=97, never_sent=0, ok=0, errors=0, timed_out=0, in_flight=3
    )


def test_a_second_outcome_and_one_after_the_end_are_left_out() -> None:
    held: list[DoneFn] = []
    recorder = Recorder(OFFSETS[:2])

    def send(index: int, done: DoneFn) -> None:
        if index == 0:
            answer(index, done)
            done(500, 0, 0, 0, -1, "again")
        else:
            held.append(done)

    play(OFFSETS[:2], send, drain_timeout_s=0.02, recorder=recorder)
    answer(1, held[0])
    found = recorder.records()
    assert [found.causes[code] for code in found.cause] == ["", "in flight at the end"]


def test_an_exception_of_send_or_of_on_tick_ends_the_run() -> None:
    def send(index: int, done: DoneFn) -> None:
        raise OSError("no")

    def tick(_progress: Progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(OSError, match="no"):
        play(OFFSETS, send)
    with pytest.raises(ZeroDivisionError):
        play(OFFSETS * 10, answer, on_tick=tick)
    with pytest.raises(ZeroDivisionError):  # in the drain
        play(OFFSETS, lambda _index, _done: None, on_tick=tick)


def test_progress_is_told_while_it_runs() -> None:
    seen: list[Progress] = []
    play(OFFSETS * 10, answer, on_tick=seen.append)
    assert 1 <= len(seen) <= 6
    assert all(p.scheduled == 100 and p.sent == p.finished and p.failed == 0 for p in seen)
    assert seen[0].sent > 0


def test_a_rule_ends_it_early_and_awaits_only_what_is_in_flight() -> None:
    seen: list[Progress] = []
    held: list[DoneFn] = []

    def rule(progress: Progress) -> bool:
        seen.append(progress)
        return progress.in_flight >= 50

    def send(index: int, done: DoneFn) -> None:
        held.append(done)
        if index % 2:
            answer(index, done)

    records = play(np.arange(0, 60_000 * MS, MS, dtype=np.int64), send, stop=rule, drain_timeout_s=0.1)
    found = records.accounting()
    assert found.sent == len(held) >= 100
    assert found.in_flight == (len(held) + 1) // 2
    assert found.never_sent == records.having("ended early").sum() == 60_000 - len(held)
    assert [progress.in_flight >= 50 for progress in seen] == [False] * (len(seen) - 1) + [True]
    assert 0 < seen[-1].elapsed_s < 30


def test_a_rule_that_says_no_changes_nothing_and_one_that_raises_ends_the_run() -> None:
    assert play(OFFSETS * 3, answer, stop=lambda _progress: False).accounting().ok == 100
    with pytest.raises(ZeroDivisionError):
        play(OFFSETS * 10, answer, stop=lambda progress: progress.sent / 0 > 1)


def test_the_generator_tells_what_it_took() -> None:
    def spin(index: int, done: DoneFn) -> None:
        until = process_time_ns() + 2 * MS
        while process_time_ns() < until:
            pass
        answer(index, done)

    use = play(OFFSETS, spin).use
    assert use is not None
    assert use.workers == 1
    assert 0.2 <= use.cpu_s <= use.wall_s + 0.1  # the start is 0.05 s ahead
    assert use.wall_s >= 0.099


def test_the_collector_stands_still_in_the_run_and_works_after_it() -> None:
    seen: list[bool] = []

    def send(index: int, done: DoneFn) -> None:
        seen.append(gc.isenabled())
        answer(index, done)

    assert gc.isenabled()
    play(OFFSETS[:3], send)
    assert seen == [False] * 3
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_recorder_holds_one_run_of_its_own_offsets() -> None:
    recorder = Recorder(OFFSETS[:3])
    play(OFFSETS[:3], answer, recorder=recorder)
    for used in (recorder, Recorder(OFFSETS)):
        with pytest.raises(ValueError, match="not used yet"):
            play(OFFSETS[:3], answer, recorder=used)
