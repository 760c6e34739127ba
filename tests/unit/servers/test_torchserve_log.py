"""How long requests were with their worker, by the lines that TorchServe writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.servers.torchserve_log import WorkerLog


def handed_over(at: str, worker: str = "W-9000-cnn_1.0") -> str:
    said = "org.pytorch.serve.wlm.WorkerThread - Flushing req.cmd PREDICT repeats 1 to backend at: 1796097454915"
    return f"2026-12-01T{at} [DEBUG] {worker} {said}\n"


def answered(at: str, worker: str = "W-9000-cnn_1.0", model: str = "cnn", status: int = 200) -> str:
    request = f'"POST /predictions/{model} HTTP/1.1" {status} 52'
    return f"2026-12-01T{at} [INFO ] {worker} ACCESS_LOG - /127.0.0.1:42970 {request}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


def test_each_answer_counts_from_the_moment_its_batch_was_handed_over(file: Path) -> None:
    file.write_text(
        handed_over("03:57:34,915") + answered("03:57:34,925") + answered("03:57:34,926")
        + handed_over("03:57:34,930") + answered("03:57:34,939")
    )  # fmt: skip
    assert WorkerLog(file).held("cnn") == (3, pytest.approx(0.010 + 0.011 + 0.009))


def test_workers_and_models_are_kept_apart(file: Path) -> None:
    file.write_text(
        handed_over("03:57:34,900") + handed_over("03:57:34,910", "W-9001-cnn_1.0")
        + answered("03:57:34,920") + answered("03:57:34,940", "W-9001-cnn_1.0")
        + handed_over("03:57:35,000", "W-9002-other_1.0") + answered("03:57:35,500", "W-9002-other_1.0", "other")
    )  # fmt: skip
    log = WorkerLog(file)
    assert log.held("cnn") == (2, pytest.approx(0.020 + 0.030))
    assert log.held("other") == (1, pytest.approx(0.5))
    assert log.held("nobody") == (0, 0.0)


def test_midnight_is_no_negative_time(file: Path) -> None:
    file.write_text(handed_over("23:59:59,995") + answered("00:00:00,005"))
    assert WorkerLog(file).held("cnn") == (1, pytest.approx(0.010))


def test_failed_requests_and_those_of_other_threads_are_left_out(file: Path) -> None:
    file.write_text(
        "|> a banner\n"
        '2026-12-01T03:57:34,900 [INFO ] epollEventLoopGroup-3-2 ACCESS_LOG - /127.0.0.1:1 "GET /ping HTTP/1.1" 200 1\n'
        + answered("03:57:34,901")  # before any batch: nothing to count from
        + handed_over("03:57:34,910") + answered("03:57:34,920", status=503) + answered("03:57:34,925")
    )  # fmt: skip
    assert WorkerLog(file).held("cnn") == (1, pytest.approx(0.015))


def test_a_later_look_adds_what_was_written_since_and_a_line_is_read_once_it_is_whole(file: Path) -> None:
    log = WorkerLog(file)
    assert log.held("cnn") == (0, 0.0)  # there is no log yet
    text = handed_over("03:57:34,910") + answered("03:57:34,920")
    file.write_text(text[:-10])
    assert log.held("cnn") == (0, 0.0)
    file.write_text(text)
    assert log.held("cnn") == (1, pytest.approx(0.010))
    with file.open("a") as stream:
        stream.write(answered("03:57:34,921"))
    assert log.held("cnn") == (2, pytest.approx(0.021))
    assert log.held("cnn") == (2, pytest.approx(0.021))
