"""`python -m bench load` as a user runs it, at a stub server that answers meanwhile in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import uvloop

T = TypeVar("T")
NOT_SENT = ("shed", "never sent", "ended early")
IN_FLIGHT = "in flight at the end"


@contextmanager
def in_thread(serving: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """What `serving` opens, open in the event loop of a thread while the body runs."""
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="stub server", daemon=True)
    thread.start()

    def within(step: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(step, loop).result(10)

    stub: T = within(serving.__aenter__())
    try:
        yield stub
    finally:
        within(serving.__aexit__(None, None, None))
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@dataclass(frozen=True)
class Loaded:
    """How a command ended that measured something; rows: of its requests; seconds: from its manifest."""

    code: int
    told: dict[str, Any]
    err: str
    rows: pd.DataFrame
    seconds: float
    folder: Path

    @property
    def causes(self) -> Counter[str]:
        """Cause -> number of rows, '' for a success; the whole run, its warm-up too."""
        return Counter(self.rows["cause"].astype(str))

    @property
    def errors(self) -> str:
        """What the verdict on errors says, '' where it found none."""
        verdicts = pd.read_csv(self.folder / "verdicts.csv", keep_default_na=False)
        return " ".join(verdicts["why"][(verdicts["check"] == "errors") & (verdicts["outcome"] == "fails")])


def start(folder: Path, port: int, *options: str, kind: str = "torchserve") -> subprocess.Popen[str]:
    """The command, with JSON asked for and a body to send where this kind of server needs one."""
    body = folder / "body.bin"
    body.write_bytes(b"abcd")
    given = ("--payload", str(body)) if kind == "torchserve" else ()
    url = f"http://127.0.0.1:{port}"
    return subprocess.Popen(
        [sys.executable, "-m", "bench", "load", url, "--kind", kind, "--model", "m", "--json", *given, *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(folder: Path, process: subprocess.Popen[str]) -> Loaded:
    """Waits for its end, and checks what holds however it went: its words agree, and every request is accounted for."""
    try:
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode in (0, 1, 4), err
    told = json.loads(out, parse_constant=_no_json)
    run = folder / str(told["run"])
    manifest = json.loads((run / "manifest.json").read_text())
    for key in ("verdict", "exit_code"):
        assert told[key] == manifest[key]
    assert told["exit_code"] == process.returncode
    (file,) = (run / "samples" / "m").glob("rate=*")
    took = pd.Timestamp(manifest["finished"]) - pd.Timestamp(manifest["started"])
    loaded = Loaded(process.returncode, told, err, pd.read_parquet(file), took.total_seconds(), run)
    _assert_accounted(loaded, manifest["scenario"]["load"])
    return loaded


def load(folder: Path, port: int, *options: str, kind: str = "torchserve") -> Loaded:
    return finish(folder, start(folder, port, *options, kind=kind))


def within_three_attempts(attempt: Callable[[], None]) -> None:
    """For what a busy machine breaks now and then and a wrong tool every time."""
    for _ in range(2):
        with suppress(AssertionError):
            attempt()
            return
    attempt()


def _no_json(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def _assert_accounted(loaded: Loaded, plan: dict[str, Any]) -> None:
    """scheduled = sent + shed + unsent; sent = ok + errors by cause + timed out + in flight, in rows and in JSON."""
    rows, told = loaded.rows, loaded.told
    cause = rows["cause"].astype(str)
    ok, unsent, in_flight = cause == "", cause.isin(NOT_SENT), cause == IN_FLIGHT
    assert rows["scheduled_s"].is_monotonic_increasing
    assert (rows["sent_s"].isna() == unsent).all()
    assert (rows["completed_s"].isna() == (unsent | in_flight)).all()
    assert ((rows["status"] == 200) == ok).all()
    assert ((rows["sent_s"] >= rows["scheduled_s"]) == ~unsent).all()
    assert ((rows["completed_s"] >= rows["sent_s"]) == ~(unsent | in_flight)).all()
    since_s = rows["scheduled_s"] - plan["warmup_s"]
    window = (since_s >= 0) & (since_s < plan["duration_s"]) & (cause != "ended early")
    assert told["scheduled"] == told["sent"] + told["shed"] == window.sum()
    assert told["sent"] == told["completed"] + told["errors"]
    assert told["completed"] == (window & ok).sum()
    assert told["errors"] == (window & ~ok & ~unsent).sum()
