"""A command is written down before it starts anything, and forgotten when all of it has ended."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from bench.errors import ServerError
from bench.servers.lease import TOKEN_VARIABLE, hold_lease, read_leases, record_file, start_ticks


def test_while_it_is_held_children_carry_the_token_and_temporary_files_lie_in_its_folder(tmp_path: Path) -> None:
    before = dict(os.environ), tempfile.gettempdir()
    with hold_lease(tmp_path) as lease:
        assert read_leases(tmp_path) == [lease]
        assert lease.pid == os.getpid()
        assert lease.started == start_ticks(os.getpid()) > 0
        assert os.environ[TOKEN_VARIABLE] == lease.token
        made = Path(tempfile.mkdtemp())
        assert made.parent == Path(lease.folder)
        assert made.parent.stat().st_mode & 0o777 == 0o700
    assert not made.parent.exists()
    assert not record_file(tmp_path, lease.token).exists()
    assert (dict(os.environ), tempfile.gettempdir()) == before


def test_it_is_forgotten_also_when_the_command_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), hold_lease(tmp_path) as lease:
        raise KeyboardInterrupt
    assert read_leases(tmp_path) == []
    assert not Path(lease.folder).exists()


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(ServerError, match=r"cannot be written: .*SERVE_BENCH_CACHE"), hold_lease(tmp_path / "cache"):
        pass
    assert TOKEN_VARIABLE not in os.environ


@pytest.mark.parametrize("name", ["a b", "x" * 40])
def test_a_temporary_folder_that_servers_cannot_use_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    with hold_lease(tmp_path) as lease:
        assert Path(lease.folder).parent == Path("/tmp")


def test_a_record_that_names_a_folder_which_is_not_a_commands_is_not_believed(tmp_path: Path) -> None:
    file = record_file(tmp_path, "00c0ffee")
    file.parent.mkdir()
    where = '"host": "", "boot": "", "namespace": ""'
    text = '{"token": "00c0ffee", "pid": 1, "started": 0, ' + where + ', "folder": "%s", "command": "run"}'
    file.write_text(text % "/home")
    assert read_leases(tmp_path) == []
    file.write_text(text % "/tmp/serve-bench-00c0ffee")
    assert [lease.token for lease in read_leases(tmp_path)] == ["00c0ffee"]
    file.write_text(text[:20])
    assert read_leases(tmp_path) == []
