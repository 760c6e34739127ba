"""The model that receivers pretend to have, and the one request that every generator sends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.clients.triton_http import infer_request

MODEL = "null"
INPUT, OUTPUT, WIDTH = "INPUT0", "OUTPUT0", 16
TENSOR = bytes(4 * WIDTH)
"""A row of float32 zeros: input and output."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """The parts of it for a tool that writes the request line, Host, Content-Type and Content-Length by itself."""

    path: str
    json_length: int
    """Bytes of the body that are its JSON header; the header Inference-Header-Content-Length says it."""
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        """Those beside Host and Content-Length."""
        return {
            "Content-Type": "application/octet-stream",
            "Inference-Header-Content-Length": str(self.json_length),
        }


def row() -> np.ndarray:
    """The input, (1, WIDTH) float32."""
    return np.zeros((1, WIDTH), np.float32)


def request_bytes(port: int) -> bytes:
    """Head and body as they are written to a socket."""
    return infer_request(MODEL, {INPUT: row()}, [OUTPUT], f"127.0.0.1:{port}")


def http_request() -> HttpRequest:
    body = request_bytes(1).partition(b"\r\n\r\n")[2]
    return HttpRequest(f"/v2/models/{MODEL}/infer", len(body) - len(TENSOR), body)
