"""ModelInfer messages against those that tritonclient makes, and answers that are not as they should be."""

from __future__ import annotations

import numpy as np
import pytest
import tritonclient.grpc as reference
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc._utils import _get_inference_request

from bench.clients.outcome import Outcome
from bench.clients.triton_grpc import infer_request, parse_infer_response
from bench.clients.triton_http import error_cause
from bench.errors import MeasurementInvalid

ARRAYS = {
    "FP16": np.array([[1.5]], np.float16),
    "FP32": np.array([[1.5, -2.0]], np.float32),
    "FP64": np.array([[1.5]], np.float64),
    "INT32": np.array([[-3]], np.int32),
    "INT64": np.array([[-3]], np.int64),
    "UINT8": np.array([[200]], np.uint8),
    "BOOL": np.array([[True]]),
}


def by_tritonclient(inputs: dict[str, np.ndarray], outputs: list[str], request_id: str) -> bytes:
    given = []
    for name, array in inputs.items():
        tensor = reference.InferInput(name, array.shape, name)
        tensor.set_data_from_numpy(array)
        given.append(tensor)
    wanted = [reference.InferRequestedOutput(name) for name in outputs]
    request = _get_inference_request("m", given, "", request_id, wanted, 0, False, False, 0, None, None)
    found: bytes = request.SerializeToString(deterministic=True)
    return found


def answered(outputs: list[tuple[str, str, list[int]]], raws: list[bytes]) -> Outcome:
    response = pb.ModelInferResponse(model_name="m", raw_output_contents=raws)
    for name, datatype, shape in outputs:
        response.outputs.add(name=name, datatype=datatype, shape=shape)
    return Outcome(200, {}, response.SerializeToString(), "")


@pytest.mark.parametrize("request_id", ["", "r1"])
def test_a_request_is_the_bytes_that_tritonclient_makes(request_id: str) -> None:
    assert infer_request("m", ARRAYS, ["Y", "Z"], request_id) == by_tritonclient(ARRAYS, ["Y", "Z"], request_id)


def test_a_request_by_hand() -> None:
    tensor = b"\x0a\x01A" + b"\x12\x05UINT8" + b"\x1a\x02\x01\x02"  # name, datatype, packed shape
    assert infer_request("m", {"A": np.array([[7, 9]], np.uint8)}, ["Y"]) == (
        b"\x0a\x01m" + b"\x2a" + bytes([len(tensor)]) + tensor + b"\x32\x03\x0a\x01Y" + b"\x3a\x02\x07\x09"
    )


def test_a_tensor_goes_out_row_by_row_however_it_lies_in_memory() -> None:
    columns = np.array([[1, 2], [3, 4]], np.uint8).T
    assert infer_request("m", {"A": columns}, []).endswith(bytes([1, 3, 2, 4]))


def test_a_type_without_a_datatype_is_refused() -> None:
    with pytest.raises(ValueError, match=r"input A: expected one of float16, .*, got complex128"):
        infer_request("m", {"A": np.zeros(1, complex)}, [])


def test_tensors_of_every_type_come_back() -> None:
    outputs = [(name, name, list(array.shape)) for name, array in ARRAYS.items()]
    found = parse_infer_response(answered(outputs, [array.tobytes() for array in ARRAYS.values()]))
    assert list(found) == list(ARRAYS)
    assert all(found[n].dtype == a.dtype and np.array_equal(found[n], a) for n, a in ARRAYS.items())


def test_tritonclient_reads_the_same_from_an_answer() -> None:
    outcome = answered([("Y", "FP32", [2, 1])], [np.array([1.5, 2.5], np.float32).tobytes()])
    theirs = reference.InferResult(pb.ModelInferResponse.FromString(outcome.body)).as_numpy("Y")
    assert np.array_equal(parse_infer_response(outcome)["Y"], theirs)


def test_an_empty_tensor_is_well() -> None:
    assert parse_infer_response(answered([("Y", "FP32", [0, 4])], [b""]))["Y"].shape == (0, 4)


def test_outputs_of_no_bytes_are_numpy_2_in_the_python_backend() -> None:
    with pytest.raises(MeasurementInvalid, match=r"output Y \[1, 10\]: expected 40 bytes, got 0 .*numpy<2"):
        parse_infer_response(answered([("Y", "FP32", [1, 10])], [b""]))


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (answered([("Y", "FP32", [1, 2])], [bytes(4)]), r"output Y \[1, 2\] FP32: expected 8 bytes, got 4"),
        (answered([("Y", "FP32", [1])], []), "expected raw contents of 1 outputs, got 0"),
        (answered([("Y", "FP32", [1])], [bytes(4), bytes(4)]), "expected raw contents of 1 outputs, got 2"),
        (answered([("Y", "BYTES", [1])], [bytes(4)]), "cannot be read.*BYTES"),
        (Outcome(200, {}, b"\xff\xff\xff", ""), "cannot be read.*DecodeError"),
        (
            Outcome(503, {"grpc-status": "14"}, b"Exceeds maximum queue size", "gRPC UNAVAILABLE"),
            r"expected gRPC OK, got queue full \(gRPC UNAVAILABLE\)",
        ),
        (Outcome(0, {}, b"", "timeout"), r"got timeout \(timeout\)"),
    ],
)
def test_an_answer_that_is_not_whole_and_well_says_what_is_wrong(outcome: Outcome, text: str) -> None:
    with pytest.raises(MeasurementInvalid, match=text):
        parse_infer_response(outcome)


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (503, b"[request id: <id_unknown>] Exceeds maximum queue size", "queue full"),
        (404, b"Request for unknown model: 'm' is not found", "model not found"),
        (429, b"SERVER: Received message larger than max (5 vs. 4)", "request too large"),
        (500, b"Failed to process the request(s) for model instance 'm_0'", "model raised"),
        (400, b"unexpected shape for input 'A'", "invalid request"),
        (501, b"", "gRPC UNIMPLEMENTED"),
    ],
)
def test_the_texts_of_errors_mean_over_grpc_what_they_mean_over_http(status: int, body: bytes, cause: str) -> None:
    assert error_cause(Outcome(status, {}, body, "gRPC UNIMPLEMENTED")) == cause
