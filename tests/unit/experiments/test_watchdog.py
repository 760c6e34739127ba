"""A server that hangs ends the experiment that waits for it; a slow one, or one pause, does not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.errors import ServerError
from bench.experiments import watchdog
from bench.experiments.watchdog import watched


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOOK_S", 0.02)
    monkeypatch.setattr(watchdog, "AGAIN_S", 0.01)


def server(*told: bool, dead: bool = False) -> Any:
    """One that tells its health so, in this order, and the last for ever."""
    answers = list(told)

    def check_alive() -> None:
        if dead:
            raise ServerError("t: the server was killed by SIGKILL")

    return SimpleNamespace(
        spec=SimpleNamespace(name="t"),
        process=SimpleNamespace(log=Path("server.log"), log_tail=lambda: "its last words"),
        is_live=lambda _patience_s: answers.pop(0) if len(answers) > 1 else answers[0],
        check_alive=check_alive,
    )


async def experiment(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "measured"


@pytest.mark.parametrize("told", [(True,), (False, True), (True, False, True, False, True)])
def test_a_slow_experiment_and_a_pause_of_the_server_are_waited_for(told: tuple[bool, ...]) -> None:
    assert asyncio.run(watched(server(*told), experiment(0.3))) == "measured"


def test_a_server_that_tells_nothing_twice_ends_the_experiment() -> None:
    ended = []

    async def cancelled() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    with pytest.raises(ServerError, match=r"t: the server hangs.*server\.log") as told:
        asyncio.run(watched(server(True, False, False), cancelled()))
    assert told.value.detail == "its last words"
    assert ended == [True]


def test_a_server_that_died_is_told_as_dead_and_not_as_hanging() -> None:
    with pytest.raises(ServerError, match="killed by SIGKILL"):
        asyncio.run(watched(server(False, dead=True), experiment(60)))


def test_what_the_experiment_raises_comes_through() -> None:
    async def fails() -> None:
        raise ServerError("its own")

    with pytest.raises(ServerError, match="its own"):
        asyncio.run(watched(server(True), fails()))
