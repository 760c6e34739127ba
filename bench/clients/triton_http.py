"""Triton's HTTP inference protocol: KServe v2 with the binary tensor data extension.

A body is a JSON header, then each tensor's bytes in the order of the header, little-endian and row-major;
Inference-Header-Content-Length says where the header ends.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from bench.clients.outcome import OUT_OF_RESOURCES, WORKER_DIED, Outcome, cause_by_text
from bench.errors import MeasurementInvalid
from bench.measure.requests import QUEUE_FULL

DATATYPES: dict[str, np.dtype[Any]] = {
    "FP16": np.dtype("<f2"),
    "FP32": np.dtype("<f4"),
    "FP64": np.dtype("<f8"),
    "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"),
    "UINT8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_NAMES = {dtype: name for name, dtype in DATATYPES.items()}

# (statuses, text in the body, cause): the first that fits. Over gRPC the text is the same, and the status is the
# HTTP equivalent of the code.
_CAUSES = (
    ((503,), b"Exceeds maximum queue size", QUEUE_FULL),
    ((503,), b"Request timeout expired", "timeout expired in the queue"),
    ((503,), b"", "server unavailable"),
    ((400, 404), b"unknown model", "model not found"),
    ((400,), b"is not ready", "model not ready"),
    ((404,), b"", "model not found"),
    ((413,), b"", "request too large"),
    ((429,), b"larger than max", "request too large"),
    ((500,), b"InferenceResponse objects do not match", "wrong output count"),
    ((500,), b"out of memory", OUT_OF_RESOURCES),  # CUDA
    ((500,), b"MemoryError", OUT_OF_RESOURCES),  # Python and numpy
    ((500,), b"allocate memory", OUT_OF_RESOURCES),  # torch on a CPU, which raises a RuntimeError
    ((500,), b"bad_alloc", OUT_OF_RESOURCES),
    ((500,), b"Stub process", WORKER_DIED),
    ((500,), b"Failed to process the request", "model raised"),
    ((500,), b"", "inference failed"),
    ((400,), b"", "invalid request"),
)


def infer_request(
    model: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str], host: str, request_id: str = ""
) -> bytes:
    """A whole HTTP request, ready to be written: `inputs` by name, batch first, and the `outputs` wanted.

    `host` is 'name:port'. Raises ValueError for a numpy type that has no datatype in DATATYPES.
    """
    header: dict[str, Any] = {"id": request_id} if request_id else {}
    header["inputs"] = []
    tensors = []
    for name, array in inputs.items():
        kind = datatype(name, array)
        tensors.append(array.tobytes())
        header["inputs"].append({
            "name": name,
            "shape": list(array.shape),
            "datatype": kind,
            "parameters": {"binary_data_size": array.nbytes},
        })  # fmt: skip
    header["outputs"] = [{"name": name, "parameters": {"binary_data": True}} for name in outputs]
    head = json.dumps(header, separators=(",", ":")).encode()
    length = len(head) + sum(map(len, tensors))
    return b"".join((
        f"POST /v2/models/{quote(model, safe='')}/infer HTTP/1.1\r\nHost: {host}\r\n"
        f"Content-Type: application/octet-stream\r\nInference-Header-Content-Length: {len(head)}\r\n"
        f"Content-Length: {length}\r\n\r\n".encode(),
        head,
        *tensors,
    ))  # fmt: skip


def parse_infer_response(outcome: Outcome) -> dict[str, np.ndarray]:
    """The output tensors by name, read-only views of the body where they came as binary data.

    Raises MeasurementInvalid when the answer is not a 200, or when its tensors do not have the sizes it says.
    """
    if outcome.status != 200:
        text = outcome.body[:500].decode("utf-8", "replace")
        raise MeasurementInvalid(f"Triton: expected HTTP 200, got {error_cause(outcome)} (HTTP {outcome.status})", text)
    try:
        length = int(outcome.headers.get("inference-header-content-length", len(outcome.body)))
        header = json.loads(outcome.body[:length])
        tensors: dict[str, np.ndarray] = {}
        at = length
        for output in header["outputs"]:
            size = output.get("parameters", {}).get("binary_data_size")
            tensors[output["name"]] = _tensor(output, None if size is None else outcome.body[at : at + size], size)
            at += size or 0
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise MeasurementInvalid(
            f"Triton: expected an inference response, got one that cannot be read: {exc!r}"
        ) from exc
    if at != len(outcome.body):
        raise MeasurementInvalid(f"Triton: expected a body of {at} bytes by its header, got {len(outcome.body)}")
    return tensors


def _tensor(output: dict[str, Any], raw: bytes | None, size: int | None) -> np.ndarray:
    name, shape, datatype = output["name"], output["shape"], output["datatype"]
    if raw is None:
        given: np.ndarray = np.array(output["data"], dtype=DATATYPES[datatype]).reshape(shape)
        return given
    if len(raw) != size:
        raise MeasurementInvalid(
            f"Triton: output {name} {shape} {datatype}: expected the size that its header says, "
            f"got {size} by the header and {len(raw)} in the body"
        )
    return tensor(name, shape, datatype, raw)


def tensor(name: str, shape: Sequence[int], datatype: str, raw: bytes) -> np.ndarray:
    """An output from its bytes, read-only. Raises MeasurementInvalid when they are not as many as its shape says."""
    dtype = DATATYPES[datatype]
    expected = math.prod(shape) * dtype.itemsize
    if expected and not raw:
        raise MeasurementInvalid(
            f"Triton: output {name} {shape}: expected {expected} bytes, got 0 in a whole answer. "
            f"Triton's python backend does this when its Python has numpy 2: serve with numpy<2"
        )
    if len(raw) != expected:
        raise MeasurementInvalid(f"Triton: output {name} {shape} {datatype}: expected {expected} bytes, got {len(raw)}")
    found: np.ndarray = np.frombuffer(raw, dtype=dtype).reshape(shape)
    return found


def datatype(name: str, array: np.ndarray) -> str:
    """The datatype of an input. Raises ValueError for a numpy type that has none in DATATYPES."""
    if array.dtype not in _NAMES:
        raise ValueError(f"input {name}: expected one of {', '.join(map(str, _NAMES))}, got {array.dtype}")
    return _NAMES[array.dtype]


def error_cause(outcome: Outcome) -> str:
    """Why a request failed, in a few words ('queue full', 'model raised', …); '' for a 200 or a gRPC OK."""
    return cause_by_text(outcome, _CAUSES)
