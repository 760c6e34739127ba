"""The raw files of a run -> what was measured, also of one that was cut off."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.analysis.load import Counted, Generator, Offered, Point
from bench.analysis.run import Answers, RawRun
from bench.analysis.tables import RAW_COLUMNS, TEXT_COLUMNS
from bench.errors import ScenarioError
from bench.scenario.spec import Scenario
from bench.scenario.stored import from_json
from bench.store.names import CALIBRATION_COLUMNS, POINT_KEY, SEARCHED, TRACED


def read_run(path: Path, manifest: Mapping[str, Any]) -> RawRun:
    """All of the raw files below `path`. Raises ScenarioError for a scenario of another version, and what pandas and
    pyarrow raise for a file that is none."""
    scenario = read_scenario(path, manifest)
    calibration = path / "calibration.csv"
    empty = pd.DataFrame(columns=CALIBRATION_COLUMNS)
    samples = _read_calibration(calibration) if calibration.exists() else empty
    points = [point for server in scenario.servers for point in read_points(path, server.name)]
    traced = [point for server in scenario.servers for point in read_points(path, server.name, TRACED)]
    searched = [point for server in scenario.servers for point in read_points(path, server.name, SEARCHED)]
    answers = _answers(path, [server.name for server in scenario.servers])
    unproven = dict(manifest.get("unproven_batches", {}))
    tables = {name: read_table(path, name) for name in RAW_COLUMNS}
    return RawRun(scenario, samples, tuple(points), answers, unproven, tables, tuple(searched), tuple(traced))


def read_scenario(path: Path, manifest: Mapping[str, Any]) -> Scenario:
    """The scenario as it ran. Raises ScenarioError for one of another version."""
    try:
        return from_json(manifest["scenario"])
    except (KeyError, ValueError, TypeError) as error:
        raise ScenarioError(f"{path}/manifest.json: expected the scenario as it ran, found another") from error


def read_table(path: Path, name: str) -> pd.DataFrame:
    """One of the tables of `bench.analysis.tables`. Names stay text; all else is a number, NaN where it is none."""
    file, columns = path / f"{name}.csv", RAW_COLUMNS[name]
    if not file.exists():
        return pd.DataFrame(columns=list(columns))
    frame = pd.read_csv(file, dtype=str, keep_default_na=False).reindex(columns=list(columns))
    numbers = [column for column in columns if column not in TEXT_COLUMNS]
    return frame.assign(**{column: pd.to_numeric(frame[column], errors="coerce") for column in numbers})


def read_points(path: Path, server: str, what: str = "", rate: str = "*") -> list[Point]:
    """A server's points, by rate and replication. what: SEARCHED, TRACED, or those that the scenario asks for; rate: as
    it stands in the files' names."""
    points = []
    for file in (path / "samples" / server).glob(f"{what}rate={rate}.parquet"):
        try:
            table = pq.read_table(file)
        except pa.ArrowInvalid:
            continue  # cut off by a full disk, say: the other points can still be read
        about = json.loads(table.schema.metadata[POINT_KEY])
        counted = Counted(**about.pop("counted")) if about["counted"] else about.pop("counted")
        use, plan = about.pop("generator", None), about.pop("offered", None)
        generator, offered = Generator(**use) if use else None, Offered(**plan) if plan else None
        rows = table.to_pandas()
        points.append(
            Point(
                server,
                rows=rows,
                counted=counted,
                generator=generator,
                offered=offered,
                searched=bool(what),
                **about,
            )
        )
    return sorted(points, key=lambda point: (point.rate_per_s, point.replication))


def _answers(path: Path, servers: Sequence[str]) -> Answers | None:
    served: dict[str, NDArray[np.float32]] = {}
    expected, labels = None, None
    for server in servers:
        file = path / "samples" / server / "answers.parquet"
        if not file.exists():
            continue
        try:
            frame = pd.read_parquet(file)
        except pa.ArrowInvalid:
            continue
        served[server] = frame.filter(regex=r"^output_\d+$").to_numpy(dtype=np.float32)
        expected = frame.filter(regex=r"^expected_\d+$").to_numpy(dtype=np.float32)
        labels = frame["label"].to_numpy(dtype=np.int64) if "label" in frame else None
    return None if expected is None else Answers(served, expected, labels)


def _read_calibration(file: Path) -> pd.DataFrame:
    """Names stay text, also those that look like numbers or like nothing; without visits there is one in a block, and
    without starts one."""
    numbers = ["batch_size", "repeat", "time_s", "block", "visit", "start"]
    names = {"server": str, "layer": str}
    frame = pd.read_csv(file, dtype=names, keep_default_na=False, na_values={column: [""] for column in numbers})
    frame = frame.assign(**{column: pd.to_numeric(frame[column]) for column in numbers if column in frame})
    counted = {name: frame[name].fillna(0).astype(int) if name in frame else 0 for name in ("visit", "start")}
    return frame.assign(**counted)
