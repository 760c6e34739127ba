"""What this machine can run, what it cannot, and what to do about that. Looks only: nothing is made or started."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import psutil

from bench.commands import run_command
from bench.environment import GPU_REMEDY, NO_GPU, gpus
from bench.servers.daemon import daemon_fault
from bench.servers.lease import SHARED_MEMORY
from bench.servers.leftovers import count_leftovers
from bench.servers.runtime import CACHE_VARIABLE, Runtime, cache_folder, find_fault, runtime_of

State = Literal["ok", "note", "missing"]

GB = 1e9
RUNTIME_BYTES, LEAST_BYTES = 1.6e9, 0.2e9  # to make the runtime; for weights and artifacts
LEAST_SHARED_BYTES = 64e6
LATE_NAPS, NAP_S, LATE_S = 40, 0.001, 0.0005
PROCESS = "servers as processes"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. state: ok; note: it works, and may be wanted otherwise; missing: what stands in `of` cannot
    be done. remedy: what to do, empty when all is well."""

    of: str
    what: str
    state: State
    found: str
    remedy: str = ""


def diagnose() -> list[Finding]:
    """Everything, in the order in which it is wanted."""
    runtime = runtime_of(cache_folder())
    return [
        _python(), _system(), _runtime(runtime), _cache(runtime), _temporary(), _shared_memory(), _loopback(),
        _cores(), _governor(), _naps(), _leftovers(), _gpu(), _docker(),
    ]  # fmt: skip


def works(findings: Sequence[Finding]) -> bool:
    """Whether servers can run as processes, which is what every command needs at the least."""
    return not any(finding.of == PROCESS and finding.state == "missing" for finding in findings)


def _python() -> Finding:
    found = platform.python_version()
    if (3, 11) <= sys.version_info[:2] < (3, 14):
        return Finding(PROCESS, "Python", "ok", found)
    return Finding(PROCESS, "Python", "missing", found, "the servers' wheels need 3.11, 3.12 or 3.13")


def _system() -> Finding:
    found = f"{platform.system()} {platform.release()} {platform.machine()}"
    if (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        return Finding(PROCESS, "system", "ok", found)
    return Finding(PROCESS, "system", "missing", found, "Triton's wheel is for Linux on x86-64")


def _runtime(runtime: Runtime) -> Finding:
    fault = find_fault(runtime)
    if not fault:
        return Finding(PROCESS, "server runtime", "ok", str(runtime.root))
    return Finding(PROCESS, "server runtime", "note", fault, "the first run makes it, in some minutes")


def _cache(runtime: Runtime) -> Finding:
    folder = next(p for p in (cache_folder(), *cache_folder().parents) if p.exists())
    free = shutil.disk_usage(folder).free
    wanted = LEAST_BYTES if runtime.root.exists() else RUNTIME_BYTES
    found = f"{cache_folder()}, {free / GB:.1f} GB free"
    if not os.access(folder, os.W_OK):
        return Finding(PROCESS, "cache folder", "missing", f"{folder} cannot be written", f"set {CACHE_VARIABLE}")
    if free < wanted:
        return Finding(
            PROCESS, "cache folder", "missing", found, f"free {wanted / GB:.1f} GB there, or set {CACHE_VARIABLE}"
        )
    return Finding(PROCESS, "cache folder", "ok", found)


def _temporary() -> Finding:
    folder = Path(os.environ.get("TMPDIR", "/tmp"))  # noqa: S108
    if os.access(folder, os.W_OK | os.X_OK):
        return Finding(PROCESS, "temporary folder", "ok", str(folder))
    return Finding(PROCESS, "temporary folder", "missing", f"{folder} cannot be written", "set TMPDIR")


def _shared_memory() -> Finding:
    try:
        free = shutil.disk_usage(SHARED_MEMORY).free
    except OSError:
        return Finding(PROCESS, "shared memory", "missing", f"no {SHARED_MEMORY}", "Triton's Python backend needs it")
    found = f"{free / GB:.1f} GB free in {SHARED_MEMORY}"
    if free < LEAST_SHARED_BYTES:
        return Finding(PROCESS, "shared memory", "missing", found, "in a container: --shm-size=1g")
    return Finding(PROCESS, "shared memory", "ok", found)


def _loopback() -> Finding:
    try:
        with socket.create_server(("127.0.0.1", 0)) as held:
            return Finding(PROCESS, "loopback ports", "ok", f"free ones are given, such as {held.getsockname()[1]}")
    except OSError as error:
        return Finding(PROCESS, "loopback ports", "missing", str(error.strerror), "127.0.0.1 must take connections")


def _cores() -> Finding:
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    found = f"{cores}, load {load:.1f}, {psutil.virtual_memory().available / GB:.1f} GB of memory free"
    if cores < 2:
        return Finding("steady figures", "cores", "note", found, "generator and server share one: expect late sends")
    if load > cores / 2:
        return Finding("steady figures", "cores", "note", found, "something else is running; figures will be noisy")
    return Finding("steady figures", "cores", "ok", found)


def _governor() -> Finding:
    file = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    try:
        found = file.read_text(encoding="ascii").strip()
    except OSError:
        return Finding("steady figures", "CPU frequency", "note", "not told, as on most virtual machines", "")
    if found == "performance":
        return Finding("steady figures", "CPU frequency", "ok", found)
    return Finding("steady figures", "CPU frequency", "note", found, "cpupower frequency-set -g performance")


def _naps() -> Finding:
    """How late a sleep comes back: what a load generator cannot be better than without spinning."""
    late = []
    for _ in range(LATE_NAPS):
        due = time.perf_counter() + NAP_S
        time.sleep(NAP_S)
        late.append(time.perf_counter() - due)
    found = f"sleeps of 1 ms are late by {np.median(late) * 1e6:.0f} µs, at most by {max(late) * 1e6:.0f} µs"
    if float(np.median(late)) <= LATE_S:
        return Finding("steady figures", "clock", "ok", found)
    return Finding("steady figures", "clock", "note", found, "a busy or throttled host; gates will mark late points")


def _leftovers() -> Finding:
    count = count_leftovers(cache_folder())
    if count == 0:
        return Finding("steady figures", "left by killed runs", "ok", "nothing")
    return Finding("steady figures", "left by killed runs", "note", f"{count} commands", "serve-bench clean")


def _gpu() -> Finding:
    found = gpus()
    if found:
        return Finding("device: gpu", "GPU", "ok", "; ".join(found))
    return Finding("device: gpu", "GPU", "missing", NO_GPU, GPU_REMEDY)


def _docker() -> Finding:
    of, what = "containers", "Docker"
    if shutil.which("docker") is None:
        return Finding(of, what, "missing", "no docker command", "install Docker; processes need none")
    asked = run_command(["timeout", "10", "docker", "version", "--format", "{{.Server.Version}} {{.Server.Arch}}"])
    if asked.status == 0:
        return Finding(of, what, "ok", asked.output.strip())
    return Finding(of, what, "missing", *daemon_fault(asked.output))
