"""Names and columns of a run's raw files."""

POINT_KEY = b"serve-bench point"
SEARCHED = "search-"
TRACED = "traced-"
CALIBRATION_TABLES = ("saturation", "memory")  # written by a calibration too
CALIBRATION_COLUMNS = ["server", "layer", "batch_size", "repeat", "time_s", "block", "visit", "start"]
