"""One model on one server, as experiments see it: rows in, request bytes out; outcome in, answers out."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bench.clients import torchserve_http, triton_http
from bench.clients.outcome import Outcome
from bench.errors import MeasurementInvalid

FLOAT32 = np.dtype("<f4")


class Client(Protocol):
    """Prebuilt requests for one server. rows: (k, *input shape) float32; answers: (k, outputs) float32."""

    @property
    def takes_rows(self) -> bool:
        """Whether one request may carry several rows."""
        ...

    def request(self, model: str, rows: np.ndarray) -> bytes: ...

    def answers(self, outcome: Outcome) -> np.ndarray:
        """Raises MeasurementInvalid when the outcome is not a whole, well-formed answer."""
        ...

    def executed(self, outcome: Outcome) -> tuple[int, float] | None:
        """(batch size, compute seconds) of the execution that made this answer; None where the server does not say."""
        ...

    def cause(self, outcome: Outcome) -> str: ...


class TritonHttp:
    """Triton's HTTP protocol with binary tensors."""

    takes_rows = True

    def __init__(self, host: str, port: int, input_name: str, output_name: str) -> None:
        self._host = f"{host}:{port}"
        self._input, self._output = input_name, output_name

    def request(self, model: str, rows: np.ndarray) -> bytes:
        return triton_http.infer_request(model, {self._input: rows}, [self._output], self._host)

    def answers(self, outcome: Outcome) -> np.ndarray:
        tensors = triton_http.parse_infer_response(outcome)
        if self._output not in tensors:
            raise MeasurementInvalid(f"Triton: expected output {self._output}, got {', '.join(tensors) or 'none'}")
        return tensors[self._output]

    def executed(self, _outcome: Outcome) -> tuple[int, float] | None:
        return None

    def cause(self, outcome: Outcome) -> str:
        return triton_http.error_cause(outcome)


class TorchServeHttp:
    """TorchServe's REST protocol: one request is one sample of raw float32."""

    takes_rows = False

    def __init__(self, host: str, port: int, _input_name: str, _output_name: str) -> None:
        self._host = f"{host}:{port}"

    def request(self, model: str, rows: np.ndarray) -> bytes:
        return torchserve_http.predict_request(model, rows.astype(FLOAT32).tobytes(), self._host)

    def answers(self, outcome: Outcome) -> np.ndarray:
        if outcome.status != 200:
            text = outcome.body[:500].decode("utf-8", "replace")
            raise MeasurementInvalid(
                f"TorchServe: expected HTTP 200, got {self.cause(outcome)} (HTTP {outcome.status})", text
            )
        if not outcome.body or len(outcome.body) % FLOAT32.itemsize:
            raise MeasurementInvalid(f"TorchServe: expected float32 answers, got a body of {len(outcome.body)} bytes")
        return np.frombuffer(outcome.body, dtype=FLOAT32)[np.newaxis]

    def executed(self, outcome: Outcome) -> tuple[int, float] | None:
        return torchserve_http.executed(outcome)

    def cause(self, outcome: Outcome) -> str:
        return torchserve_http.error_cause(outcome)


KINDS: dict[str, type[TritonHttp] | type[TorchServeHttp]] = {
    "triton": TritonHttp,
    "torchserve": TorchServeHttp,
}
