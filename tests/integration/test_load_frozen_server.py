"""`load` at a server that stands still for a second: response times count from the schedule all the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from freezing import Freezing
from load_command import load, within_three_attempts

OPTIONS = ("--rate", "500", "--duration", "3s", "--warmup", "0s", "--arrivals", "constant")


def test_in_a_freeze_a_response_takes_what_is_left_of_it_when_the_request_is_due(tmp_path: Path) -> None:
    def attempt() -> None:
        server = Freezing(at=500, frozen_s=1.0)
        with server.serving():
            found = load(tmp_path, server.port, *OPTIONS)
        rows, told = found.rows, found.told
        assert found.causes == {"": 1500}
        # Nothing is received before it is sent, nor completed before it is answered, in whatever order: sorted, this
        # holds place by place, and the run's start on the server's clock lies between the two bounds.
        latest_s = np.min(np.sort(server.received_s) - np.sort(rows["sent_s"]))
        earliest_s = np.max(np.sort(server.answered_s) - np.sort(rows["completed_s"]))
        assert earliest_s <= latest_s < earliest_s + 0.005

        due = rows[
            (rows["scheduled_s"] >= server.began_s - earliest_s) & (rows["scheduled_s"] < server.ended_s - latest_s)
        ]
        assert len(due) > 450
        left_s = server.ended_s - latest_s - due["scheduled_s"]
        response_s = due["completed_s"] - due["scheduled_s"]
        assert (response_s >= left_s).all()
        for q in (50, 99, 100):
            assert np.percentile(response_s, q) == pytest.approx(np.percentile(left_s, q), rel=0.05)

        response_s, round_trip_s = (rows["completed_s"] - rows[since] for since in ("scheduled_s", "sent_s"))
        assert told["response_max_s"] == pytest.approx(response_s.max())
        assert told["response_p99_s"] == pytest.approx(np.percentile(response_s, 99))
        assert told["round_trip_p99_s"] == pytest.approx(np.percentile(round_trip_s, 99))
        assert told["response_p99_s"] > 0.9

    within_three_attempts(attempt)
