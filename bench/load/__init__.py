"""Arrivals planned before the run, sent at absolute deadlines, recorded. Open loop.

Knows nothing of servers, protocols and scenarios: what it sends is a callable, what comes back a few numbers.
"""
