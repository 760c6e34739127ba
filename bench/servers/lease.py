"""What a command may leave behind when it is killed, written down before it begins, so that it can be found.

Every process that a command starts carries the command's token in its environment, however deep; its temporary files
lie in one folder, and shared memory has the token in its name. A record in the cache folder tells who the command was.
It is removed when all is stopped: a record whose command no longer lives is of one that was killed.
"""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.errors import ServerError
from bench.servers.proc import start_ticks

TOKEN_VARIABLE = "SERVE_BENCH_RUN"  # noqa: S105 no secret
RECORDS = "running"
FOLDER_PREFIX = "serve-bench-"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 where Triton's Python backend puts its regions
REGION_PREFIX = "serve_bench_"
# A Unix socket's path, such as that of a TorchServe worker, has 107 characters at most; a command's folder and in it a
# server's take 21 and 33 of them, the socket's name 17.
LONGEST_SHARED, LONGEST_OWN = 36, 57


@dataclass(frozen=True, slots=True)
class Lease:
    """A command that may start something. pid and started: its process, in clock ticks since the machine's start, which
    no setting of the clock changes; host, boot and namespace: where that id means something; folder: its temporary one.
    """

    token: str
    pid: int
    started: int
    host: str
    boot: str
    namespace: str
    folder: str
    command: str

    @property
    def regions(self) -> list[Path]:
        """The shared memory that carries its token."""
        return sorted(SHARED_MEMORY.glob(f"{REGION_PREFIX}{self.token}_*"))


@contextmanager
def hold_lease(cache: Path) -> Iterator[Lease]:
    """While it is open, everything that this process starts carries a token of its own, and temporary files go into one
    folder, which is removed at the end. Raises ServerError where the cache or the temporary folder cannot be written.
    """
    before = {name: os.environ.get(name) for name in (TOKEN_VARIABLE, "TMPDIR")}
    tempdir_before = tempfile.tempdir
    token = secrets.token_hex(4)
    folder = Path(temporary_folder(LONGEST_SHARED)) / f"{FOLDER_PREFIX}{token}"
    command = " ".join(sys.argv[1:])[:200]
    lease = Lease(token, os.getpid(), start_ticks(os.getpid()), *here(), str(folder), command)
    record = record_file(cache, token)
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        new = record.with_suffix(".new")
        new.write_text(json.dumps(asdict(lease)), encoding="utf-8")
        new.replace(record)  # before the folder: what is made must already be known
        folder.mkdir(mode=0o700)
    except OSError as error:
        with suppress(OSError):
            record.unlink(missing_ok=True)
        raise ServerError(
            f"{error.filename} cannot be written: {error.strerror}. SERVE_BENCH_CACHE moves the cache folder, TMPDIR "
            f"the temporary one"
        ) from error
    os.environ.update({TOKEN_VARIABLE: token, "TMPDIR": str(folder)})
    tempfile.tempdir = str(folder)
    try:
        yield lease
    finally:
        tempfile.tempdir = tempdir_before
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)
        record.unlink(missing_ok=True)


def here() -> tuple[str, str, str]:
    """(host, boot, namespace of process ids): a cache folder may be shared between machines and with containers."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return platform.node(), boot, str(Path("/proc/self/ns/pid").readlink())


def record_file(cache: Path, token: str) -> Path:
    return cache / RECORDS / f"{token}.json"


def token_or_random() -> str:
    """This command's token; a random one where no lease is held, as in a test of one server."""
    return os.environ.get(TOKEN_VARIABLE) or secrets.token_hex(4)


def read_leases(cache: Path) -> list[Lease]:
    """Every record that can be read; one that was cut off while it was written names nothing that was started."""
    leases = []
    for file in sorted((cache / RECORDS).glob("*.json")):
        try:
            lease = Lease(**json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            continue
        if re.fullmatch(r"[0-9a-f]{8}", lease.token) and Path(lease.folder).name == f"{FOLDER_PREFIX}{lease.token}":
            leases.append(lease)
    return leases


def temporary_folder(longest: int) -> str:
    """The usual one; /tmp where a socket's path would be too long in it, or a shell would take it apart."""
    usual = tempfile.gettempdir()
    plain = len(usual) <= longest and re.fullmatch(r"[\w./-]+", usual, re.ASCII) is not None
    return usual if plain else "/tmp"  # noqa: S108
