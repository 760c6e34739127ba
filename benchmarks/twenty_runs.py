"""Twenty runs in a row in one process: what grows? Processes, descriptors, threads, temporary files, shared memory.

    python -m benchmarks.twenty_runs             about sixteen minutes: both servers as processes
    python -m benchmarks.twenty_runs --runtime container

Each run has a start of both servers for the answers and one for the calibration. Counted after each: processes that
carry the program's token, its own descriptors and threads, files in its temporary folder, its shared memory regions and
containers, and all processes of the machine. Writes benchmarks/twenty_runs.md. Exits 1 when one of these is
higher after the last run than after the second (the first imports what stays).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from bench.commands import run_command
from bench.environment import describe
from bench.report.status import StatusLine
from bench.runner import Options, run_scenario
from bench.scenario.spec import Calibrated, Calibration, Load, Runtime, Scenario, Server
from bench.servers.lease import Lease, hold_lease
from bench.servers.leftovers import carriers
from bench.servers.runtime import cache_folder

HERE = Path(__file__).parent
RUNS = 20
SPARE = 3  # processes of the machine that come and go of themselves


@dataclass(frozen=True, slots=True)
class Counted:
    """What there is after a run."""

    processes: int
    descriptors: int
    threads: int
    temporary_files: int
    shared_memory: int
    containers: int
    processes_of_the_machine: int


def count(lease: Lease, ours: Path) -> Counted:
    me = psutil.Process()
    label = f"label=serve-bench.run={lease.token}"
    try:
        listed = run_command(["docker", "ps", "-aq", "--filter", label])
        containers = listed.output.split() if listed.status == 0 else []  # without a daemon it is its error
    except OSError:
        containers = []
    files = [path for path in Path(lease.folder).rglob("*") if ours not in (path, *path.parents)]
    return Counted(
        processes=len(carriers(lease.token)), descriptors=me.num_fds(), threads=threading.active_count(),
        temporary_files=len(files), shared_memory=len(lease.regions), containers=len(containers),
        processes_of_the_machine=len(psutil.pids()),
    )  # fmt: skip


def scenario(runtime: Runtime) -> Scenario:
    servers = (
        Server("triton", "triton", runtime=runtime, max_batch_size=4),
        Server("torchserve", "torchserve", runtime=runtime, max_batch_size=4),
    )
    load = Load(rates_per_s=(50.0,), duration_s=1, warmup_s=0.2, replications=1)
    return Scenario("twenty", Calibrated(2e-3, 1e-3), servers, Calibration((1, 2, 4), 0.5, 1.0), load)


def grown(second: Counted, last: Counted) -> list[str]:
    """The names of what is higher after the last run than after the second."""
    before, after = asdict(second), asdict(last)
    spare = {"processes_of_the_machine": SPARE}
    return [name for name in before if after[name] > before[name] + spare.get(name, 0)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.twenty_runs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runtime", choices=("process", "container"), default="process")
    runtime = parser.parse_args(arguments).runtime
    status, counts = StatusLine(sys.stderr), list[Counted]()
    with hold_lease(cache_folder()) as lease, tempfile.TemporaryDirectory() as scratch:
        for _ in range(RUNS):
            finished = run_scenario(scenario(runtime), Options(Path(scratch) / "results", Path(scratch)), status.tell)
            if finished.error is not None:
                raise finished.error
            counts.append(count(lease, Path(scratch)))
            status.clear()
            sys.stderr.write(f"{len(counts)}: {counts[-1]}\n")
    found, here = grown(counts[1], counts[-1]), describe()
    lines = [
        "# Twenty runs in a row", "",
        "Made by `python -m benchmarks.twenty_runs`: one process, both servers started twice in each run.", "",
        f"{here['cpu']}, {here['cores']} cores, {here['system']}; revision {here['git_revision']}.",
        f"Servers: {runtime}.", "",
        "| after run | " + " | ".join(name.replace("_", " ") for name in asdict(counts[0])) + " |",
        "|---" * (len(asdict(counts[0])) + 1) + "|",
        *(f"| {n} | " + " | ".join(map(str, asdict(counts[n - 1]).values())) + " |" for n in (1, 2, 5, 10, 15, RUNS)),
        "", f"Grown: {', '.join(found) or 'nothing'}.", "",
    ]  # fmt: skip
    document = "\n".join(lines)
    sys.stdout.write(document)
    if runtime == "process":
        (HERE / "twenty_runs.md").write_text(document, encoding="utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
