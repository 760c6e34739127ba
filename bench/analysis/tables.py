"""The raw tables of a run beside calibration.csv and samples/: their columns, in the order of the file.

Written while the run goes, a row for each thing measured; seconds, bytes and counts.
"""

from __future__ import annotations

from collections.abc import Mapping

RAW_COLUMNS: Mapping[str, tuple[str, ...]] = {
    # A visit of a server that always had the next batch waiting. batching: 1 or 0; compute_s: of a batch, by the server
    "saturation": ("server", "purpose", "batching", "instances", "batch_size", "block", "requests", "seconds",
                   "mean_batch_size", "compute_s"),
    # The process of one exact arm after the blocks of a start. rss_peak_bytes: the most resident since it was loaded;
    # limit_bytes: what it and others in its place could have; load_peak_bytes: the most while loading, where told apart
    "memory": ("server", "batch_size", "start", "block", "rss_peak_bytes", "gpu_bytes", "limit_bytes",
               "load_peak_bytes"),
    # A batch that did not fit. batch_size: of exactly (calibration) or at most (answers) so many; during: which
    "out_of_memory": ("server", "batch_size", "during", "cause"),
}  # fmt: skip
TEXT_COLUMNS = ("server", "purpose", "during", "cause")
