"""Measured claims about the tool itself, each run by `python -m benchmarks.NAME`.

Knows nothing of scenarios and of real servers: what is measured here is the load engine, beside its peers.
"""
