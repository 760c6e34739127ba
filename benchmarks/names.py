"""What tools and purposes are called, in the tables too."""

from __future__ import annotations

OURS, OURS_2 = "serve-bench", "serve-bench, 2 workers"
OURS_GRPC, OURS_TABLES = "serve-bench, gRPC", "serve-bench, to the tables"
ASYNC, DEFAULT = "perf_analyzer --async", "perf_analyzer"
LOCUST, HEY, WRK = "Locust", "hey", "wrk"
TOOLS = (OURS, OURS_2, OURS_GRPC, OURS_TABLES, DEFAULT, ASYNC, LOCUST, HEY, WRK)
CONSTANT_ONLY = (LOCUST, HEY)
"""They have no Poisson arrivals."""

PACING, LADDER, GAPS, FREEZE = "pacing", "highest rate", "send gaps", "freeze"
ARRIVALS = "arrivals"
CEILING, SOAK = "ceiling", "soak"
PURPOSES = (PACING, LADDER, GAPS, ARRIVALS, FREEZE, CEILING, SOAK)
