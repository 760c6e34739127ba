"""results/<scenario>/<UTC time>-<id>/: the only reader and writer of a run's files.

Raw files (calibration.csv, samples/) are written while the run goes, after every experiment, and never again; tables
are made from them and can be made anew.
"""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.analysis.capacity import CAPACITY
from bench.analysis.load import LOAD_COLUMNS, Point
from bench.analysis.run import Analysis, RawRun
from bench.analysis.tables import RAW_COLUMNS
from bench.errors import ScenarioError
from bench.scenario.spec import Scenario
from bench.store.names import CALIBRATION_COLUMNS, CALIBRATION_TABLES, POINT_KEY, SEARCHED, TRACED
from bench.store.reading import read_points, read_run, read_scenario, read_table

FORMAT_VERSION = 1
FIT_COLUMNS = [
    "c_s", "c_lo_s", "c_hi_s", "m_s", "m_lo_s", "m_hi_s", "ceiling", "ceiling_lo", "ceiling_hi",
    "shape", "lack_of_fit_p", "max_residual", "samples",
    "holds_from", "knee_lo", "knee_hi", "c_median_s", "m_median_s", "unbounded", "extrapolation", "largest_batch",
]  # fmt: skip


class RunFolder:
    """One run's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def check(out: Path) -> None:
        """Raises ScenarioError where results could not be written: told before minutes are spent."""
        try:
            out.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=out):
                pass
        except OSError as error:
            raise ScenarioError(
                f"results cannot be written to {out}: {error.strerror}. Choose a folder with --out"
            ) from error

    @classmethod
    def create(cls, out: Path, name: str) -> RunFolder:
        """A new folder; raises ScenarioError where it cannot be made."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        path = out / name / f"{stamp}-{secrets.token_hex(3)}"
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise ScenarioError(
                f"results cannot be written to {path}: {error.strerror}. Choose a folder with --out"
            ) from error
        return cls(path)

    def discard(self) -> None:
        """Remove the folder of a run in which nothing was measured."""
        shutil.rmtree(self.path)

    # ---- written while the run goes

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replaced whole, so that a reader never sees half of one."""
        document = {"format_version": FORMAT_VERSION, **manifest}
        new = self.path / "manifest.json.new"
        new.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        new.replace(self.path / "manifest.json")

    def append_calibration(self, server: str, samples: Iterable[Mapping[str, Any]]) -> None:
        """Adds rows to calibration.csv."""
        rows = [{"server": server, "visit": 0, **sample} for sample in samples]
        frame = pd.DataFrame(rows, columns=CALIBRATION_COLUMNS)
        file = self.path / "calibration.csv"
        frame.to_csv(file, mode="a", header=not file.exists(), index=False)

    def forget_calibration(self, server: str) -> None:
        """Drops a server's rows of a calibration that was not finished from the raw tables."""
        for name in ("calibration", *CALIBRATION_TABLES):
            file = self.path / f"{name}.csv"
            if not file.exists():
                continue
            frame = pd.read_csv(file, dtype=str, keep_default_na=False)
            if (frame["server"] == server).any():
                new = file.with_suffix(".new")
                frame[frame["server"] != server].to_csv(new, index=False)
                new.replace(file)

    def append(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Adds rows to one of the raw tables that `bench.analysis.tables` names."""
        frame = pd.DataFrame(list(rows), columns=list(RAW_COLUMNS[table]))
        file = self.path / f"{table}.csv"
        frame.to_csv(file, mode="a", header=not file.exists(), index=False)

    def write_answers(
        self,
        server: str,
        answers: NDArray[np.float32],
        expected: NDArray[np.float32],
        labels: NDArray[np.int64] | None,
    ) -> None:
        columns: dict[str, object] = {f"expected_{i}": expected[:, i] for i in range(expected.shape[1])}
        columns |= {f"output_{i}": answers[:, i] for i in range(answers.shape[1])}
        if labels is not None:
            columns["label"] = labels
        _write_parquet(pa.table(columns), self._samples(server) / "answers.parquet")

    def write_point(self, point: Point, *, traced: bool = False) -> None:
        """samples/<server>/<point>.parquet, its settings and the server's counts among the file's metadata.

        traced: a point whose requests' stages the server noted, under a name of its own.
        """
        about = {
            "rate_per_s": point.rate_per_s, "replication": point.replication, "warmup_s": point.warmup_s,
            "duration_s": point.duration_s, "counted": asdict(point.counted) if point.counted else None,
            "generator": asdict(point.generator) if point.generator else None,
            "offered": asdict(point.offered) if point.offered else None,
        }  # fmt: skip
        table = pa.Table.from_pandas(point.rows, preserve_index=False)
        table = table.replace_schema_metadata({POINT_KEY: json.dumps(about).encode()})
        rate, what = _plain(point.rate_per_s), SEARCHED if point.searched else ""
        name = f"{TRACED}rate={rate}" if traced else f"{what}rate={rate}-replication={point.replication}"
        _write_parquet(table, self._samples(point.server) / f"{name}.parquet")

    def points(self, server: str, rate_per_s: float) -> list[Point]:
        """The replications of a rate that were made whole: at their end the server was still there to be asked."""
        return _whole(read_points(self.path, server, "", f"{_plain(rate_per_s)}-*"))

    def searched_points(self, server: str) -> list[Point]:
        """The whole ones that a search has made."""
        return _whole(read_points(self.path, server, SEARCHED))

    def has_traced(self, server: str, rate_per_s: float) -> bool:
        return (self.path / "samples" / server / f"{TRACED}rate={_plain(rate_per_s)}.parquet").exists()

    def capacity_per_s(self, server: str) -> float:
        """Requests per second of the server saturated, the mean of its visits; NaN without any."""
        rows = read_table(self.path, "saturation")
        rows = rows[(rows["server"] == server) & (rows["purpose"] == CAPACITY)]
        return float((rows["requests"] / rows["seconds"]).mean())

    def server_folder(self, server: str) -> Path:
        folder = self.path / "servers" / server
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def write_server_json(self, server: str, name: str, document: object) -> None:
        text = json.dumps(document, indent=2, default=str) + "\n"
        (self.server_folder(server) / name).write_text(text, encoding="utf-8")

    def _samples(self, server: str) -> Path:
        folder = self.path / "samples" / server
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # ---- made from what was written

    def write_tables(self, analysis: Analysis) -> None:
        """fit.csv, speedup.csv, load.csv, verdicts.csv, and the tables that the analysis adds."""
        fits = [
            {"server": server, "layer": layer, **{name: getattr(fit, name) for name in FIT_COLUMNS}}
            for server, layers in analysis.fits.items()
            for layer, fit in layers.items()
        ]
        self._table("fit", fits, ["server", "layer", *FIT_COLUMNS])
        names = [
            "server",
            "batch_size",
            "measured",
            "measured_lo",
            "measured_hi",
            "predicted",
            "relative_error",
            "holds",
            "layer",
            "outcome",
        ]
        self._table("speedup", [asdict(row) for row in analysis.speedups], names)
        analysis.load.to_csv(self.path / "load.csv", index=False, columns=list(LOAD_COLUMNS))
        for name, table in analysis.tables.items():
            table.to_csv(self.path / f"{name}.csv", index=False)
        names = ["check", "server", "subject", "expected", "measured", "tolerance", "outcome", "why"]
        self._table("verdicts", [asdict(verdict) for verdict in analysis.verdicts], names)

    def _table(self, name: str, rows: Sequence[Mapping[str, Any]], columns: list[str]) -> None:
        pd.DataFrame(rows, columns=columns).to_csv(self.path / f"{name}.csv", index=False)

    # ---- read

    def manifest(self) -> dict[str, Any]:
        """Raises ScenarioError when this is not a run's folder, or one of another format."""
        file = self.path / "manifest.json"
        try:
            manifest = json.loads(file.read_text(encoding="utf-8"))
            version = manifest["format_version"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ScenarioError(f"{self.path} is no run: {file.name} cannot be read ({error})") from error
        if version != FORMAT_VERSION:
            raise ScenarioError(f"{file}: expected format version {FORMAT_VERSION}, found {version}")
        return dict(manifest)

    def scenario(self) -> Scenario:
        """The scenario as it ran. Raises ScenarioError as `manifest` does, and for one of another version."""
        return read_scenario(self.path, self.manifest())

    def read(self) -> RawRun:
        """Everything measured so far, also of a run that was interrupted."""
        try:
            return read_run(self.path, self.manifest())
        except ScenarioError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
            what = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ScenarioError(f"{self.path} cannot be read as a run: {what}") from error


def _whole(points: Iterable[Point]) -> list[Point]:
    return [point for point in points if point.counted is not None]


def _write_parquet(table: pa.Table, file: Path) -> None:
    """Replaced whole, so that an interrupted write leaves no half file under the name."""
    new = file.with_suffix(".new")
    pq.write_table(table, new)
    new.replace(file)


def _plain(rate_per_s: float) -> str:
    """'50' for 50.0, every digit of any other: a rate names its file."""
    return str(int(rate_per_s)) if rate_per_s.is_integer() else repr(rate_per_s)
