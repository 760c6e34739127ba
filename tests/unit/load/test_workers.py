"""Worker processes with senders that need no socket: they answer at once, never, raise, or die."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter_ns

import numpy as np
import pytest
import uvloop

from bench.errors import ServerError
from bench.load.arrivals import schedule
from bench.load.dispatch import DoneFn, Progress, SendFn
from bench.load.recorder import Recorder
from bench.load.records import Records
from bench.load.workers import MakeSender, WorkerDied, replay_in_workers

MS = 1_000_000
OFFSETS = np.arange(0, 200 * MS, MS, dtype=np.int64)
LONG = np.arange(0, 60_000 * MS, MS, dtype=np.int64)


def play(offsets: np.ndarray, make_sender: MakeSender, workers: int = 2, **options: object) -> Records:
    async def main() -> Records:
        return await replay_in_workers(offsets, make_sender, workers, **{"drain_timeout_s": 1.0, **options})

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def told(done: DoneFn, *, size: int = 0, compute_ns: int = -1, cause: str = "") -> None:
    done(200, perf_counter_ns(), perf_counter_ns(), size, compute_ns, cause)


# ---- senders, by name: a worker imports them


@asynccontextmanager
async def telling_who(share: range) -> AsyncIterator[SendFn]:
    """Each row holds its index and the process that sent it."""

    def send(index: int, done: DoneFn) -> None:
        assert index in share
        told(done, size=os.getpid(), compute_ns=index)

    yield send


@asynccontextmanager
async def telling_payload(order: np.ndarray, _share: range) -> AsyncIterator[SendFn]:
    yield lambda index, done: told(done, compute_ns=int(order[index]))


@asynccontextmanager
async def telling_causes(share: range) -> AsyncIterator[SendFn]:
    """Each worker meets the causes in another order."""
    causes = ["reset", "", "queue full"] if share.start else ["queue full", "reset", "", "only here"]
    yield lambda index, done: told(done, cause=causes[index % len(causes)], compute_ns=len(causes[index % len(causes)]))


@asynccontextmanager
async def never(_share: range) -> AsyncIterator[SendFn]:
    yield lambda _index, _done: None


@asynccontextmanager
async def ending_at(index: int, how: Callable[[], None], _share: range) -> AsyncIterator[SendFn]:
    def send(at: int, done: DoneFn) -> None:
        if at == index:
            how()
        told(done)

    yield send


@asynccontextmanager
async def refusing(share: range) -> AsyncIterator[SendFn]:
    if share.start == 1:
        raise ServerError("m:8000: expected to open 32 connections", "the log")
    yield lambda _index, done: told(done)


@asynccontextmanager
async def closing_badly(_share: range) -> AsyncIterator[SendFn]:
    yield lambda _index, done: told(done)
    raise OSError("not closed")


def fail() -> None:
    raise OSError("no route")


def fail_in_a_way_that_cannot_be_sent() -> None:
    class OfMyOwn(Exception):
        pass

    raise OfMyOwn("strange")


def kill_myself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def exit_7() -> None:
    os._exit(7)


# ---- what comes of it


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_each_request_is_sent_by_the_worker_of_its_share_and_its_row_is_at_its_place(workers: int) -> None:
    records = play(OFFSETS, telling_who, workers)
    assert records.accounting().ok == 200
    assert records.compute_ns.tolist() == list(range(200))
    assert np.array_equal(records.scheduled_ns, OFFSETS)
    assert (records.dispatch_delays_ns() >= 0).all()
    assert (records.completed_ns >= records.sent_ns).all()
    senders = [set(records.batch_size[k::workers].tolist()) for k in range(workers)]
    assert all(len(pids) == 1 for pids in senders)
    assert len(set.union(*senders)) == workers
    assert os.getpid() not in set.union(*senders)


def test_schedule_and_payload_order_do_not_depend_on_the_number_of_workers() -> None:
    def run(workers: int) -> Records:
        offsets = schedule("poisson", 2000, 0.2, seed=5)
        order = np.random.default_rng(6).integers(100, size=len(offsets))
        return play(offsets, partial(telling_payload, order), workers)

    one, three = run(1), run(3)
    assert np.array_equal(one.scheduled_ns, three.scheduled_ns)
    assert np.array_equal(one.compute_ns, three.compute_ns)
    assert len(set(one.compute_ns.tolist())) > 50


def test_more_workers_than_requests_and_no_requests_at_all_are_no_special_case() -> None:
    assert play(OFFSETS[:1], telling_who, 2).accounting().ok == 1
    assert play(OFFSETS[:0], telling_who, 2).accounting().scheduled == 0


def test_causes_keep_their_names_whichever_worker_met_them_first() -> None:
    records = play(OFFSETS, telling_causes)
    found = [records.causes[code] for code in records.cause]
    assert [len(cause) for cause in found] == records.compute_ns.tolist()
    assert set(found) == {"", "reset", "queue full"} | {"only here"} & set(found)


def test_the_cap_is_shared_out_to_the_last_request() -> None:
    records = play(OFFSETS, never, 2, in_flight_cap=5, drain_timeout_s=0.05)
    found = records.accounting()
    assert (found.sent, found.shed, found.in_flight) == (5, 195, 5)
    assert [int((records.sent_ns[k::2] >= 0).sum()) for k in range(2)] == [3, 2]
    for workers in (0, 6):
        with pytest.raises(ValueError, match="expected 1 to in_flight_cap"):
            play(OFFSETS, never, workers, in_flight_cap=5)


def test_progress_is_that_of_all_workers_together() -> None:
    seen: list[Progress] = []
    records = play(OFFSETS * 5, telling_who, on_tick=seen.append)
    assert 2 <= len(seen) <= 12
    assert seen[-1].sent == seen[-1].finished == seen[-1].scheduled == 200
    assert seen[-1].in_flight == 0
    assert all(a.sent <= b.sent and a.elapsed_s < b.elapsed_s for a, b in pairwise(seen))
    assert records.use is not None
    assert records.use.workers == 2
    assert 0 < records.use.cpu_s < 2 * records.use.wall_s
    assert records.use.wall_s > 0.9


def test_a_rule_ends_it_early_and_what_was_not_sent_says_so() -> None:
    records = play(LONG, telling_who, stop=lambda progress: progress.sent >= 50)
    found = records.accounting()
    assert found.sent == found.ok >= 50
    assert found.never_sent == records.having("ended early").sum() == 60_000 - found.sent
    assert records.use is not None
    assert records.use.wall_s < 30


@pytest.mark.parametrize(
    ("how", "status", "words"),
    [(exit_7, 7, "exit status 7"), (kill_myself, -signal.SIGKILL, r"signal 9 \(Killed\)")],
)
def test_a_worker_that_dies_is_told_with_the_rows_so_far(how: Callable[[], None], status: int, words: str) -> None:
    recorder = Recorder(LONG)
    with pytest.raises(WorkerDied, match=rf"load worker 2 of 2: .*{words}") as died:
        play(LONG, partial(ending_at, 101, how), recorder=recorder)
    assert died.value.exit_status == status
    records = died.value.records()
    found = records.accounting()
    assert found.scheduled == found.sent + found.never_sent == 60_000
    assert found.sent == found.ok + found.in_flight
    assert [records.causes[code] for code in records.cause[1:104:2]] == [""] * 50 + [
        "in flight at the end",
        "never sent",
    ]
    assert recorder.records() is records
    assert (recorder.sent, recorder.finished) == (found.sent, found.ok)
    assert not multiprocessing.active_children()


def test_a_worker_that_dies_before_the_start_is_told_too() -> None:
    with pytest.raises(WorkerDied, match="exit status 3"):
        play(OFFSETS, dying_at_once)


def dying_at_once(share: range) -> object:
    os._exit(3)


def test_an_exception_in_a_worker_is_raised_as_it_is_and_says_where_it_was() -> None:
    recorder = Recorder(LONG)
    with pytest.raises(OSError, match="no route") as raised:
        play(LONG, partial(ending_at, 50, fail), recorder=recorder)
    assert "in fail\n" in raised.value.__notes__[0]
    assert recorder.records().accounting().ok >= 25
    with pytest.raises(ServerError) as refused:
        play(OFFSETS, refusing)
    assert (refused.value.message, refused.value.detail) == ("m:8000: expected to open 32 connections", "the log")
    with pytest.raises(OSError, match="not closed"):
        play(OFFSETS, closing_badly)
    with pytest.raises(RuntimeError, match="OfMyOwn: strange"):
        play(OFFSETS, partial(ending_at, 5, fail_in_a_way_that_cannot_be_sent))
    assert not multiprocessing.active_children()


def test_a_sender_that_cannot_be_sent_to_a_worker_is_refused_before_anything_starts() -> None:
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        play(OFFSETS, lambda _share: None)
    assert not multiprocessing.active_children()


def test_an_exception_of_on_tick_or_stop_ends_the_workers() -> None:
    def tick(_progress: Progress) -> None:
        raise ZeroDivisionError

    for options in ({"on_tick": tick}, {"stop": tick}):
        with pytest.raises(ZeroDivisionError):
            play(LONG, telling_who, **options)
    assert not multiprocessing.active_children()


def test_cancellation_ends_the_workers_and_keeps_the_rows() -> None:
    recorder = Recorder(LONG)

    async def main() -> None:
        sent = asyncio.Event()
        running = asyncio.ensure_future(
            replay_in_workers(
                LONG, telling_who, 2, drain_timeout_s=1.0, recorder=recorder,
                on_tick=lambda progress: sent.set() if progress.sent > 20 else None,
            )
        )  # fmt: skip
        await sent.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
    found = recorder.records().accounting()
    assert found.ok > 20
    assert found.scheduled == found.sent + found.never_sent
    assert found.never_sent > 0
    assert recorder.records().use is not None
    assert not multiprocessing.active_children()


def test_a_recorder_holds_one_run() -> None:
    recorder = Recorder(OFFSETS[:3])
    play(OFFSETS[:3], telling_who, 1, recorder=recorder)
    with pytest.raises(ValueError, match="not used yet"):
        play(OFFSETS[:3], telling_who, 1, recorder=recorder)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and /dev/shm")
def test_the_shared_memory_has_no_name_and_goes_with_the_records() -> None:
    def large_mappings() -> list[str]:
        lines = Path("/proc/self/maps").read_text().splitlines()
        return [line for line in lines if "pym-" in line and size(line) > 4_000_000]

    gc.collect()
    before = len(large_mappings())
    records = play(np.arange(200_000, dtype=np.int64), telling_who)
    assert records.accounting().scheduled == 200_000
    assert len(large_mappings()) == before + 1
    assert all("(deleted)" in line for line in large_mappings())
    del records
    gc.collect()
    assert len(large_mappings()) == before


def size(mapping: str) -> int:
    first, last = mapping.split()[0].split("-")
    return int(last, 16) - int(first, 16)
