"""What the HTTP receiver answers to all but inference: what a client asks before it sends load."""

from __future__ import annotations

import json

from benchmarks.null_model import INPUT, MODEL, OUTPUT, WIDTH


def control_answer(request_line: bytes, count: int) -> bytes:
    """What a client asks before it sends load: readiness, metadata, configuration, statistics."""
    path = request_line.split(b" ")[1].decode("latin-1").split("?")[0].rstrip("/")
    model = f"/v2/models/{MODEL}"
    for versioned in (f"{model}/versions/1", model):
        if path.startswith(versioned):
            path = model + path[len(versioned) :]
            break
    if path in ("/v2/health/ready", "/v2/health/live", f"{model}/ready"):
        return _response(200, b"")
    documents: dict[str, object] = {
        "/v2": {"name": "triton", "version": "2.51.0", "extensions": ["binary_tensor_data", "statistics"]},
        model: _METADATA,
        f"{model}/config": _CONFIG,
        f"{model}/stats": _statistics(count),
        "/v2/models/stats": _statistics(count),
    }
    if path in documents:
        return _response(200, json.dumps(documents[path]).encode())
    return _response(404, json.dumps({"error": f"no such resource: {path}"}).encode())


def _response(status: int, body: bytes) -> bytes:
    reason = {200: "OK", 404: "Not Found"}[status]
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


_METADATA = {
    "name": MODEL,
    "versions": ["1"],
    "platform": "python",
    "inputs": [{"name": INPUT, "datatype": "FP32", "shape": [-1, WIDTH]}],
    "outputs": [{"name": OUTPUT, "datatype": "FP32", "shape": [-1, WIDTH]}],
}
_CONFIG = {
    "name": MODEL,
    "backend": "python",
    "max_batch_size": 8,
    "input": [{"name": INPUT, "data_type": "TYPE_FP32", "dims": [WIDTH]}],
    "output": [{"name": OUTPUT, "data_type": "TYPE_FP32", "dims": [WIDTH]}],
}


def _statistics(count: int) -> dict[str, object]:
    none = {"count": 0, "ns": 0}
    parts = ("success", "queue", "compute_input", "compute_infer", "compute_output")
    spent = {part: {"count": count, "ns": 1000 * count} for part in parts}
    spent |= dict.fromkeys(("fail", "cache_hit", "cache_miss"), none)
    model = {
        "name": MODEL,
        "version": "1",
        "last_inference": 0,
        "inference_count": count,
        "execution_count": count,
        "inference_stats": spent,
        "batch_stats": [],
    }
    return {"model_stats": [model]}
