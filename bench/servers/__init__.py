"""Control plane: what to start (Triton, TorchServe) and how, readiness, read-back, statistics, stop.

Knows nothing of load and of clients.
"""

from bench.servers.server import RunningServer
from bench.servers.torchserve import TorchServe
from bench.servers.triton import Triton

KINDS: dict[str, type[RunningServer]] = {"triton": Triton, "torchserve": TorchServe}
