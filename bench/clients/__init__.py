"""Data plane: one prebuilt HTTP request in, one outcome out, for Triton and TorchServe.

Knows nothing of scenarios, of launching servers, or of when a request is due.
"""

from bench.clients.client import KINDS
from bench.clients.http_pool import HttpPool

__all__ = ["KINDS", "HttpPool"]
