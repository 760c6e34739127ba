"""What a new process could take, where control groups leave less than the machine has."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from bench.servers.memory import available_bytes

MB = 1_000_000


def group(folder: Path, limit: str, used: int, files: int, names: tuple[str, str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    limit_name, usage, inactive = names
    (folder / limit_name).write_text(f"{limit}\n")
    (folder / usage).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"cache 5\n{inactive} {files}\n")


V2 = ("memory.max", "memory.current", "inactive_file")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def told(tmp_path: Path, own: str) -> int:
    (tmp_path / "cgroup").write_text(own)
    return available_bytes(str(tmp_path / "cgroup"), tmp_path / "fs")


def test_the_limit_of_a_group_counts_and_file_pages_that_can_be_dropped_do_not(tmp_path: Path) -> None:
    group(tmp_path / "fs/mine", str(100 * MB), 70 * MB, 20 * MB, V2)
    assert told(tmp_path, "0::/mine\n") == 50 * MB


def test_a_limit_above_counts_too_and_so_does_none(tmp_path: Path) -> None:
    group(tmp_path / "fs/outer", str(60 * MB), 40 * MB, 0, V2)
    group(tmp_path / "fs/outer/inner", "max", 5 * MB, 0, V2)
    assert told(tmp_path, "0::/outer/inner\n") == 20 * MB


def test_groups_of_the_first_version_are_read(tmp_path: Path) -> None:
    group(tmp_path / "fs/memory/mine", str(80 * MB), 90 * MB, 15 * MB, V1)
    assert told(tmp_path, "9:name=systemd:/\n4:memory:/mine\n1:cpu,cpuacct:/mine\n") == 5 * MB


def test_a_container_that_knows_only_the_hosts_path_is_told_by_its_root(tmp_path: Path) -> None:
    group(tmp_path / "fs", str(30 * MB), 10 * MB, 0, V2)
    assert told(tmp_path, "0::/docker/0123abcd\n") == 20 * MB


@pytest.mark.parametrize("own", ["0::/\n", ""])
def test_without_a_limit_it_is_what_the_machine_has(tmp_path: Path, own: str) -> None:
    assert told(tmp_path, own) == pytest.approx(psutil.virtual_memory().available, rel=0.2)
    assert available_bytes(str(tmp_path / "none"), tmp_path) > 0
