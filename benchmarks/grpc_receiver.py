"""A server with nothing behind it that answers Triton's gRPC inference call at once and keeps when each call arrived.

An arrival is stamped when grpc.aio hands the call to Python, which is after its message was read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter_ns

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]
from tritonclient.grpc import service_pb2 as pb

from bench.clients.triton_grpc import METHOD
from benchmarks.arrival_log import ArrivalLog
from benchmarks.null_model import MODEL, OUTPUT, TENSOR, WIDTH
from benchmarks.receiver_process import run_receiver


def infer_answer() -> bytes:
    """A whole ModelInferResponse: one output of zeros."""
    response = pb.ModelInferResponse(model_name=MODEL, model_version="1", raw_output_contents=[TENSOR])
    response.outputs.add(name=OUTPUT, datatype="FP32", shape=[1, WIDTH])
    message: bytes = response.SerializeToString(deterministic=True)
    return message


class Calls(grpc.GenericRpcHandler):  # type: ignore[misc]
    """ModelInfer and no other method; messages stay bytes."""

    def __init__(self, log: ArrivalLog) -> None:
        self._log = log
        self._answer = infer_answer()
        self._handler = grpc.unary_unary_rpc_method_handler(self.infer)

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return self._handler if details.method == METHOD else None

    async def infer(self, _request: bytes, _context: object) -> bytes:
        self._log.arrived(perf_counter_ns())
        return self._answer


@asynccontextmanager
async def serving(log: ArrivalLog) -> AsyncIterator[int]:
    """On a free port of 127.0.0.1, which it gives."""
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((Calls(log),))
    port: int = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


if __name__ == "__main__":
    run_receiver(serving, __doc__)
