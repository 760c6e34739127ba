"""`load` at servers whose answers are unusual, very large, cut off or no HTTP."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import stubs
from load_command import Loaded, in_thread, load
from scripted import Scripted, every, pieces

OK = stubs.answering(stubs.OK)
MALFORMED, CUT_SHORT, TOO_LARGE = "malformed response", "response cut short", "response too large"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
WHOLE = {
    "chunked": stubs.chunked,
    "chunks byte by byte": pieces(*(bytes([byte]) for byte in CHUNKED)),
    "byte by byte": stubs.slow(0.001),
    "after 100 Continue": stubs.answering(stubs.CONTINUED),
    "a while after 100 Continue": pieces(b"HTTP/1.1 100 Continue\r\n\r\n", stubs.OK),
    "head in two": pieces(stubs.OK[:9], stubs.OK[9:]),
    "body after the head": pieces(stubs.OK[:-2], stubs.OK[-2:]),
    "no reason and no body": stubs.answering(b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"),
    "until the close": stubs.answering(stubs.UNTIL_CLOSE, then_close=True),
}
NO_HTTP = (
    stubs.GARBAGE,
    b"HTTP/ 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 abc OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Odd: a\x00b\r\n\r\nok",
)
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"


def served(behaviour: stubs.Behaviour, folder: Path, rate: int, duration: str) -> tuple[Loaded, stubs.StubServer]:
    options = ("--rate", str(rate), "--duration", duration, "--warmup", "0s", "--arrivals", "constant")
    with in_thread(stubs.serving(behaviour)) as stub:
        return load(folder, stub.port, *options), stub


def test_unusual_but_whole_answers_are_successes(tmp_path: Path) -> None:
    names = list(WHOLE)
    server = Scripted(WHOLE, lambda n: names[n % len(names)])
    found, stub = served(server, tmp_path, 200, "1500ms")
    assert found.causes == {"": 300}
    assert stub.requests == 300
    assert not found.errors


def test_headers_in_odd_case_are_read(tmp_path: Path) -> None:
    raw = b"HTTP/1.1 200 OK\r\ncOnTeNt-LeNgTh:2\r\nX-BATCH-size:  3 \r\nx-handler-TIME-ns:\t5000000\r\n\r\nok"
    found, _ = served(stubs.answering(raw), tmp_path, 200, "1s")
    assert found.causes == {"": 200}
    assert set(found.rows["batch_size"]) == {3}
    assert set(found.rows["compute_s"]) == {0.005}


@pytest.mark.parametrize("then_close", [False, True], ids=["and says so", "without a word"])
def test_a_server_that_closes_after_each_answer_is_measured(tmp_path: Path, then_close: bool) -> None:
    raw = stubs.OK if then_close else stubs.CLOSE_EACH
    found, stub = served(stubs.answering(raw, then_close=then_close), tmp_path, 200, "1500ms")
    # A request on a connection that is closed just then is a failure: it is never sent again.
    closed = found.causes["connection closed"]
    assert found.causes == {"": stub.requests} | ({"connection closed": closed} if closed else {})
    assert stub.requests + closed == 300
    assert closed <= (30 if then_close else 0)
    assert stub.connections >= stub.requests


def test_ten_megabytes_now_and_then_are_an_answer_and_the_rest_is_measured(tmp_path: Path) -> None:
    large = stubs.answering(stubs.response(200, bytes(10_000_000)))
    server = Scripted({"": OK, "10 MB": large}, every(50, "10 MB"))
    found, _ = served(server, tmp_path, 100, "2s")
    assert found.causes == {"": 200}
    assert server.did == {"": 196, "10 MB": 4}
    took_s = np.sort(found.rows["completed_s"] - found.rows["sent_s"])
    assert found.told["round_trip_p50_s"] == pytest.approx(np.median(took_s))
    assert took_s[0] * 3 < took_s[-1]  # the large ones are in it


def test_an_answer_over_64_mib_is_not_taken_and_the_rest_is_measured(tmp_path: Path) -> None:
    large = stubs.answering(stubs.response(200, bytes((1 << 26) + 1)))
    server = Scripted({"": OK, TOO_LARGE: large}, lambda n: TOO_LARGE if n in (40, 90) else "")
    found, _ = served(server, tmp_path, 100, "1500ms")
    assert found.causes == server.did == {"": 148, TOO_LARGE: 2}
    assert found.errors == f"2 × {TOO_LARGE}"


def test_answers_that_are_no_http_or_not_whole_are_failures_of_a_named_cause(tmp_path: Path) -> None:
    broken = iter(NO_HTTP * 2)

    def malformed(connection: stubs.StubConnection, _request: stubs.Request) -> None:
        connection.write(next(broken))

    kinds = {"": OK, MALFORMED: malformed, CUT_SHORT: stubs.answering(stubs.CUT, then_close=True)}
    script = {49: MALFORMED, 99: CUT_SHORT}
    server = Scripted(kinds, lambda n: script.get(n % 100, ""))
    found, stub = served(server, tmp_path, 500, "2s")
    assert found.causes == server.did == {"": 980, MALFORMED: 10, CUT_SHORT: 10}
    assert stub.requests == found.told["sent"] == 1000
    for cause in (MALFORMED, CUT_SHORT):
        assert f"10 × {cause}" in found.errors


def test_an_answer_that_switches_protocols_is_no_answer(tmp_path: Path) -> None:
    server = Scripted({"": OK, MALFORMED: stubs.answering(SWITCHED)}, every(50, MALFORMED))
    found, _ = served(server, tmp_path, 200, "1s")
    assert found.causes == server.did == {"": 196, MALFORMED: 4}
    assert "Traceback" not in found.err
