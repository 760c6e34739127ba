"""What a run finds of models whose c and m are known, on both real servers: c, m, ceiling, law and capacity.

    python -m benchmarks.known_models                       about 15 minutes on two cores: six models, both servers
    python -m benchmarks.known_models --model 4,2 --model 8,1 --instances 2 --server triton

c and m of the models are in ms. Each model keeps its time by its own clock and returns it with its answers. Prints the
table and writes it to benchmarks/known_models.md when all six were run. Exits 1 when a promise does not hold.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.analysis.capacity import CAPACITY
from bench.analysis.run import Analysis
from bench.environment import describe
from bench.report.status import StatusLine
from bench.runner import Finished, Options, run_scenario
from bench.scenario.spec import Calibrated, Calibration, Load, Scenario, Server, ServerKind
from bench.theory.law import CostModel
from benchmarks.known_models_document import Row, markdown

HERE = Path(__file__).parent
MODELS = ((4, 2), (9, 1), (1, 40), (2, 5), (8, 1), (6, 3))
LARGEST = 16


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for. models: (c, m) in ms."""

    models: tuple[tuple[float, float], ...]
    servers: tuple[ServerKind, ...]
    instances: int
    max_duration_s: float


def scenario(asked: Asked, server: ServerKind, c_ms: float, m_ms: float, instances: int) -> Scenario:
    """Calibration and capacity of one model on one server, without load."""
    spec = Server(server, server, instances=instances, max_batch_size=LARGEST)
    plan = Calibration(precision=0.01, max_duration_s=asked.max_duration_s)
    return Scenario("known", Calibrated(c_ms / 1e3, m_ms / 1e3), (spec,), plan, Load())


def row(finished: Finished, server: ServerKind, c_ms: float, m_ms: float, instances: int, seconds: float) -> Row:
    """What one run found, beside what it should have."""
    analysis: Analysis = finished.analysis
    fits, truth = analysis.fits[server], CostModel(c_ms / 1e3, m_ms / 1e3)
    compute, own = fits["compute"], fits["own_clock"]
    by_times = [s for s in analysis.speedups if s.layer == "compute"]
    by_throughput = [s for s in analysis.speedups if s.layer == "occupancy"]
    table = analysis.tables["capacity"]
    (capacity,) = table[table["purpose"] == CAPACITY].to_dict("records")
    exact = table[(table["purpose"] == "occupancy") & (table["batching"] == 1) & (table["instances"] == instances)]
    rows_fit = fits.get("compute_rows")
    return Row(
        server=server, c_ms=c_ms, m_ms=m_ms, instances=instances, seconds=seconds,
        c_found_ms=compute.c_s * 1e3, m_found_ms=compute.m_s * 1e3,
        c_own_ms=own.c_s * 1e3, m_own_ms=own.m_s * 1e3,
        m_rows_ms=None if rows_fit is None else rows_fit.m_s * 1e3,
        ceiling_lo=own.ceiling_lo, ceiling_hi=own.ceiling_hi, ceiling=truth.ceiling,
        regime=compute.model.regime, regime_true=truth.regime,
        worst_speedup=max((abs(s.relative_error) for s in by_times), default=float("nan")),
        worst_throughput_speedup=max((abs(s.relative_error) for s in by_throughput), default=float("nan")),
        worst_fit=float(exact["relative_error"].abs().max()),
        capacity_per_s=capacity["throughput_per_s"], capacity_error=capacity["relative_error"],
    )  # fmt: skip


def measure(asked: Asked) -> list[Row]:
    """Model after model, so that what disturbs the host for a while disturbs both servers."""
    status = StatusLine(sys.stderr)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for c_ms, m_ms in asked.models:
            for server in asked.servers:
                made = scenario(asked, server, c_ms, m_ms, asked.instances)
                began = time.monotonic()
                finished = run_scenario(made, Options(folder / "results", folder), status.tell)
                if finished.error is not None:
                    raise finished.error
                rows.append(row(finished, server, c_ms, m_ms, asked.instances, time.monotonic() - began))
                status.clear()
                sys.stderr.write(rows[-1].line() + "\n")
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parse(arguments)
    rows = measure(asked)
    document = markdown(rows, describe())
    sys.stdout.write(document)
    if {(r.c_ms, r.m_ms) for r in rows} >= set(MODELS) and len(asked.servers) == 2 and asked.instances == 1:
        (HERE / "known_models.md").write_text(document, encoding="utf-8")
    return 0 if all(not r.broken() for r in rows) else 1


def _parse(arguments: Sequence[str] | None) -> Asked:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.known_models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", action="append", type=_pair, metavar="C,M", help="c and m in ms; may be repeated")
    parser.add_argument("--server", action="append", choices=("triton", "torchserve"), help="one of the two only")
    parser.add_argument("--instances", type=int, default=1, help="copies of the model (default 1)")
    parser.add_argument(
        "--max-duration", type=float, default=36.0, metavar="S", help="of each calibration (default 36)"
    )
    found = parser.parse_args(arguments)
    servers: tuple[ServerKind, ...] = ("triton", "torchserve")
    return Asked(tuple(found.model or MODELS), tuple(found.server or servers), found.instances, found.max_duration)


def _pair(text: str) -> tuple[float, float]:
    c, m = (float(part) for part in text.split(","))
    return c, m


if __name__ == "__main__":
    sys.exit(main())
