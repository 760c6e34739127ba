"""`load` at a server of which a part of the answers fail: what fails is counted by cause, and is in no latency."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import stubs
from load_command import Loaded, in_thread, load
from scripted import Scripted, after, every, resetting, triton_model

SLOW_FAILURE_S = 0.08
OK = after(0.005, stubs.answering(stubs.OK))
CLOSED = "connection closed"
# Cause -> the answer that has it.
TORCHSERVE = {
    "handler raised": stubs.response(
        503, b'{"code":503,"type":"InternalServerException","message":"Prediction failed"}'
    ),
    "queue full or no workers": stubs.REFUSED,
}
TRITON = {
    "model raised": stubs.response(500, b'{"error":"Failed to process the request(s) for model instance \'m_0\'"}'),
    "queue full": stubs.response(503, b'{"error":"Exceeds maximum queue size"}'),
}


def slow_failures(answers: Mapping[str, bytes]) -> Scripted:
    """34 of 100 requests, spread by chance, fail after 80 ms; the others are answered in 5 ms.

    Four of the 34 find the queue full: fewer than tell of a server that cannot keep up.
    """
    raised, full = answers
    script = [raised] * 30 + [full] * 4 + [""] * 66
    random.Random(1).shuffle(script)  # noqa: S311
    failures = {cause: after(SLOW_FAILURE_S, stubs.answering(raw)) for cause, raw in answers.items()}
    return Scripted({"": OK, **failures}, lambda n: script[n % 100])


def served(behaviour: stubs.Behaviour, folder: Path, *options: str, kind: str = "torchserve") -> Loaded:
    with in_thread(stubs.serving(behaviour)) as stub:
        return load(folder, stub.port, *options, kind=kind)


@pytest.mark.parametrize(("kind", "workers"), [("torchserve", "1"), ("triton", "2")])
def test_slow_failures_are_counted_by_cause_as_the_server_counts_them_and_never_retried(
    tmp_path: Path, kind: str, workers: str
) -> None:
    server = slow_failures({"torchserve": TORCHSERVE, "triton": TRITON}[kind])
    behaviour = server if kind == "torchserve" else triton_model(server)
    options = ("--rate", "200", "--duration", "2s", "--warmup", "0s", "--arrivals", "constant", "--workers", workers)
    found = served(behaviour, tmp_path, *options, kind=kind)
    assert found.causes == server.did  # and so there were no requests but those of the schedule
    assert (found.told["sent"], found.told["errors"]) == (400, 136)
    assert found.told["goodput_per_s"] == found.told["throughput_per_s"] == 132
    assert found.code != 0
    for cause in server.kinds.keys() - {""}:
        assert f"{server.did[cause]} × {cause}" in found.errors
    failed = found.rows[found.rows["cause"] != ""]
    assert set(failed["status"]) <= {500, 503}
    assert (failed["completed_s"] - failed["sent_s"] > SLOW_FAILURE_S * 0.9).all()


def test_slow_503s_do_not_move_the_percentiles_of_the_successes(tmp_path: Path) -> None:
    """By the lowest of some runs each, as noise only adds to a time: failures would add theirs to every run."""
    noise_s = {"response_p50_s": 0.002, "response_p90_s": 0.002, "response_p99_s": 0.005}
    options = ("--rate", "200", "--duration", "2s", "--warmup", "500ms")
    alone = dict.fromkeys(noise_s, np.inf)
    among = dict(alone)
    for _ in range(5):
        for lowest, server in ((alone, Scripted({"": OK}, lambda _: "")), (among, slow_failures(TORCHSERVE))):
            found = served(server, tmp_path, *options)
            times_s = _successes_s(found, since_s=0.5)
            for q, name in zip((50, 90, 99), noise_s, strict=True):
                assert found.told[name] == pytest.approx(np.percentile(times_s, q))
                lowest[name] = min(lowest[name], found.told[name])
        assert found.told["errors"] > 0.25 * found.told["sent"]
        if all(abs(among[name] - alone[name]) < noise_s[name] for name in noise_s):
            return
    pytest.fail(f"alone {alone}, among slow failures {among}")


def _successes_s(found: Loaded, since_s: float) -> pd.Series:
    rows = found.rows[(found.rows["cause"] == "") & (found.rows["scheduled_s"] >= since_s)]
    return rows["completed_s"] - rows["scheduled_s"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_reset_connections_are_failures_of_a_named_cause_and_the_rest_is_measured(tmp_path: Path, workers: str) -> None:
    server = Scripted({"": OK, CLOSED: resetting}, every(100, CLOSED))
    options = ("--rate", "500", "--duration", "2s", "--warmup", "0s", "--arrivals", "constant", "--workers", workers)
    found = served(server, tmp_path, *options)
    assert found.causes == server.did == {"": 990, CLOSED: 10}
    assert found.told["errors"] == 10
    assert found.errors == f"10 × {CLOSED}"
    assert found.told["response_p50_s"] >= 0.004
    assert (found.rows["status"][found.rows["cause"] == CLOSED] == 0).all()
    assert found.code != 0


def test_the_causes_in_the_verdict_add_up_to_its_count(tmp_path: Path) -> None:
    server = Scripted(
        {"": OK, "handler raised": stubs.answering(TORCHSERVE["handler raised"])}, every(4, "handler raised")
    )
    found = served(server, tmp_path, "--rate", "100", "--duration", "1s", "--warmup", "1s", "--arrivals", "constant")
    assert server.did["handler raised"] == 50
    assert found.told["errors"] == 25
    assert found.errors == "25 × handler raised"
