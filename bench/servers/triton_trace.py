"""Triton's traces: when each request reached each of its stages, by the id that it was sent with.

With a log frequency, Triton writes trace.json.0, .1, …: JSON arrays of objects, several for one trace, that name the
trace by a number of Triton's own; one of them has the request's id.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.servers.server import Stages

NAME = "trace.json"
LOG_FREQUENCY = 100  # traces in a file
OPTIONS = ("mode=triton", "rate=1", f"triton,log-frequency={LOG_FREQUENCY}", "level=OFF")
NANOSECONDS = 1e-9
STAMPS = (
    "REQUEST_START", "QUEUE_START", "COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END",
    "REQUEST_END",
)  # fmt: skip


def options(folder: Path) -> tuple[str, ...]:
    """Arguments for a Triton that can trace into a folder, and does not until it is told to."""
    return tuple(f"--trace-config={option}" for option in (f"triton,file={folder / NAME}", *OPTIONS))


def files(folder: Path) -> list[Path]:
    """In the order of writing: .2 comes before .10."""
    found = [path for path in folder.glob(f"{NAME}.*") if path.suffix[1:].isdigit()]
    return sorted(found, key=lambda path: int(path.suffix[1:]))


def read(folder: Path) -> dict[str, Stages]:
    """Request id -> its stages, of those whose every stamp is there. A file's half-written end is left out."""
    ids: dict[int, str] = {}
    stamps: dict[int, dict[str, int]] = {}
    for file in files(folder):
        for entry in objects(file.read_text(encoding="utf-8", errors="replace")):
            trace = entry["id"]
            if "request_id" in entry:
                ids[trace] = entry["request_id"]
            for stamp in entry.get("timestamps", ()):
                stamps.setdefault(trace, {})[stamp["name"]] = int(stamp["ns"])
    whole = {ids[trace]: at for trace, at in stamps.items() if trace in ids and all(name in at for name in STAMPS)}
    together = Counter(at["COMPUTE_START"] for at in whole.values())  # the requests of a batch share this stamp
    return {request: _stages(at, together[at["COMPUTE_START"]]) for request, at in whole.items()}


def objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects of a JSON array, up to where it breaks off."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            entry, end = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield entry
        at = text.find("{", end)


def _stages(at: Mapping[str, int], batch_size: int) -> Stages:
    def between(first: str, last: str) -> float:
        return (at[last] - at[first]) * NANOSECONDS

    return Stages(
        total_s=between("REQUEST_START", "REQUEST_END"),
        queue_wait_s=between("QUEUE_START", "COMPUTE_START"),
        compute_s=between("COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START"),
        handover_s=between("COMPUTE_START", "COMPUTE_INPUT_END") + between("COMPUTE_OUTPUT_START", "COMPUTE_END"),
        batch_size=batch_size,
    )
