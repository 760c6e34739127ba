"""An artifact in use is not built anew under the run that uses it."""

from __future__ import annotations

from pathlib import Path

from bench.artifacts.hold import Hold


def test_one_builds_while_nobody_uses_it_and_many_use_it_while_nobody_builds(tmp_path: Path) -> None:
    file = tmp_path / "made" / "triton.lock"
    first, second, third = Hold(file), Hold(file), Hold(file)
    assert first.exclusive()
    assert not second.exclusive()
    first.share()
    second.share()
    assert not third.exclusive()
    del first, second
    assert third.exclusive()
