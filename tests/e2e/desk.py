"""A folder to run `serve-bench` in, as a user does, and what to look for afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.servers.lease import RECORDS
from bench.servers.runtime import cache_folder

OURS = "SERVE_BENCH_TEST"  # in the environment of all that a desk starts, and so of all that it starts
MARKS = ("tritonserver", "triton_python_backend_stub", "org.pytorch.serve.ModelServer", "ts.model_server")

CALIBRATED = """
name: calibrated
model: {zoo: calibrated, c: 4ms, m: 2ms}
servers:
  triton:     {kind: triton}
  torchserve: {kind: torchserve}
calibration: {precision: 1%, max_duration: 20s}
load: {rates: [60], duration: 4s, warmup: 500ms, replications: 1}
checks: {speedup_tolerance: 3%}
"""

DIGITS = """
name: digits
model: {zoo: digits-cnn}
servers:
  triton:     {kind: triton}
  torchserve: {kind: torchserve}
calibration: {batch_sizes: [1, 4, 16], precision: 20%, max_duration: 5s}
load: {rates: []}
checks: {speedup_tolerance: 50%, affine_tolerance: 50%, ceiling_tolerance: 100%, capacity_tolerance: 90%}
"""

TWO_INSTANCES = """
name: two
model: {zoo: calibrated, c: 8ms, m: 4ms}
servers:
  triton:     {kind: triton, instances: 2, max_batch_size: 8}
  torchserve: {kind: torchserve, instances: 2, max_batch_size: 8}
calibration: {batch_sizes: [1, 4, 8], precision: 10%, max_duration: 4s}
load: {rates: []}
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, what it printed, and how long it took."""

    code: int
    out: str
    err: str
    seconds: float


@dataclass(frozen=True)
class Desk:
    """A folder to run `serve-bench` in."""

    folder: Path
    temporary: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="sb-")))

    def __post_init__(self) -> None:
        """A cache folder of its own, with the runtime and weights of the usual one: what the killed tool of one test
        left is not cleaned by another's that runs at the same time."""
        usual = cache_folder()
        self.cache.mkdir()
        (usual / "runtimes").mkdir(parents=True, exist_ok=True)
        for entry in usual.iterdir():
            if entry.name != RECORDS:
                (self.cache / entry.name).symlink_to(entry)

    @property
    def cache(self) -> Path:
        return self.temporary / "cache"

    def write(self, name: str, text: str) -> Path:
        (self.folder / name).write_text(text)
        return self.folder / name

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "bench", *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "TMPDIR": str(self.temporary),
                "SERVE_BENCH_CACHE": str(self.cache),
                OURS: str(self.temporary),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **environment: str) -> Ended:
        began = time.monotonic()
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=280)
        return Ended(process.returncode, out, err, time.monotonic() - began)

    def only_run(self, name: str) -> Path:
        (folder,) = (self.folder / "results" / name).iterdir()
        return folder


def server_processes(desk: Desk) -> list[psutil.Process]:
    """Every server process that came of what this desk started; others on the machine are not its business."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if not any(mark in part for part in process.info["cmdline"] or () for mark in MARKS):
            continue
        try:
            ours = process.environ().get(OURS) == str(desk.temporary)
        except psutil.Error:
            continue
        if ours:
            found.append(process)
    return found
