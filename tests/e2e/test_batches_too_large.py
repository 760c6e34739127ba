"""A batch that does not fit into memory, on real servers: the sizes below are measured and kept, and it is told."""

from __future__ import annotations

import json
from collections.abc import Callable

import pandas as pd
import pytest
from desk import Desk
from test_failures import built, replace_in_artifact

pytestmark = pytest.mark.together

SIZES = """
name: calibrated
model: {zoo: calibrated, c: 2ms, m: 1ms}
servers:
  triton:     {kind: triton}
  torchserve: {kind: torchserve, max_batch_size: 12}
calibration: {batch_sizes: [1, 4, 8, 12], precision: 20%, max_duration: 3s}
load: {rates: [50], duration: 1s, warmup: 0s, replications: 1}
checks: {speedup_tolerance: 100%, affine_tolerance: 50%, ceiling_tolerance: 100%}
"""
# What the kernel does to a process that it takes memory from; what torch says when it is refused memory; a crash.
KILLED = "os.kill(os.getpid(), 9)"
REFUSED = 'raise RuntimeError("DefaultCPUAllocator: can\'t allocate memory: you tried to allocate 9 bytes")'
ENDED = "os._exit(7)"


def above_8_rows(then: str) -> Callable[[bytes], bytes]:
    """Added to a model: so it goes with a batch of more than 8."""
    check = f"    import os\n    if len(pixels) > 8:\n        {then}\n    return fits(pixels)\n"

    def changed(source: bytes) -> bytes:
        code = source.decode().replace("def load(", "def load_what_fits(")
        wrapped = "".join(f"    {line}\n" for line in f"def predict(pixels):\n{check}return predict".splitlines())
        return f"{code}\n\ndef load(folder):\n    fits = load_what_fits(folder)\n\n{wrapped}".encode()

    return changed


def measured_up_to_8(desk: Desk, server: str) -> str:
    """Runs the scenario with that server alone; what it said, once all that it kept is looked at."""
    ended = desk.run("run", str(desk.folder / "scenario.yaml"), "--server", server)
    assert ended.code == 1, ended.out + ended.err
    run = desk.only_run("calibrated")
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    assert manifest["out_of_memory"] == {server: 12}
    assert pd.read_csv(run / "memory.csv")["batch_size"].tolist() == [1, 4, 8]
    samples = pd.read_csv(run / "calibration.csv")
    assert set(samples.loc[samples["layer"] == "compute", "batch_size"]) == {1, 4, 8}
    fit = pd.read_csv(run / "fit.csv").set_index("layer").loc["compute"]
    assert 0.0019 <= fit["c_s"] <= 0.0035
    assert 0.0009 <= fit["m_s"] <= 0.0013
    verdicts = pd.read_csv(run / "verdicts.csv").set_index("check")
    assert verdicts.loc["memory", "outcome"] == "fails"
    assert "set max_batch_size to 8 or less" in str(verdicts.loc["memory", "why"])
    assert verdicts.loc["load", "outcome"] == "not applicable"
    assert verdicts.loc["answers", "outcome"] == "holds"
    assert f"{server}, memory: " in ended.out
    return ended.out


def test_a_worker_killed_in_a_batch_of_12_is_told_and_smaller_ones_are_measured_on_triton(desk: Desk) -> None:
    built(desk, SIZES)
    (arm,) = (desk.folder / "triton_repo").glob("*/triton/calibrated_b12/1/served_model.py")
    arm.write_bytes(above_8_rows(KILLED)(arm.read_bytes()))
    told = measured_up_to_8(desk, "triton")
    assert (
        "note: triton: a batch of 12 did not fit into memory: worker killed, often for memory; it and larger ones are "
        "left out, smaller ones are measured on a server started anew\n"
    ) in told


def test_memory_that_torch_is_refused_is_told_and_smaller_batches_are_measured_on_torchserve(desk: Desk) -> None:
    built(desk, SIZES)
    replace_in_artifact(desk, "torchserve", "served_model.py", above_8_rows(REFUSED))
    told = measured_up_to_8(desk, "torchserve")
    assert (
        "note: torchserve: a batch of 12 did not fit into memory: out of resources; the held-out payloads were asked "
        "for 6 at a time, on a server started anew\n"
    ) in told


def test_a_worker_that_ends_by_itself_is_no_lack_of_memory(desk: Desk) -> None:
    built(desk, SIZES)
    replace_in_artifact(desk, "triton", "served_model.py", above_8_rows(ENDED))
    ended = desk.run("run", str(desk.folder / "scenario.yaml"), "--server", "triton")
    assert ended.code == 3, ended.out + ended.err
    assert "has died: what it serves is not what was measured" in ended.err
