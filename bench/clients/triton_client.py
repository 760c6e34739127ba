"""Triton's clients: one model's single input and output, over HTTP or gRPC."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bench.clients import triton_grpc, triton_http
from bench.clients.outcome import Outcome
from bench.errors import MeasurementInvalid


class TritonHttp:
    """Triton's HTTP protocol with binary tensors."""

    takes_rows = True

    def __init__(self, host: str, port: int, input_name: str, output_name: str) -> None:
        self._host = f"{host}:{port}"
        self._input, self._output = input_name, output_name

    def request(self, model: str, rows: np.ndarray, request_id: str = "") -> bytes:
        return triton_http.infer_request(model, {self._input: rows}, [self._output], self._host, request_id)

    def answers(self, outcome: Outcome) -> np.ndarray:
        return _named(self._output, triton_http.parse_infer_response(outcome))

    def executed(self, _outcome: Outcome) -> tuple[int, float] | None:
        return None

    def started_ns(self, _outcome: Outcome) -> int:
        return -1

    def cause(self, outcome: Outcome) -> str:
        return triton_http.error_cause(outcome)


class TritonGrpc:
    """Triton's gRPC protocol with raw tensors."""

    takes_rows = True

    def __init__(self, _host: str, _port: int, input_name: str, output_name: str) -> None:
        self._input, self._output = input_name, output_name

    def request(self, model: str, rows: np.ndarray, request_id: str = "") -> bytes:
        return triton_grpc.infer_request(model, {self._input: rows}, [self._output], request_id)

    def answers(self, outcome: Outcome) -> np.ndarray:
        return _named(self._output, triton_grpc.parse_infer_response(outcome))

    def executed(self, _outcome: Outcome) -> tuple[int, float] | None:
        return None

    def started_ns(self, _outcome: Outcome) -> int:
        return -1

    def cause(self, outcome: Outcome) -> str:
        return triton_http.error_cause(outcome)


def _named(name: str, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    if name not in tensors:
        raise MeasurementInvalid(f"Triton: expected output {name}, got {', '.join(tensors) or 'none'}")
    return tensors[name]
