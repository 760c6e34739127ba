"""What a server noted of requests beside what the client recorded of them, by id."""

from __future__ import annotations

from time import get_clock_info

import numpy as np
import pandas as pd
import pytest

from bench.analysis.load import Counted
from bench.experiments.open_loop import measured, request_id
from bench.experiments.tracing import join
from bench.load.recorder import Recorder
from bench.servers.server import Stages


def rows(n: int) -> pd.DataFrame:
    nothing = np.full(n, np.nan)
    return pd.DataFrame({"scheduled_s": np.arange(n) / 100, "queue_wait_s": nothing, "compute_s": nothing})


def test_what_was_noted_is_joined_by_the_id_that_the_request_was_sent_with() -> None:
    stages = {request_id(index): Stages(0.010 + index, 0.005 + index, 0.004, 0.001, index + 1) for index in (11, 2, 0)}
    found = join(rows(12), stages)
    assert found["server_s"].dropna().to_dict() == {0: 0.010, 2: 2.010, 11: 11.010}
    assert found["queue_wait_s"].dropna().to_dict() == {0: 0.005, 2: 2.005, 11: 11.005}
    assert found["compute_s"].dropna().tolist() == [0.004] * 3
    assert found["handover_s"].dropna().tolist() == [0.001] * 3
    assert found["batch_size"].dropna().tolist() == [1, 3, 12]


def test_an_id_that_was_never_sent_and_a_request_that_was_never_noted_change_nothing() -> None:
    found = join(rows(3), {request_id(7): Stages(1, 1, 1, 1, 1), "somebody else's": Stages(1, 1, 1, 1, 1)})
    assert found[["queue_wait_s", "compute_s", "handover_s", "server_s", "batch_size"]].isna().all().all()
    assert len(found) == 3


def test_all_ids_have_one_length() -> None:
    assert {len(request_id(index)) for index in (0, 9, 10, 4999)} == {8}


# ---- the start of an execution, by the server machine's clock


def recorded(started_ns: int) -> pd.DataFrame:
    """One request sent at 1 ms, answered at 20 ms, of which 8 ms were compute; its execution began at started_ns."""
    recorder = Recorder(np.array([0]))
    recorder.start_ns = 1_000_000_000
    recorder.on_send(0, 1_001_000_000)
    recorder.on_done(0, 200, 1_001_000_000, 1_020_000_000, 1, 8_000_000, "", recorder.start_ns + started_ns)
    return measured(recorder)[0]


@pytest.mark.parametrize("started_ns", [1_000_000, 7_000_000, 12_000_000])
def test_an_execution_within_the_round_trip_is_by_this_machines_clock(started_ns: int) -> None:
    assert recorded(started_ns)["execution_started_s"].tolist() == [pytest.approx(started_ns * 1e-9)]


@pytest.mark.parametrize("started_ns", [-500_000_000, 999_999, 12_000_001, 10**15])
def test_an_execution_before_its_request_or_beyond_its_answer_is_by_another_clock(started_ns: int) -> None:
    assert recorded(started_ns)["execution_started_s"].isna().all()


def test_with_the_servers_counts_the_wait_is_known_and_without_them_it_is_not() -> None:
    recorder = Recorder(np.array([0]))
    recorder.on_send(0, 1_000_000)
    recorder.on_done(0, 200, 1_000_000, 20_000_000, 1, 8_000_000, "", 7_000_000)
    found = measured(recorder, Counted(1, 0.005, None, None, 0.018))[0]
    assert found["queue_wait_s"].tolist() == [pytest.approx(0.005)]
    assert recorded(7_000_000)["queue_wait_s"].isna().all()


def test_the_clock_of_the_engine_is_the_one_that_the_handler_reads() -> None:
    assert get_clock_info("perf_counter").implementation == get_clock_info("monotonic").implementation
