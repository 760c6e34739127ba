"""The raw tables of a run beside calibration.csv and samples/: their columns, in the order of the file.

Written while the run goes, a row for each thing measured; seconds, bytes and counts.
"""

from __future__ import annotations

from collections.abc import Mapping

RAW_COLUMNS: Mapping[str, tuple[str, ...]] = {
    # A visit of a server that always had the next batch waiting. batching: 1 or 0; compute_s: of a batch, by the server
    "saturation": ("server", "purpose", "batching", "instances", "batch_size", "block", "requests", "seconds",
                   "mean_batch_size", "compute_s"),
}  # fmt: skip
TEXT_COLUMNS = ("server", "purpose")
