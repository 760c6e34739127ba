"""From the store to records, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bench.load.recorder import BYTES_PER_REQUEST, MOST_CAUSES, Recorder
from bench.load.records import Accounting


def refused(recorder: Recorder, index: int, cause: str) -> None:
    recorder.on_send(index, 1000)
    recorder.on_done(index, 503, 1000, 1001, 0, -1, cause)


def test_rows_of_every_kind_and_their_accounting() -> None:
    recorder = Recorder(np.array([0, 100, 200, 300, 400, 500, 600, 700, 800]))
    recorder.start_ns = 1_000_000
    for index in (0, 1, 2, 4, 5):
        recorder.on_send(index, 1_000_000 + 100 * index + 7)
    recorder.on_shed(3)
    recorder.on_done(0, 200, 1_000_009, 1_000_050, 4, 30, "", 1_000_015)
    recorder.on_done(1, 503, 1_000_110, 1_000_160, 0, -1, "queue full")
    recorder.on_done(2, 0, 1_000_210, 1_000_900, 0, -1, "timeout")
    recorder.on_done(5, 503, 1_000_510, 1_000_520, 0, -1, "queue full")
    recorder.on_ended_early(range(7, 9))

    found = recorder.records()
    assert found.scheduled_ns.tolist() == [0, 100, 200, 300, 400, 500, 600, 700, 800]
    assert found.sent_ns.tolist() == [9, 110, 210, -1, 407, 510, -1, -1, -1]
    assert found.completed_ns.tolist() == [50, 160, 900, -1, -1, 520, -1, -1, -1]
    assert found.status.tolist() == [200, 503, 0, -1, 0, 503, -1, -1, -1]
    assert found.batch_size.tolist() == [4, 0, 0, 0, 0, 0, 0, 0, 0]
    assert found.compute_ns.tolist() == [30, -1, -1, -1, -1, -1, -1, -1, -1]
    assert found.started_ns.tolist() == [15, -1, -1, -1, -1, -1, -1, -1, -1]
    assert [found.causes[code] for code in found.cause] == [
        "", "queue full", "timeout", "shed", "in flight at the end", "queue full", "never sent",
        "ended early", "ended early",
    ]  # fmt: skip
    assert found.accounting() == Accounting(
        scheduled=9, sent=5, shed=1, never_sent=3, ok=1, errors=2, timed_out=1, in_flight=1
    )
    assert found.response_times_ns().tolist() == [50]
    assert found.dispatch_delays_ns().tolist() == [9, 10, 10, 7, 10]
    assert (recorder.sent, recorder.shed, recorder.finished, recorder.failed) == (5, 1, 4, 3)
    recorder.recount()
    assert (recorder.sent, recorder.shed, recorder.finished, recorder.failed) == (5, 1, 4, 3)


def test_taking_the_records_ends_the_run_and_taking_them_again_gives_the_same() -> None:
    recorder = Recorder(np.array([0]))
    recorder.start_ns = 10
    recorder.on_send(0, 12)
    found = recorder.records()
    recorder.on_done(0, 200, 12, 20, 1, 5, "")
    assert (found.sent_ns.tolist(), found.completed_ns.tolist()) == ([2], [-1])
    assert recorder.records() is found


def test_records_are_views_of_the_one_store_and_outlive_the_recorder() -> None:
    recorder = Recorder(np.arange(1000))
    assert recorder.records().sent_ns.base is not None
    assert np.shares_memory(recorder.records().sent_ns, np.frombuffer(recorder.memory, dtype=np.uint8))
    found = recorder.records()
    del recorder
    assert found.scheduled_ns.tolist() == list(range(1000))
    assert BYTES_PER_REQUEST == 48


def test_an_attached_recorder_writes_rows_that_its_parent_adopts_with_causes_of_its_own_numbering() -> None:
    parent = Recorder(np.zeros(6, dtype=np.int64))
    parent.start_ns = 1
    told: list[list[str]] = [[], []]
    workers = [Recorder.attached(parent.memory, 6, told[k].append) for k in range(2)]
    for index, cause in enumerate(["queue full", "reset", "reset", "reset", "shed at the door"]):
        refused(workers[index % 2], index, cause)
    assert told == [["queue full", "reset", "shed at the door"], ["reset"]]
    for k in range(2):
        parent.adopt(range(k, 6, 2), told[k])
    parent.recount()
    found = parent.records()
    assert [found.causes[code] for code in found.cause] == [
        "queue full", "reset", "reset", "reset", "shed at the door", "never sent",
    ]  # fmt: skip
    assert (parent.sent, parent.finished, parent.failed) == (5, 5, 5)


def test_the_latest_response_times_are_those_of_ok_answers_and_count_from_the_schedule() -> None:
    recorder = Recorder(np.array([0, 100, 200, 300, 400]))
    recorder.start_ns = 1_000_000
    assert len(recorder.latest_response_s(0, 3)) == 0
    for index in range(4):
        recorder.on_send(index, 1_000_000 + 100 * index + 7)
    for index, took_ns in ((0, 10), (1, 20), (3, 40)):
        recorder.on_done(index, 200, 1, 1_000_000 + 100 * index + took_ns, 1, -1, "" if index else "reset")
    assert recorder.latest_response_s(4, 100).tolist() == [20e-9, 40e-9]
    assert recorder.latest_response_s(4, 2).tolist() == [40e-9]
    recorder.records()
    assert recorder.latest_response_s(4, 2).tolist() == [40e-9]


def test_beyond_a_thousand_causes_a_row_has_another_cause() -> None:
    recorder = Recorder(np.zeros(MOST_CAUSES + 10, dtype=np.int64))
    for index in range(MOST_CAUSES + 10):
        refused(recorder, index, f"id {index}")
    found = recorder.records()
    assert len(found.causes) == MOST_CAUSES
    assert found.causes[found.cause[0]] == "id 0"
    assert found.causes[found.cause[-1]] == "another cause"
    assert found.accounting().errors == MOST_CAUSES + 10


@pytest.mark.parametrize("offsets", [[], [0, 1]])
def test_a_recorder_that_never_ran_has_a_row_for_each_arrival(offsets: list[int]) -> None:
    found = Recorder(np.array(offsets, dtype=np.int64)).records()
    assert found.scheduled_ns.tolist() == offsets
    assert found.accounting().never_sent == len(offsets)
    assert found.use is None
