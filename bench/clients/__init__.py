"""Data plane: one prebuilt HTTP or gRPC request in, one outcome out, for Triton and TorchServe.

Knows nothing of scenarios, of launching servers, or of when a request is due.
"""

from bench.clients.client import PROTOCOLS, make
from bench.clients.grpc_pool import GrpcPool
from bench.clients.http_pool import HttpPool

__all__ = ["PROTOCOLS", "GrpcPool", "HttpPool", "make"]
