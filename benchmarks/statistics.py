"""How often the printed intervals hold the truth, how often alike arms are told apart, and shapes of T(B) told right.

    python -m benchmarks.statistics            about four minutes on two cores
    python -m benchmarks.statistics --quick    under half a minute, a tenth of the simulations

Writes the table to standard output and benchmarks/results/<date>-statistics.md, and benchmarks/statistics.md when all
of it was simulated. Exits 1 when a promise does not hold.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from bench.environment import describe
from benchmarks.statistics_document import markdown
from benchmarks.statistics_knee import alarm_studies, knee_studies, line_studies
from benchmarks.statistics_rows import Row, ShapeRow, rows_of, shape_row
from benchmarks.statistics_shapes import ShapeStudy, shape_studies
from benchmarks.statistics_studies import Found, Study, studies

HERE = Path(__file__).parent
SIMULATIONS, SHAPE_SIMULATIONS = 4000, 500
QUICK_SHARE = 0.1
CHUNK = 250
PROCESSES = 2


@cache
def _studies() -> tuple[list[Study], list[ShapeStudy]]:
    return [*studies(), *knee_studies(), *line_studies(), *alarm_studies()], shape_studies()


def _chunk(number: int, seed: Sequence[int], count: int) -> list[Sequence[Found]]:
    """Runs in a process of its own, which makes the studies anew: functions do not travel."""
    rng = np.random.default_rng(list(seed))
    return [_studies()[0][number].simulate(rng) for _ in range(count)]


def _shape_chunk(number: int, seed: Sequence[int], count: int) -> list[str]:
    rng = np.random.default_rng(list(seed))
    return [_studies()[1][number].told(rng) for _ in range(count)]


def simulate(share: float, seed: int) -> tuple[list[Row], list[ShapeRow]]:
    """Every study with that share of its simulations, in two processes; the same seed gives the same rows."""
    found, shapes = _studies()
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        jobs = [
            [pool.submit(_chunk, i, (seed, i, k), n) for k, n in enumerate(_parts(SIMULATIONS * study.share * share))]
            for i, study in enumerate(found)
        ]
        shape_jobs = [
            [pool.submit(_shape_chunk, i, (seed + 1, i, k), n) for k, n in enumerate(_parts(SHAPE_SIMULATIONS * share))]
            for i in range(len(shapes))
        ]
        rows: list[Row] = []
        for i, (study, chunks) in enumerate(zip(found, jobs, strict=True)):
            rows += rows_of(study, [one for chunk in chunks for one in chunk.result()])
            _say(f"{i + 1} of {len(found)} studies")
        shape_rows = []
        for shape, shape_chunks in zip(shapes, shape_jobs, strict=True):
            shape_rows.append(shape_row(shape, [kind for chunk in shape_chunks for kind in chunk.result()]))
            _say(f"{len(shape_rows)} of {len(shapes)} shapes")
    sys.stderr.write("\n")
    return rows, shape_rows


def _parts(count: float) -> list[int]:
    whole, rest = divmod(max(1, round(count)), CHUNK)
    return [CHUNK] * whole + ([rest] if rest else [])


def _say(text: str) -> None:
    sys.stderr.write(f"\r{text}   ")
    sys.stderr.flush()


def facts(share: float, seed: int, seconds: float) -> dict[str, str]:
    here = describe()
    return {
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{here['cpu']}, {here['cores']} cores, {here['system']}",
        "revision": str(here["git_revision"]),
        "Python": f"{here['python']}, numpy {metadata.version('numpy')}, scipy {metadata.version('scipy')}",
        "simulations": f"{round(SIMULATIONS * share / 2):,} or more for each interval (a fifth of that for the "
        f"stopped fit), {round(SHAPE_SIMULATIONS * share):,} for each shape; seed {seed}, {seconds:.0f} s",
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the simulations; proves little")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=HERE / "results")
    asked = parser.parse_args(arguments)
    share = QUICK_SHARE if asked.quick else 1.0
    began = datetime.now(UTC)
    rows, shapes = simulate(share, asked.seed)
    document = markdown(rows, shapes, facts(share, asked.seed, (datetime.now(UTC) - began).total_seconds()))
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / f"{began:%Y-%m-%d}-statistics.md").write_text(document)
    if not asked.quick:
        (HERE / "statistics.md").write_text(document)
    sys.stdout.write(document)
    return 1 if any(row.fails for row in rows) or any(row.fails for row in shapes) else 0


if __name__ == "__main__":
    sys.exit(main())
