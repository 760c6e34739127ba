"""Requests for a running endpoint that nobody described: Triton tells its model's inputs, TorchServe does not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from bench.clients import torchserve_grpc, torchserve_http, triton_grpc, triton_http
from bench.errors import ScenarioError, ServerError
from bench.servers.control import Control

PAYLOADS = 32  # different from each other, so that no cache answers


def build_requests(
    kind: str, protocol: str, host: str, port: int, model: str, payloads: Sequence[Path], seed: int
) -> tuple[bytes, ...]:
    """Prebuilt requests of one row each: the given files as bodies, or random rows of the model's own inputs.

    Raises ScenarioError when a payload is needed and not given, or does not fit; ServerError when nobody answers.
    """
    bodies = [_read(path) for path in payloads]
    if kind == "torchserve":
        if not bodies:
            raise ScenarioError(
                f"TorchServe does not tell what {model} takes: give one body or more with --payload FILE"
            )
        if protocol == "grpc":
            return tuple(torchserve_grpc.predict_request(model, body) for body in bodies)
        return tuple(torchserve_http.predict_request(model, body, f"{host}:{port}") for body in bodies)
    inputs, outputs = _triton_signature(protocol, host, port, model)
    rows = [_from_body(inputs, body) for body in bodies] or _random_rows(inputs, seed)
    if protocol == "grpc":
        return tuple(triton_grpc.infer_request(model, row, outputs) for row in rows)
    return tuple(triton_http.infer_request(model, row, outputs, f"{host}:{port}") for row in rows)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"--payload {path}: {error.strerror}") from error


def _triton_signature(protocol: str, host: str, port: int, model: str) -> tuple[list[dict[str, Any]], list[str]]:
    if protocol == "grpc":
        found = _metadata_by_grpc(host, port, model)
    else:
        answer = Control(host, port).ask("GET", f"/v2/models/{model}")
        if answer.status == 0:
            raise ServerError(f"{host}:{port}: no Triton answers: {answer.text}")
        if not answer.ok:
            raise ServerError(
                f"{host}:{port}: expected a model {model}, found HTTP {answer.status}: {answer.text[:200]}"
            )
        found = answer.json()
    return found["inputs"], [output["name"] for output in found["outputs"]]


def _metadata_by_grpc(host: str, port: int, model: str) -> dict[str, Any]:
    client = InferenceServerClient(f"{host}:{port}")
    try:
        found: dict[str, Any] = client.get_model_metadata(model, as_json=True, client_timeout=10)
    except InferenceServerException as error:
        raise ServerError(f"{host}:{port}: expected a Triton with a model {model}, found: {error}") from error
    finally:
        client.close()
    return found


def _random_rows(inputs: list[dict[str, Any]], seed: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [{tensor["name"]: _random(rng, tensor) for tensor in inputs} for _ in range(PAYLOADS)]


def _random(rng: np.random.Generator, tensor: dict[str, Any]) -> np.ndarray:
    shape, dtype = _shape(tensor), _dtype(tensor)
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)


def _from_body(inputs: list[dict[str, Any]], body: bytes) -> dict[str, np.ndarray]:
    if len(inputs) != 1:
        names = ", ".join(tensor["name"] for tensor in inputs)
        raise ScenarioError(f"--payload: expected a model with one input, found {names}; leave it out for random rows")
    (tensor,) = inputs
    shape, dtype = _shape(tensor), _dtype(tensor)
    expected = math.prod(shape) * dtype.itemsize
    if len(body) != expected:
        raise ScenarioError(
            f"--payload: expected {expected} bytes for input {tensor['name']} {shape} {tensor['datatype']}, "
            f"found {len(body)}"
        )
    return {tensor["name"]: np.frombuffer(body, dtype=dtype).reshape(shape)}


def _shape(tensor: dict[str, Any]) -> list[int]:
    """One row: the batch dimension, told as -1 in front, is 1."""
    shape = [int(dim) for dim in tensor["shape"]]
    if shape and shape[0] == -1:
        shape[0] = 1
    if -1 in shape:
        raise ScenarioError(
            f"input {tensor['name']} has a variable shape {shape}: serve it with a fixed one to load it"
        )
    return shape


def _dtype(tensor: dict[str, Any]) -> np.dtype[Any]:
    try:
        return triton_http.DATATYPES[tensor["datatype"]]
    except KeyError:
        known = ", ".join(triton_http.DATATYPES)
        raise ScenarioError(f"input {tensor['name']} is {tensor['datatype']}: expected one of {known}") from None
