"""TorchServe's clients: one request is one sample of raw float32, over REST or gRPC."""

from __future__ import annotations

import numpy as np

from bench.clients import torchserve_grpc, torchserve_http
from bench.clients.outcome import Outcome
from bench.errors import MeasurementInvalid

FLOAT32 = np.dtype("<f4")


class TorchServeHttp:
    """TorchServe's REST protocol."""

    takes_rows = False

    def __init__(self, host: str, port: int, _input_name: str, _output_name: str) -> None:
        self._host = f"{host}:{port}"

    def request(self, model: str, rows: np.ndarray, _request_id: str = "") -> bytes:
        return torchserve_http.predict_request(model, rows.astype(FLOAT32).tobytes(), self._host)

    def answers(self, outcome: Outcome) -> np.ndarray:
        if outcome.status != 200:
            text = outcome.body[:500].decode("utf-8", "replace")
            raise MeasurementInvalid(
                f"TorchServe: expected HTTP 200, got {self.cause(outcome)} (HTTP {outcome.status})", text
            )
        return _float32(outcome.body)

    def executed(self, outcome: Outcome) -> tuple[int, float] | None:
        return torchserve_http.executed(outcome)

    def started_ns(self, outcome: Outcome) -> int:
        return torchserve_http.started_ns(outcome)

    def cause(self, outcome: Outcome) -> str:
        return torchserve_http.error_cause(outcome)


class TorchServeGrpc:
    """TorchServe's gRPC protocol."""

    takes_rows = False

    def __init__(self, _host: str, _port: int, _input_name: str, _output_name: str) -> None:
        """Takes what every client takes; its requests name neither a host nor a tensor."""

    def request(self, model: str, rows: np.ndarray, _request_id: str = "") -> bytes:
        return torchserve_grpc.predict_request(model, rows.astype(FLOAT32).tobytes())

    def answers(self, outcome: Outcome) -> np.ndarray:
        return _float32(torchserve_grpc.parse_prediction(outcome))

    def executed(self, _outcome: Outcome) -> tuple[int, float] | None:
        return None

    def started_ns(self, _outcome: Outcome) -> int:
        return -1

    def cause(self, outcome: Outcome) -> str:
        return torchserve_http.error_cause(outcome)


def _float32(body: bytes) -> np.ndarray:
    if not body or len(body) % FLOAT32.itemsize:
        raise MeasurementInvalid(f"TorchServe: expected float32 answers, got a body of {len(body)} bytes")
    return np.frombuffer(body, dtype=FLOAT32)[np.newaxis]
