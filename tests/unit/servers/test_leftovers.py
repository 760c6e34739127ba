"""A command that was killed: what it started is ended, whatever became of its processes; nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import psutil
import pytest

from bench.servers.lease import (
    FOLDER_PREFIX,
    REGION_PREFIX,
    SHARED_MEMORY,
    Lease,
    here,
    hold_lease,
    read_leases,
    record_file,
    start_ticks,
)
from bench.servers.leftovers import count_leftovers, end_leftovers

# Holds a lease, starts a child in a session of its own that is deaf to SIGTERM and has a child too, and says so.
COMMAND = """
import subprocess, sys, tempfile, time
from pathlib import Path
from bench.servers.lease import REGION_PREFIX, SHARED_MEMORY, hold_lease
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
with hold_lease(Path(sys.argv[1])) as lease:
    Path(tempfile.gettempdir(), "left").touch()
    (SHARED_MEMORY / f"{REGION_PREFIX}{lease.token}_1").touch()
    child = subprocess.Popen([sys.executable, "-c", PARENT, DEAF], start_new_session=True, stdout=subprocess.PIPE)
    child.stdout.readline()
    print(lease.token, child.pid, *[p.pid for p in __import__("psutil").Process(child.pid).children()], flush=True)
    time.sleep(600)
"""


@pytest.fixture
def bystander() -> Iterator[psutil.Process]:
    """A process with another token."""
    environment = {**os.environ, "SERVE_BENCH_RUN": "11111111"}
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=environment) as process:
        yield psutil.Process(process.pid)
        process.kill()


def write(cache: Path, lease: Lease) -> None:
    file = record_file(cache, lease.token)
    file.parent.mkdir()
    file.write_text(json.dumps(asdict(lease)))


def killed(cache: Path) -> tuple[str, list[psutil.Process]]:
    with subprocess.Popen([sys.executable, "-c", COMMAND, str(cache)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        token, *pids = process.stdout.readline().split()
        left = [psutil.Process(int(pid)) for pid in pids]
        process.kill()
    return token, left


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_what_a_killed_command_started_is_ended_and_its_files_are_removed(
    tmp_path: Path, bystander: psutil.Process
) -> None:
    token, left = killed(tmp_path)
    (lease,) = read_leases(tmp_path)
    assert len(left) == 2
    assert not any(map(gone, left))
    assert (count_leftovers(tmp_path), Path(lease.folder, "left").exists(), len(lease.regions)) == (1, True, 1)
    (ended,) = end_leftovers(tmp_path)
    assert ended.token == token
    assert {int(name.split()[0]) for name in ended.processes} == {process.pid for process in left}
    assert (ended.folders, len(ended.regions), ended.still) == ((lease.folder,), 1, ())
    assert "2 processes, 1 temporary folder, 1 shared memory region" in ended.line()
    assert all(map(gone, left))
    assert not Path(lease.folder).exists()
    assert lease.regions == []
    assert not gone(bystander)
    assert end_leftovers(tmp_path) == []


def test_a_command_that_lives_is_left_alone(tmp_path: Path) -> None:
    with hold_lease(tmp_path) as lease:
        region = SHARED_MEMORY / f"{REGION_PREFIX}{lease.token}_1"
        region.touch()
        assert end_leftovers(tmp_path) == []
        assert Path(lease.folder).exists()
        assert lease.regions == [region]
        region.unlink()


def test_a_process_that_got_the_id_of_a_killed_command_is_not_taken_for_it(tmp_path: Path) -> None:
    folder = tmp_path / f"{FOLDER_PREFIX}0badcafe"
    folder.mkdir()
    write(tmp_path, Lease("0badcafe", os.getpid(), start_ticks(os.getpid()) - 1, *here(), str(folder), "run x.yaml"))
    (ended,) = end_leftovers(tmp_path)
    assert (ended.processes, ended.folders) == ((), (str(folder),))
    assert "run x.yaml" in ended.line()


@pytest.mark.parametrize(("part", "dead"), [("host", False), ("namespace", False), ("boot", True)])
def test_what_another_machine_or_container_runs_is_left_alone_and_a_restart_ends_all(
    tmp_path: Path, part: str, dead: bool
) -> None:
    folder = tmp_path / f"{FOLDER_PREFIX}0badcafe"
    folder.mkdir()
    lease = Lease("0badcafe", 1, 1, *here(), str(folder), "run x.yaml")  # not when the first process started
    write(tmp_path, replace(lease, **{part: "another"}))
    assert len(end_leftovers(tmp_path)) == dead
    assert folder.exists() != dead


def test_a_link_in_the_place_of_its_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    token, _ = killed(tmp_path)
    (lease,) = read_leases(tmp_path)
    folder = Path(lease.folder)
    (folder / "left").unlink()
    folder.rmdir()
    folder.symlink_to(tmp_path / "precious")
    (ended,) = end_leftovers(tmp_path)
    assert (ended.token, ended.folders) == (token, ())
    assert (tmp_path / "precious" / "file").exists()
    folder.unlink()
    end_leftovers(tmp_path)
