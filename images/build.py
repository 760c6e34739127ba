"""Builds serve-bench/tritonserver:cpu and serve-bench/torchserve:cpu on this machine, without an image registry.

    make images

Wants a Docker daemon, mmdebstrap, a Debian mirror for the root file system (some 60 MB, once) and Python 3.11, which is
Debian bookworm's own. The wheels are those of the server runtime, which is made first where it is missing.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from bench.commands import run_command
from bench.errors import ServerError
from bench.report.status import StatusLine
from bench.servers.runtime import cache_folder, ensure_runtime

HERE = Path(__file__).parent
BASE = "serve-bench/debian:bookworm"
TARGETS = ("tritonserver", "torchserve")
PACKAGES = "python3,python3-venv,libpython3.11,ca-certificates"


def main() -> int:
    status = StatusLine(sys.stderr)
    try:
        _check()
        runtime = ensure_runtime(cache_folder(), status.tell)
        if run_command(["docker", "image", "inspect", BASE]).status != 0:
            status.tell("making the Debian root file system", None)
            _import_base()
        for target, file, context in (
            ("serving", HERE / "Dockerfile", runtime.root),
            *((target, HERE / f"{target}.Dockerfile", HERE) for target in TARGETS),
        ):
            began = time.monotonic()
            status.tell(f"building {target}", None)
            _run(["docker", "build", "-t", f"serve-bench/{target}:cpu", "-f", str(file), str(context)])
            status.clear()
            sys.stdout.write(f"serve-bench/{target}:cpu built in {time.monotonic() - began:.0f} s\n")
    except ServerError as error:
        status.clear()
        sys.stderr.write(f"Error: {error.message}\n")
        if error.detail:
            sys.stderr.write("\n".join(f"  {line}" for line in error.detail.splitlines()) + "\n")
        return 3
    return 0


def _check() -> None:
    if sys.version_info[:2] != (3, 11):
        raise ServerError(
            f"images are built from the runtime of Python 3.11, Debian bookworm's own; this is "
            f"{sys.version_info[0]}.{sys.version_info[1]}. Run make setup PYTHON=python3.11 first"
        )
    for program in ("docker", "mmdebstrap"):
        if shutil.which(program) is None:
            raise ServerError(f"{program} is not here: apt-get install docker.io mmdebstrap")
    if run_command(["docker", "info"]).status != 0:
        raise ServerError("no Docker daemon answers, or it will not let you: start it, or join the group docker")


def _import_base() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "rootfs.tar"
        _run(["mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(archive)])
        _run(["docker", "import", str(archive), BASE])


def _run(command: list[str]) -> None:
    ended = run_command(command)
    if ended.status != 0:
        raise ServerError(f"{' '.join(command[:3])} ended with status {ended.status}", ended.tail)


if __name__ == "__main__":
    sys.exit(main())
