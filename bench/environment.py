"""Host, processor, GPU, versions and revision: what a figure was measured on."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import psutil

import bench
from bench.commands import run_command
from bench.errors import ServerError

HERE = Path(__file__).parent
PACKAGES = ("numpy", "scipy", "uvloop", "httptools", "tritonclient", "torch-model-archiver")


def describe() -> dict[str, object]:
    """JSON-ready facts about this machine and this program; nothing about its user."""
    return {
        "serve_bench": bench.__version__,
        "git_revision": git_revision(),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in PACKAGES},
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cores": psutil.cpu_count(logical=True),
        "memory_bytes": psutil.virtual_memory().total,
        "gpu": gpus(),
    }


def now_utc() -> str:
    """Wall time for people, ISO 8601; durations never come from it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def git_revision() -> str:
    """The checkout's revision, with +changes when it is not as committed; empty where there is none."""
    revision = _output(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"])
    if not revision:
        return ""
    return revision + ("+changes" if _output(["git", "-C", str(HERE), "status", "--porcelain"]) else "")


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.processor(),
    )


NO_GPU, GPU_REMEDY = "nvidia-smi tells of none", "install NVIDIA's driver, or use device: cpu"


def demand_gpu(asked_by: Iterable[str]) -> None:
    """Raises ServerError where there is no GPU for the servers of these names."""
    names = ", ".join(asked_by)
    if names and not gpus():
        raise ServerError(f"{names}: a GPU is asked for, and {NO_GPU}: {GPU_REMEDY}. serve-bench doctor tells more")


def gpus() -> list[str]:
    """Name, UUID and driver of each GPU that nvidia-smi tells of; none where it is missing or sees none."""
    return _output(["nvidia-smi", "--query-gpu=name,uuid,driver_version", "--format=csv,noheader"]).splitlines()


def _output(command: list[str]) -> str:
    """A command's output, or nothing where it is missing or fails: these facts are optional."""
    try:
        ended = run_command(command)
    except OSError:
        return ""
    return ended.output.strip() if ended.status == 0 else ""
