"""The tool and its servers are interrupted, killed and frozen in every phase: how it ends, how soon, and what is left.

    make chaos                                  about 20 minutes with containers, 10 without
    python -m benchmarks.chaos --only KILL --only process

Each cell is a run of its own. It must end within 30 s of the blow, `clean` after SIGKILL among them, with the promised
exit code, without a process, container, port, temporary folder or shared memory left, and with every row that was
measured before the blow. Prints the table and writes it to benchmarks/chaos.md when all of it was run. Exits 1 when a
cell does not hold.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.commands import run_command
from bench.environment import describe
from bench.servers.lease import REGION_PREFIX, SHARED_MEMORY

HERE = Path(__file__).parent
MARK = "SERVE_BENCH_CHAOS"
LONGEST_S = 30.0
SETTLE_S = 1.0

SCENARIO = """
name: chaos
model: {zoo: calibrated, c: 8ms, m: 4ms}
servers: {NAME: {kind: NAME, max_batch_size: 8}}
calibration: {batch_sizes: [1, 4, 8], precision: 1%, max_duration: 3s}
load: {rates: [20], duration: LOADs, warmup: 500ms, replications: 1, timeout: 5s}
"""


@dataclass(frozen=True, slots=True)
class Phase:
    """step: what the tool says when it begins; rows: the files that must hold measured rows from then on."""

    name: str
    step: str
    rows: tuple[str, ...] = ()
    load_s: int = 15


PHASES = (
    Phase("building", "building the artifacts"),
    Phase("installing", "server runtime: creating the environment"),
    Phase("pulling", "pulling"),
    Phase("starting", "starting"),
    Phase("calibrating", "calibrating, block"),
    Phase("loading", "20/s, replication 1", ("calibration.csv",)),
    Phase("reporting", "analysing and plotting", ("calibration.csv", "samples"), 1),
)
LOADING = PHASES[5]
EXIT = {signal.SIGINT: 130, signal.SIGTERM: 130, signal.SIGKILL: -9}


@dataclass(slots=True)
class Cell:
    """One blow and what came of it."""

    what: str
    phase: str
    runtime: str
    server: str
    code: int | None = None
    expected: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def line(self) -> str:
        ended = "holds" if not self.faults else "**" + "; ".join(self.faults) + "**"
        cells = (self.what, self.phase, self.runtime, self.server, str(self.code), f"{self.seconds:.1f}", ended)
        return f"| {' | '.join(cells)} |"


class Run:
    """One `serve-bench run` in a folder of its own, and everything that carries its mark."""

    def __init__(self, cell: Cell, phase: Phase, folder: Path) -> None:
        self.folder, self.temporary = folder, Path(tempfile.mkdtemp(prefix="chaos-"))
        (folder / "scenario.yaml").write_text(SCENARIO.replace("NAME", cell.server).replace("LOAD", str(phase.load_s)))
        self.environment = {**os.environ, MARK: str(folder), "TMPDIR": str(self.temporary)}
        arguments = ["run", "scenario.yaml", "--runtime", cell.runtime]
        if phase.name == "installing":
            self.environment["SERVE_BENCH_CACHE"] = str(folder / "cache")
        if phase.name == "pulling":
            arguments += ["--set", f"servers.{cell.server}.image=127.0.0.1:{_silent_port()}/nowhere/image:1"]
        self.process = self._start(*arguments)

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "bench", *arguments],
            cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def wait_for(self, step: str) -> str:
        seen = ""
        for line in self.process.stderr or ():
            seen += line
            if step in line:
                return ""
        return f"ended before '{step}': {seen.splitlines()[-1] if seen else 'nothing said'}"

    def marked(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == str(self.folder) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return found

    def server(self) -> list[psutil.Process]:
        """The server's own process, by its command line among what this run started."""
        pids = [process.pid for process in self.marked()]
        for container in self.containers():
            listed = run_command(["docker", "top", container, "-eo", "pid"]).output.split()
            pids += [int(pid) for pid in listed if pid.isdigit()]
        found = [psutil.Process(pid) for pid in pids]
        # The leader is meant: its command line begins with the program; Docker's init has another first word.
        return [process for process in found if _is_server(process)]

    def containers(self) -> list[str]:
        asked = f"label=serve-bench.owner={self.process.pid}"
        ended = run_command(["docker", "ps", "-aq", "--filter", asked])
        return ended.output.split() if ended.status == 0 else []

    def clean(self) -> None:
        subprocess.run(
            [sys.executable, "-m", "bench", "clean"],
            cwd=self.folder, env=self.environment, capture_output=True, timeout=LONGEST_S, check=False,
        )  # fmt: skip

    def left(self, rows: Sequence[str]) -> list[str]:
        """What should not be there, and what should and is not."""
        faults = [f"process {process.pid} left" for process in self.marked()]
        faults += [f"{path.name} left" for path in self.temporary.glob("serve-bench-*")]
        faults += [f"container {name} left" for name in self.containers()]
        for name in rows:
            kept = [
                path for path in self.folder.glob(f"results/chaos/*/{name}") if path.is_dir() or path.stat().st_size
            ]
            faults += [] if kept else [f"{name} was not kept"]
        return faults


def _silent_port() -> int:
    """A registry that takes connections and never answers; held until this program ends."""
    import socket

    listener = socket.create_server(("127.0.0.1", 0))
    _HELD.append(listener)
    return int(listener.getsockname()[1])


_HELD: list[object] = []


def _is_server(process: psutil.Process) -> bool:
    """Whether it is a server, and not a worker or stub of one."""
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    return bool(words) and (words[0].endswith("tritonserver") or "org.pytorch.serve.ModelServer" in words)


def signalled(which: signal.Signals) -> Callable[[Run], None]:
    return lambda run: run.process.send_signal(which)


def server_signalled(which: signal.Signals) -> Callable[[Run], None]:
    def blow(run: Run) -> None:
        for process in run.server():
            process.send_signal(which)

    return blow


def strike(cell: Cell, phase: Phase, blow: Callable[[Run], None], expected: int) -> Cell:
    """Runs until the phase, strikes, waits for the end, cleans after SIGKILL, and looks at what is left."""
    cell.expected = expected
    regions = _regions()
    with tempfile.TemporaryDirectory(prefix="cell-") as folder:
        run = Run(cell, phase, Path(folder))
        fault = run.wait_for(phase.step)
        if fault:
            cell.faults.append(fault)
        time.sleep(0.05 if phase.name in ("building", "reporting") else SETTLE_S)
        began = time.monotonic()
        blow(run)
        try:
            _, _ = run.process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            cell.faults.append(f"not ended after {LONGEST_S:.0f} s")
            run.process.kill()
            run.process.communicate()
        if expected == EXIT[signal.SIGKILL]:
            run.clean()
        cell.seconds, cell.code = time.monotonic() - began, run.process.returncode
        if cell.code != expected and not (phase.name in ("building", "reporting") and cell.code == 0):
            cell.faults.append(f"exit code {expected} expected")
        if cell.seconds > LONGEST_S:
            cell.faults.append(f"took {cell.seconds:.0f} s")
        cell.faults += run.left(() if cell.code == 0 else phase.rows)
        shutil.rmtree(run.temporary, ignore_errors=True)
        cell.faults += [f"shared memory {name} left" for name in _regions() - regions]
    return cell


def _regions() -> set[str]:
    return {path.name for path in SHARED_MEMORY.glob(f"{REGION_PREFIX}*")}


def cells(runtimes: Sequence[str]) -> list[tuple[Cell, Phase, Callable[[Run], None], int]]:
    planned = []
    for runtime in runtimes:
        for index, phase in enumerate(PHASES):
            if phase.name == ("pulling" if runtime == "process" else "installing"):
                continue
            for which in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                server = ("triton", "torchserve")[index % 2]
                cell = Cell(f"{which.name} of the tool", phase.name, runtime, server)
                planned.append((cell, phase, signalled(which), EXIT[which]))
        for server in ("triton", "torchserve"):
            for which in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
                cell = Cell(f"{which.name} of the server", LOADING.name, runtime, server)
                planned.append((cell, LOADING, server_signalled(which), 3))
    return planned


def markdown(done: Sequence[Cell]) -> str:
    here = describe()
    broken = sum(bool(cell.faults) for cell in done)
    lines = [
        "# Interrupted, killed, frozen",
        "",
        "Made by `make chaos`: one run a cell, struck in the named phase. It must end within 30 s, `clean` after",
        "SIGKILL among them, with the promised exit code (130 interrupted, 3 the server died; -9 is SIGKILL itself; 0",
        "where the phase was over before the blow), leave no process, container, temporary folder or shared memory,",
        "and keep what was measured.",
        "",
        f"{here['cpu']}, {here['cores']} cores, {here['system']}; revision {here['git_revision']}.",
        f"{len(done) - broken} of {len(done)} hold.",
        "",
        "| blow | phase | runtime | server | exit | seconds | outcome |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(cell.line() for cell in done),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="cells with all of these words")
    only = parser.parse_args(arguments).only
    runtimes = ["process"]
    if run_command(["docker", "image", "inspect", "serve-bench/tritonserver:cpu"]).status == 0:
        runtimes.append("container")
    else:
        sys.stderr.write("no images of the servers, so no containers: make images\n")
    done = []
    for cell, phase, blow, expected in cells(runtimes):
        words = f"{cell.what} {cell.phase} {cell.runtime} {cell.server}"
        if all(word in words for word in only):
            done.append(strike(cell, phase, blow, expected))
            sys.stderr.write(done[-1].line() + "\n")
    document = markdown(done)
    sys.stdout.write(document)
    if not only:
        (HERE / "chaos.md").write_text(document, encoding="utf-8")
    return 1 if any(cell.faults for cell in done) else 0


if __name__ == "__main__":
    sys.exit(main())
