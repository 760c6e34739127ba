"""Servers whose T(B) is known, calibrated over a socket: each is told for what it is in the tables of its run."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import uvloop
from scripted_triton import Script, ScriptedTriton, serving_in_a_thread

from bench import clients
from bench.analysis.run import Analysis
from bench.experiments import calibration
from bench.experiments.calibration import Calibration, Sample
from bench.experiments.subject import Subject
from bench.models.model import ServedModel, Tensor
from bench.runner import report
from bench.scenario.arms import batching_off, exactly
from bench.scenario.spec import Calibrated, Checks, Load, Scenario, Server
from bench.scenario.spec import Calibration as Plan
from bench.scenario.stored import to_json
from bench.servers.control import Control
from bench.servers.runtime import Runtime
from bench.servers.triton import Triton
from bench.store.run_folder import RunFolder

SIZES = (1, 2, 3, 4, 6, 8, 12, 16)
BLOCKS = 12
PAYLOADS = np.arange(32, dtype=np.float32).reshape(16, 2)
SPEC = Server("triton", "triton")
SCENARIO = Scenario(
    "scripted", Calibrated(0.004, 0.002), (SPEC,), Plan(SIZES), Load(), checks=Checks(affine_tolerance=0.05)
)


@dataclass(frozen=True)
class Told:
    """What a run says of one scripted server."""

    folder: Path
    analysis: Analysis

    @property
    def fit(self) -> dict[str, Any]:
        fits = pd.read_csv(self.folder / "fit.csv")
        (row,) = fits[fits["layer"] == "compute"].to_dict("records")
        return {str(name): value for name, value in row.items()}

    def verdicts(self, check: str) -> list[dict[str, Any]]:
        rows = pd.read_csv(self.folder / "verdicts.csv")
        return [dict(row) for row in rows[rows["check"] == check].to_dict("records")]

    @property
    def notes(self) -> str:
        return "\n".join(self.analysis.notes["triton"])


@pytest.fixture
def calibrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], Told]:
    """Calibrates the scripted server as a run does, stores it, and makes its tables."""
    # The scripted times are claimed and not waited for, so that there is nothing to wait for either.
    monkeypatch.setattr(calibration, "DROPPED_S", 0.0)
    monkeypatch.setattr(calibration, "KEPT_S", 0.0)

    def run(script: Script) -> Told:
        taken = Calibration([])
        with serving_in_a_thread(ScriptedTriton(script)) as port:
            server = Triton(SPEC, tmp_path, cast(Runtime, None), tmp_path / "server.log", lambda _text, _share: None)
            server.ports, server.control = dict.fromkeys(server.port_names, port), Control(server.host, port)
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
                loop.run(_calibrate(server, taken))
            server.control.close()
        folder = RunFolder.create(tmp_path, "scripted")
        folder.append_calibration("triton", (asdict(sample) for sample in taken.samples))
        folder.write_manifest({"scenario": to_json(SCENARIO), "unproven_batches": {"triton": taken.unproven}})
        return Told(folder.path, report(folder))

    return run


async def _calibrate(server: Triton, into: Calibration) -> None:
    tensors = (Tensor("IN", "FP32", (2,)), Tensor("OUT", "FP32", (2,)))
    model = ServedModel("m", *tensors, Path(), (), {}, PAYLOADS, PAYLOADS, None)
    client, pool = clients.make("triton", "http", server.host, server.ports, "IN", "OUT")
    subject = Subject(server, client, pool, model, 0.0, lambda _text, _share: None)
    visits = calibration.plan_visits(subject, [exactly("m", size) for size in SIZES], batching_off("m", SPEC))

    def enough(samples: Sequence[Sample]) -> bool:
        return samples[-1].block + 1 == BLOCKS

    try:
        await calibration.calibrate(subject, visits, math.inf, np.random.default_rng(5), enough, into)
    finally:
        await pool.close()


def line(B: float) -> float:
    return 0.004 + 0.002 * B


def knee_at_4(B: float) -> float:
    return max(0.009, 0.005 + 0.001 * B)


def padded(B: float) -> float:
    return 0.004 + 0.001 * 2.0 ** math.ceil(math.log2(B))


def bent(B: float) -> float:
    return 0.004 + 0.001 * B + 0.0001 * B**2


Calibrate = Callable[[Script], Told]


def test_a_knee_at_4_is_told_with_the_c_and_m_that_hold_beyond_it(calibrated: Calibrate) -> None:
    told = calibrated(Script(knee_at_4))
    fit = told.fit
    assert fit["shape"] == "hinge"
    assert fit["holds_from"] == 4
    assert fit["knee_lo"] <= 4 <= fit["knee_hi"]
    assert (fit["c_s"], fit["m_s"]) == (pytest.approx(0.005, rel=0.05), pytest.approx(0.001, rel=0.05))
    assert fit["ceiling"] == pytest.approx(6, rel=0.06)
    (affine,) = told.verdicts("affine")
    assert affine["outcome"] == "fails"
    assert "T(B) is flat up to B = " in affine["why"]
    assert "c and m hold from B = 4 on" in affine["why"]
    outcomes = {row["subject"]: row["outcome"] for row in told.verdicts("speedup")}
    assert outcomes == {
        "B=2": "not applicable", "B=3": "not applicable",
        "B=4": "holds", "B=6": "holds", "B=8": "holds", "B=12": "holds", "B=16": "holds",
    }  # fmt: skip
    assert told.analysis.sentences["triton"].startswith("c and m hold from B = 4 on: batching can make this up to 9")
    assert "is above the ceiling 1 + c/m = " in told.notes


def test_a_staircase_leaves_the_table_and_no_c_and_m(calibrated: Calibrate) -> None:
    told = calibrated(Script(padded))
    assert told.fit["shape"] == "staircase"
    assert math.isnan(told.fit["holds_from"])
    (affine,) = told.verdicts("affine")
    assert affine["outcome"] == "fails"
    assert "as if each batch were padded to the next power of 2; table only" in affine["why"]
    assert {row["outcome"] for row in told.verdicts("speedup") + told.verdicts("ceiling")} == {"not applicable"}
    assert told.analysis.sentences["triton"].startswith("T(B) is no line, so there are no c and m to go by")


def test_a_square_in_t_of_b_is_told_and_so_is_the_batch_size_that_serves_most(calibrated: Calibrate) -> None:
    told = calibrated(Script(bent))
    assert told.fit["shape"] == "quadratic"
    assert math.isnan(told.fit["holds_from"])
    # B/T(B) is highest at √(c/a) = 6.3, and from 6 to 16 the cost of a request grows from 2.27 to 2.85 ms.
    assert "the throughput B/T(B) is highest at B = 6" in told.notes
    (affine,) = told.verdicts("affine")
    assert "the growth of T(B) is faster than in proportion to B" in affine["why"]
    assert "batches beyond 6 cost more than they bring" in affine["why"]


def test_spikes_are_counted_and_do_not_move_c_and_m(calibrated: Calibrate) -> None:
    told = calibrated(Script(line, spikes=0.03, seed=3))
    fit = told.fit
    assert (fit["shape"], fit["holds_from"]) == ("affine", 1)
    assert (fit["c_s"], fit["m_s"]) == (pytest.approx(0.004, rel=0.02), pytest.approx(0.002, rel=0.02))
    assert (fit["c_median_s"], fit["m_median_s"]) == (pytest.approx(0.004, rel=0.03), pytest.approx(0.002, rel=0.03))
    assert "visits" in told.notes
    assert "were disturbed, the worst took " in told.notes
    assert {row["outcome"] for row in told.verdicts("speedup") + told.verdicts("affine")} == {"holds"}


def test_a_drift_is_told_and_the_line_is_still_one(calibrated: Calibrate) -> None:
    # Some 15 visits in a block: 10 % from the first to the last.
    told = calibrated(Script(line, drift=0.1 / (15 * BLOCKS)))
    assert told.fit["shape"] == "affine"
    assert "% slower from the first block to the last" in told.notes
    assert told.fit["ceiling"] == pytest.approx(3, rel=0.03)
    assert {row["outcome"] for row in told.verdicts("speedup") + told.verdicts("affine")} == {"holds"}


def test_half_of_the_visits_go_to_the_ends(calibrated: Calibrate) -> None:
    told = calibrated(Script(line))
    samples = pd.read_csv(told.folder / "calibration.csv")
    visits = samples[samples["layer"] == "compute"].groupby(["batch_size", "block"])["visit"].nunique()
    assert visits.groupby("batch_size").unique().map(list).to_dict() == {
        1: [3], 2: [1], 3: [1], 4: [1], 6: [1], 8: [1], 12: [1], 16: [3],
    }  # fmt: skip
    assert told.fit["samples"] == 12 * BLOCKS
    assert told.notes == ""
