"""Bytes of the KServe v2 binary tensor protocol, by hand; tritonclient 2.73 makes the same ones."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench.clients.outcome import Outcome
from bench.clients.triton_http import error_cause, infer_request, parse_infer_response
from bench.errors import MeasurementInvalid


def answered(header: dict[str, object], raw: bytes, status: int = 200) -> Outcome:
    head = json.dumps(header).encode()
    return Outcome(status, {"inference-header-content-length": str(len(head))}, head + raw, "")


def output(name: str, datatype: str, shape: list[int], size: int) -> dict[str, object]:
    return {"name": name, "datatype": datatype, "shape": shape, "parameters": {"binary_data_size": size}}


def test_a_request_is_the_bytes_that_tritonclient_makes() -> None:
    found = infer_request(
        "m/1",
        {"A": np.array([[1.0, 2.0]], np.float32), "B": np.array([[7]], np.int64)},
        ["Y"],
        "127.0.0.1:8000",
        "r1",
    )
    head, body = found.split(b"\r\n\r\n", 1)
    json_header = (
        b'{"id":"r1","inputs":[{"name":"A","shape":[1,2],"datatype":"FP32","parameters":{"binary_data_size":8}},'
        b'{"name":"B","shape":[1,1],"datatype":"INT64","parameters":{"binary_data_size":8}}],'
        b'"outputs":[{"name":"Y","parameters":{"binary_data":true}}]}'
    )
    assert head.decode().split("\r\n") == [
        "POST /v2/models/m%2F1/infer HTTP/1.1",
        "Host: 127.0.0.1:8000",
        "Content-Type: application/octet-stream",
        f"Inference-Header-Content-Length: {len(json_header)}",
        f"Content-Length: {len(json_header) + 16}",
    ]
    assert body == json_header + b"\x00\x00\x80\x3f\x00\x00\x00\x40" + b"\x07" + bytes(7)


def test_a_tensor_goes_out_row_by_row_however_it_lies_in_memory() -> None:
    columns = np.array([[1, 2], [3, 4]], np.uint8).T
    assert infer_request("m", {"A": columns}, [], "h").endswith(bytes([1, 3, 2, 4]))


def test_a_type_without_a_datatype_is_refused() -> None:
    with pytest.raises(ValueError, match=r"input A: expected one of float16, .*, got complex128"):
        infer_request("m", {"A": np.zeros(1, complex)}, [], "h")


def test_tensors_of_every_type_come_back() -> None:
    tensors = {
        "FP16": np.array([1.5], np.float16),
        "FP32": np.array([1.5], np.float32),
        "FP64": np.array([1.5], np.float64),
        "INT32": np.array([-3], np.int32),
        "INT64": np.array([-3], np.int64),
        "UINT8": np.array([200], np.uint8),
        "BOOL": np.array([True]),
    }
    header = {"outputs": [output(name, name, [1], array.nbytes) for name, array in tensors.items()]}
    found = parse_infer_response(answered(header, b"".join(a.tobytes() for a in tensors.values())))
    assert list(found) == list(tensors)
    assert all(found[n].dtype == tensors[n].dtype and found[n].tolist() == tensors[n].tolist() for n in tensors)


def test_an_output_in_json_comes_back() -> None:
    body = b'{"outputs":[{"name":"Y","datatype":"FP32","shape":[2,1],"data":[1.5,2.5]}]}'
    assert parse_infer_response(Outcome(200, {}, body, ""))["Y"].tolist() == [[1.5], [2.5]]


def test_an_empty_tensor_is_well() -> None:
    assert parse_infer_response(answered({"outputs": [output("Y", "FP32", [0, 4], 0)]}, b""))["Y"].shape == (
        0,
        4,
    )


def test_outputs_of_no_bytes_at_200_are_numpy_2_in_the_python_backend() -> None:
    with pytest.raises(MeasurementInvalid, match=r"output Y \[1, 10\]: expected 40 bytes, got 0 .*numpy<2"):
        parse_infer_response(answered({"outputs": [output("Y", "FP32", [1, 10], 0)]}, b""))


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (answered({"outputs": [output("Y", "FP32", [1, 2], 4)]}, bytes(4)), "expected 8 bytes, got 4"),
        (
            answered({"outputs": [output("Y", "FP32", [1, 2], 8)]}, bytes(4)),
            "8 by the header and 4 in the body",
        ),
        (answered({"outputs": [output("Y", "FP32", [1], 4)]}, bytes(6)), "expected a body of"),
        (answered({"outputs": [output("Y", "BYTES", [1], 4)]}, bytes(4)), "cannot be read.*BYTES"),
        (answered({"error": "x"}, b""), "cannot be read.*outputs"),
        (answered([], b""), "cannot be read"),
        (Outcome(200, {"inference-header-content-length": "x"}, b"{}", ""), "cannot be read"),
        (Outcome(200, {}, b"\xff\x00", ""), "cannot be read"),
        (
            Outcome(503, {}, b'{"error":"Exceeds maximum queue size"}', "HTTP 503"),
            r"got queue full \(HTTP 503\)",
        ),
        (Outcome(0, {}, b"", "timeout"), "got timeout"),
    ],
)
def test_an_answer_that_is_not_whole_and_well_says_what_is_wrong(outcome: Outcome, text: str) -> None:
    with pytest.raises(MeasurementInvalid, match=text):
        parse_infer_response(outcome)


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (503, b"[request id: 1] Exceeds maximum queue size", "queue full"),
        (503, b"Request timeout expired", "timeout expired in the queue"),
        (503, b"Server not ready", "server unavailable"),
        (400, b"Request for unknown model: 'm' is not found", "model not found"),
        (404, b"Request for unknown model: 'm' is not found", "model not found"),
        (400, b"Request for unknown model: 'm' version 1 is not at ready state", "model not found"),
        (400, b"unexpected shape for input 'A'", "invalid request"),
        (
            500,
            b"Failed to process the request(s) for model instance 'm_0', message: ValueError",
            "model raised",
        ),
        (500, b"Number of InferenceResponse objects do not match", "wrong output count"),
        (500, b"CUDA out of memory", "out of resources"),
        (500, b"Failed to process the request(s) for model 'm_0', message: MemoryError: <EMPTY", "out of resources"),
        (500, b"message: RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried", "out of resources"),
        (500, b"message: std::bad_alloc", "out of resources"),
        (500, b"Stub process 'm_0' is not healthy.", "worker died"),
        (500, b"", "inference failed"),
        (418, b"", "HTTP 418"),
    ],
)
def test_causes_by_status_and_text(status: int, body: bytes, cause: str) -> None:
    assert error_cause(Outcome(status, {}, body, f"HTTP {status}")) == cause


def test_a_200_has_no_cause_and_no_answer_keeps_its_own() -> None:
    assert error_cause(Outcome(200, {}, b"", "")) == ""
    assert error_cause(Outcome(0, {}, b"", "timeout")) == "timeout"
