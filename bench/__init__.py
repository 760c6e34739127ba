"""serve-bench: what batching buys on real Triton Inference Server and real TorchServe."""

__version__ = "0.1.0"
