"""From stores to records, by hand."""

from __future__ import annotations

import numpy as np

from bench.load.recorder import Recorder
from bench.load.records import Accounting


def test_rows_of_every_kind_and_their_accounting() -> None:
    recorder = Recorder(np.array([0, 100, 200, 300, 400, 500, 600]))
    recorder.start_ns = 1_000_000
    for index in (0, 1, 2, 4, 5):
        recorder.on_send(index, 1_000_000 + 100 * index + 7)
    recorder.on_shed(3)
    recorder.on_done(0, 200, 1_000_009, 1_000_050, 4, 30, "")
    recorder.on_done(1, 503, 1_000_110, 1_000_160, 0, -1, "queue full")
    recorder.on_done(2, 0, 1_000_210, 1_000_900, 0, -1, "timeout")
    recorder.on_done(5, 503, 1_000_510, 1_000_520, 0, -1, "queue full")

    found = recorder.records()
    assert found.scheduled_ns.tolist() == [0, 100, 200, 300, 400, 500, 600]
    assert found.sent_ns.tolist() == [9, 110, 210, -1, 407, 510, -1]
    assert found.completed_ns.tolist() == [50, 160, 900, -1, -1, 520, -1]
    assert found.status.tolist() == [200, 503, 0, -1, 0, 503, -1]
    assert found.batch_size.tolist() == [4, 0, 0, 0, 0, 0, 0]
    assert found.compute_ns.tolist() == [30, -1, -1, -1, -1, -1, -1]
    assert [found.causes[code] for code in found.cause] == [
        "", "queue full", "timeout", "shed", "in flight at the end", "queue full", "never sent",
    ]  # fmt: skip
    assert found.accounting() == Accounting(
        scheduled=7, sent=5, shed=1, never_sent=1, ok=1, errors=2, timed_out=1, in_flight=1
    )
    assert found.response_times_ns().tolist() == [50]
    assert found.dispatch_delays_ns().tolist() == [9, 10, 10, 7, 10]
    assert (recorder.sent, recorder.shed, recorder.finished, recorder.failed) == (5, 1, 4, 3)


def test_records_do_not_change_with_what_comes_later() -> None:
    recorder = Recorder(np.array([0]))
    recorder.start_ns = 10
    recorder.on_send(0, 10)
    before = recorder.records()
    recorder.on_done(0, 200, 10, 20, 1, 5, "")
    assert before.completed_ns.tolist() == [-1]
    assert recorder.records().completed_ns.tolist() == [10]
