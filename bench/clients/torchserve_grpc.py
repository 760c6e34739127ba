"""TorchServe's gRPC inference protocol: raw bytes under the name 'data', the handler's bytes back.

Batch size and handler time are response headers, which TorchServe does not carry over gRPC, nor a status that the
handler sets.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from bench.clients.outcome import Outcome
from bench.clients.torchserve_http import error_cause
from bench.errors import MeasurementInvalid

METHOD = "/org.pytorch.serve.grpc.inference.InferenceAPIsService/Predictions"
PACKAGE = "org.pytorch.serve.grpc.inference"


def _messages() -> tuple[Any, Any]:
    """PredictionsRequest and PredictionResponse: the fields of TorchServe's inference.proto that Predictions uses."""
    field = FieldDescriptorProto
    file = FileDescriptorProto(name="serve_bench/torchserve_inference.proto", package=PACKAGE, syntax="proto3")

    request = file.message_type.add(name="PredictionsRequest")
    request.field.add(name="model_name", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    request.field.add(name="model_version", number=2, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    request.field.add(
        name="input",
        number=3,
        type=field.TYPE_MESSAGE,
        type_name=f".{PACKAGE}.PredictionsRequest.InputEntry",
        label=field.LABEL_REPEATED,
    )
    entry = request.nested_type.add(name="InputEntry")  # a map is a repeated message of this form
    entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=field.TYPE_BYTES, label=field.LABEL_OPTIONAL)
    entry.options.map_entry = True

    response = file.message_type.add(name="PredictionResponse")
    response.field.add(name="prediction", number=1, type=field.TYPE_BYTES, label=field.LABEL_OPTIONAL)

    pool = DescriptorPool()  # not the process's own, where a generated module may have the same names
    pool.Add(file)
    return tuple(
        GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in ("PredictionsRequest", "PredictionResponse")
    )


PredictionsRequest, PredictionResponse = _messages()


def predict_request(model: str, body: bytes) -> bytes:
    """A whole PredictionsRequest; the handler finds `body` under 'data'."""
    message: bytes = PredictionsRequest(model_name=model, input={"data": body}).SerializeToString(deterministic=True)
    return message


def parse_prediction(outcome: Outcome) -> bytes:
    """The handler's bytes. Raises MeasurementInvalid when the answer is not OK or cannot be read."""
    if outcome.status != 200:
        text = outcome.body[:500].decode("utf-8", "replace")
        raise MeasurementInvalid(f"TorchServe: expected gRPC OK, got {error_cause(outcome)} ({outcome.cause})", text)
    try:
        prediction: bytes = PredictionResponse.FromString(outcome.body).prediction
    except DecodeError as exc:
        raise MeasurementInvalid(
            f"TorchServe: expected a prediction, got an answer that cannot be read: {exc!r}"
        ) from exc
    return prediction
