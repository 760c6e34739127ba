"""TorchServe's Predictions messages by hand, byte for byte."""

from __future__ import annotations

import pytest

from bench.clients.outcome import Outcome
from bench.clients.torchserve_grpc import PredictionsRequest, parse_prediction, predict_request
from bench.clients.torchserve_http import error_cause
from bench.errors import MeasurementInvalid


def test_a_request_is_the_model_and_a_map_of_one_input() -> None:
    entry = b"\x0a\x04data" + b"\x12\x03\x00\x01\xff"  # key, value
    assert predict_request("m", b"\x00\x01\xff") == b"\x0a\x01m" + b"\x1a" + bytes([len(entry)]) + entry


def test_a_model_version_is_field_two() -> None:
    assert PredictionsRequest(model_version="2").SerializeToString() == b"\x12\x012"


def test_a_long_input_has_a_length_of_several_bytes() -> None:
    request = predict_request("m", bytes(300))
    assert request[:6] == b"\x0a\x01m" + b"\x1a\xb5\x02"  # 309 = 6 + 3 + 300
    assert PredictionsRequest.FromString(request).input["data"] == bytes(300)


def test_a_prediction_is_field_one() -> None:
    assert parse_prediction(Outcome(200, {}, b"\x0a\x02\x07\x08", "")) == b"\x07\x08"


def test_fields_of_the_stream_api_are_passed_over() -> None:
    assert parse_prediction(Outcome(200, {}, b"\x0a\x01\x07\x12\x02s1\x1a\x00", "")) == b"\x07"


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Outcome(200, {}, b"\xff", ""), "cannot be read.*DecodeError"),
        (
            Outcome(503, {"grpc-status": "14"}, b"Prediction failed", "gRPC UNAVAILABLE"),
            r"expected gRPC OK, got handler raised \(gRPC UNAVAILABLE\)",
        ),
        (Outcome(0, {}, b"", "connection refused"), "got connection refused"),
    ],
)
def test_an_answer_that_is_not_ok_says_what_is_wrong(outcome: Outcome, text: str) -> None:
    with pytest.raises(MeasurementInvalid, match=text):
        parse_prediction(outcome)


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (
            500,
            b'Model "m" has no worker to serve inference request.\nInternalServerException.()',
            "queue full or no workers",
        ),
        (500, b"Model not found: m\norg.pytorch.serve.archive.model.ModelNotFoundException", "model not found"),
        (503, b"Prediction failed\norg.pytorch.serve.http.InternalServerException", "handler raised"),
        (503, b"number of batch response mismatched, expect: 1, got: 8.", "wrong output count"),
        (500, b"Worker died.\norg.pytorch.serve.http.InternalServerException", "worker died"),
        (500, b"Out of resources", "out of resources"),
        (403, b"Token Authorization failed. Token either incorrect", "token refused"),
        (429, b"gRPC message exceeds maximum size 67108864: 70000000", "request too large"),
        (400, b"something new", "gRPC INTERNAL"),
    ],
)
def test_the_texts_of_errors_mean_over_grpc_what_they_mean_over_rest(status: int, body: bytes, cause: str) -> None:
    assert error_cause(Outcome(status, {}, body, "gRPC INTERNAL")) == cause
