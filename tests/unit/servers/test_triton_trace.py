"""Triton's traces as it writes them: several objects for each, over several files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.servers.triton_trace import STAMPS, files, options, read

MS = 1_000_000
# 1 ms to the queue, 5 ms in it, 0.2 ms of inputs, 8 ms of compute, 0.3 ms of outputs, 0.1 ms to the end.
AT = dict(zip(STAMPS, (0, 1 * MS, 6 * MS, 6_200_000, 14_200_000, 14_500_000, 14_600_000), strict=True))


def trace(number: int, request: str, start_ns: int = 0, without: str = "") -> list[dict[str, object]]:
    """As Triton writes them: the request's id in an object of its own, among those with one stamp each."""
    about = {"id": number, "model_name": "m", "model_version": 1, "request_id": request}
    stamps = [
        {"id": number, "timestamps": [{"name": name, "ns": start_ns + ns}]}
        for name, ns in AT.items()
        if name != without
    ]
    return [stamps[0], about, *stamps[1:]]


def write(folder: Path, index: int, entries: list[dict[str, object]]) -> Path:
    file = folder / f"trace.json.{index}"
    file.write_text(json.dumps(entries, separators=(",", ":")))
    return file


def test_files_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for index in (10, 0, 2, 1):
        write(tmp_path, index, [])
    (tmp_path / "trace.json").write_text("")
    (tmp_path / "trace.json.new").write_text("")
    assert [file.name for file in files(tmp_path)] == ["trace.json.0", "trace.json.1", "trace.json.2", "trace.json.10"]


def test_what_a_later_file_says_of_a_trace_holds_though_its_name_sorts_first(tmp_path: Path) -> None:
    write(tmp_path, 2, trace(1, "a"))
    write(tmp_path, 10, [{"id": 1, "timestamps": [{"name": "REQUEST_END", "ns": 20 * MS}]}])
    assert read(tmp_path)["a"].total_s == pytest.approx(0.020)


def test_the_stages_of_a_request_are_the_seconds_between_its_stamps(tmp_path: Path) -> None:
    write(tmp_path, 0, trace(1, "a"))
    found = read(tmp_path)["a"]
    assert found.total_s == pytest.approx(0.0146)
    assert found.queue_wait_s == pytest.approx(0.005)
    assert found.compute_s == pytest.approx(0.008)
    assert found.handover_s == pytest.approx(0.0005)
    assert found.batch_size == 1


def test_requests_whose_compute_starts_at_the_same_instant_are_one_batch(tmp_path: Path) -> None:
    write(tmp_path, 0, [*trace(1, "a"), *trace(2, "b"), *trace(3, "c", start_ns=1)])
    assert {request: stages.batch_size for request, stages in read(tmp_path).items()} == {"a": 2, "b": 2, "c": 1}


def test_the_stamps_of_one_trace_may_lie_in_two_files(tmp_path: Path) -> None:
    entries = trace(1, "a")
    write(tmp_path, 0, entries[:4])
    write(tmp_path, 1, entries[4:])
    assert read(tmp_path)["a"].total_s == pytest.approx(0.0146)


@pytest.mark.parametrize("without", STAMPS)
def test_a_request_that_lacks_a_stamp_is_left_out(tmp_path: Path, without: str) -> None:
    write(tmp_path, 0, [*trace(1, "a", without=without), *trace(2, "b")])
    assert set(read(tmp_path)) == {"b"}


def test_a_trace_that_names_no_request_is_left_out(tmp_path: Path) -> None:
    nameless = [entry for entry in trace(1, "a") if "request_id" not in entry]
    write(tmp_path, 0, [*nameless, *trace(2, "b")])
    assert set(read(tmp_path)) == {"b"}


def test_of_a_half_written_last_file_the_whole_traces_are_read(tmp_path: Path) -> None:
    write(tmp_path, 0, trace(1, "a"))
    last = write(tmp_path, 1, [*trace(2, "b"), *trace(3, "c")])
    text = last.read_text()
    for cut, whole in (
        (0, {"a"}),
        (1, {"a"}),
        (text.index('"id":3') - 20, {"a"}),  # within the last stamp of b
        (text.index('"id":3') + 3, {"a", "b"}),
        (len(text) - 2, {"a", "b"}),  # within the last stamp of c
        (len(text) - 1, {"a", "b", "c"}),  # the array is not closed, but nothing is missing
    ):
        last.write_text(text[:cut])
        assert set(read(tmp_path)) == whole


def test_without_files_there_is_nothing(tmp_path: Path) -> None:
    assert read(tmp_path) == {}


def test_a_triton_starts_able_to_trace_and_not_tracing(tmp_path: Path) -> None:
    found = [option.removeprefix("--trace-config=") for option in options(tmp_path)]
    assert f"triton,file={tmp_path}/trace.json" in found
    assert {"mode=triton", "rate=1", "level=OFF"} <= set(found)
    assert any(option.startswith("triton,log-frequency=") for option in found)
