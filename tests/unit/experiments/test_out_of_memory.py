"""What is taken for a lack of memory, and what stays the failure that it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench.clients.outcome import Outcome
from bench.clients.torchserve_http import error_cause as torchserve_cause
from bench.clients.triton_http import error_cause as triton_cause
from bench.errors import MeasurementInvalid, OutOfMemory, ServerError
from bench.experiments.subject import Subject
from bench.scenario.arms import batching_off, exactly
from bench.scenario.spec import Server


def dead() -> None:
    raise ServerError("triton: the server was killed by SIGKILL")


def subject(cause: Any, *, killed: bool = False, server_dead: bool = False) -> Subject:
    process = SimpleNamespace(
        worker_was_killed=lambda: killed, check_leader_alive=dead if server_dead else lambda: None
    )
    server = SimpleNamespace(spec=Server("triton", "triton"), process=process, check_alive=lambda: None)

    def answers(_outcome: Outcome) -> np.ndarray:
        raise MeasurementInvalid("expected HTTP 200")

    client = SimpleNamespace(cause=cause, answers=answers)
    return Subject(server, client, None, None, 1e-4, lambda *_: None)  # type: ignore[arg-type]


def failed(status: int, text: str) -> Outcome:
    return Outcome(status, {}, text.encode(), f"HTTP {status}")


OK = Outcome(200, {}, b"", "")
UNHEALTHY = failed(500, "Stub process 'm_b12_0_0' is not healthy.")


@pytest.mark.parametrize(
    ("cause", "outcome", "killed", "said"),
    [
        (torchserve_cause, failed(507, "Out of resources"), False, "out of resources"),
        (torchserve_cause, failed(507, "Worker died."), False, "worker killed, often for memory"),
        (triton_cause, failed(500, "message: MemoryError: Unable to allocate 9 GiB"), False, "out of resources"),
        (triton_cause, failed(500, "CUDA out of memory"), False, "out of resources"),
        (triton_cause, UNHEALTHY, True, "worker killed, often for memory"),
    ],
)
def test_a_lack_of_memory_names_the_batch_and_what_the_server_said(
    cause: Any, outcome: Outcome, killed: bool, said: str
) -> None:
    with pytest.raises(OutOfMemory) as caught:
        subject(cause, killed=killed).check_answers(exactly("m", 12), np.arange(12), [OK] * 3 + [outcome] * 9)
    assert caught.value.batch_size == 12
    assert caught.value.message == f"triton: a batch of 12 did not fit into memory: {said}"
    assert caught.value.detail == outcome.body.decode()


@pytest.mark.parametrize(
    ("cause", "outcome"),
    [
        (triton_cause, UNHEALTHY),  # it crashed or went by itself
        (torchserve_cause, failed(500, "Worker died.")),
        (torchserve_cause, failed(503, "Prediction failed")),
        (triton_cause, failed(500, "Failed to process the request(s), message: ValueError")),
        (torchserve_cause, failed(503, "Model has no worker to serve inference request")),
    ],
)
def test_any_other_failure_is_what_it_was(cause: Any, outcome: Outcome) -> None:
    with pytest.raises(MeasurementInvalid, match="expected HTTP 200"):
        subject(cause).check_answers(exactly("m", 12), np.arange(12), [outcome] * 12)


def test_a_server_that_is_dead_itself_did_not_run_out_of_memory_in_a_batch() -> None:
    with pytest.raises(ServerError, match="SIGKILL") as caught:
        subject(triton_cause, killed=True, server_dead=True).check_memory(12, [UNHEALTHY])
    assert not isinstance(caught.value, OutOfMemory)


@pytest.mark.parametrize(("requests", "rows", "size"), [(3, 3, 1), (1, 8, 8)])
def test_without_batching_a_batch_is_the_rows_of_one_request(requests: int, rows: int, size: int) -> None:
    off = batching_off("m", Server("triton", "triton"))
    outcomes = [failed(500, "out of memory")] * requests
    with pytest.raises(OutOfMemory) as caught:
        subject(triton_cause).check_answers(off, np.arange(rows), outcomes)
    assert caught.value.batch_size == size


def test_more_requests_than_a_batch_holds_are_told_as_a_full_batch() -> None:
    with pytest.raises(OutOfMemory) as caught:
        subject(triton_cause).check_answers(exactly("m", 4), np.arange(12), [failed(500, "out of memory")] * 12)
    assert caught.value.batch_size == 4
