"""Triton's gRPC inference protocol: KServe v2 messages, tensors as raw bytes beside them.

Bytes are little-endian and row-major, one entry of raw_input_contents or raw_output_contents for each tensor, in
the order of the tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from google.protobuf.message import DecodeError
from tritonclient.grpc import service_pb2 as pb

from bench.clients.outcome import Outcome
from bench.clients.triton_http import datatype, error_cause, tensor
from bench.errors import MeasurementInvalid

METHOD = "/inference.GRPCInferenceService/ModelInfer"


def infer_request(model: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str], request_id: str = "") -> bytes:
    """A whole ModelInferRequest: `inputs` by name, batch first, and the `outputs` wanted.

    Raises ValueError for a numpy type that has no datatype in triton_http.DATATYPES.
    """
    request = pb.ModelInferRequest(model_name=model, id=request_id)
    for name, array in inputs.items():
        request.inputs.add(name=name, datatype=datatype(name, array), shape=array.shape)
        request.raw_input_contents.append(array.tobytes())
    for name in outputs:
        request.outputs.add(name=name)
    message: bytes = request.SerializeToString(deterministic=True)
    return message


def parse_infer_response(outcome: Outcome) -> dict[str, np.ndarray]:
    """The output tensors by name, read-only.

    Raises MeasurementInvalid when the answer is not OK, or when its tensors do not have the sizes it says.
    """
    if outcome.status != 200:
        text = outcome.body[:500].decode("utf-8", "replace")
        raise MeasurementInvalid(f"Triton: expected gRPC OK, got {error_cause(outcome)} ({outcome.cause})", text)
    try:
        response = pb.ModelInferResponse.FromString(outcome.body)
        raws = response.raw_output_contents
        if len(raws) != len(response.outputs):
            raise MeasurementInvalid(
                f"Triton: expected raw contents of {len(response.outputs)} outputs, got {len(raws)}"
            )
        return {
            output.name: tensor(output.name, list(output.shape), output.datatype, raw)
            for output, raw in zip(response.outputs, raws, strict=True)
        }
    except (DecodeError, ValueError, KeyError) as exc:
        raise MeasurementInvalid(
            f"Triton: expected an inference response, got one that cannot be read: {exc!r}"
        ) from exc
