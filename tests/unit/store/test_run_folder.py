"""The folder and file names, and the columns, are those that other people's scripts read."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from run_by_hand import EXPECTED, columns, manifest, point, samples, scenario, whole_run

from bench.analysis.load import Counted, Generator, Offered
from bench.analysis.run import analyse
from bench.errors import ScenarioError
from bench.measure.rows import point_rows
from bench.store.run_folder import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder.create(tmp_path, "by-hand")
    made.write_manifest(manifest(scenario()))
    return made


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    made = RunFolder.create(tmp_path, "by-hand")
    whole_run(made, scenario())
    made.write_tables(analyse(made.read()))
    return made


# ---- names and columns


def test_a_run_lies_in_a_folder_of_its_own_below_the_name_of_its_scenario(tmp_path: Path) -> None:
    first, second = (RunFolder.create(tmp_path / "out", "by-hand").path for _ in range(2))
    assert first != second
    assert first.parent == tmp_path / "out" / "by-hand"
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{6}", first.name)


def test_a_run_consists_of_the_promised_files(run: RunFolder) -> None:
    files = {str(path.relative_to(run.path)) for path in run.path.rglob("*") if path.is_file()}
    assert files == {
        "manifest.json", "calibration.csv", "fit.csv", "speedup.csv", "load.csv", "verdicts.csv", "capacity.csv",
        "response.csv", "search.csv", "budget.csv",
        *(
            f"samples/{server}/{name}.parquet"
            for server in ("triton", "torchserve")
            for name in ("answers", "rate=100-replication=1", "rate=100-replication=2")
        ),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("calibration", "server, layer, batch_size, repeat, time_s, block, visit, start"),
        (
            "fit",
            (
                "server, layer, c_s, c_lo_s, c_hi_s, m_s, m_lo_s, m_hi_s, ceiling, ceiling_lo, ceiling_hi, shape, "
                "lack_of_fit_p, max_residual, samples, holds_from, knee_lo, knee_hi, c_median_s, m_median_s, "
                "unbounded, extrapolation, largest_batch"
            ),
        ),
        (
            "speedup",
            "server, batch_size, measured, measured_lo, measured_hi, predicted, relative_error, holds, layer, outcome",
        ),
        (
            "load",
            (
                "server, rate_per_s, replication, scheduled, sent, completed, errors, shed, throughput_per_s, "
                "goodput_per_s, response_mean_s, response_p50_s, response_p90_s, response_p95_s, response_p99_s, "
                "response_p999_s, response_max_s, round_trip_mean_s, round_trip_p50_s, round_trip_p99_s, "
                "dispatch_delay_p50_s, dispatch_delay_p99_s, dispatch_delay_max_s, mean_batch_size, queue_wait_mean_s, "
                "compute_mean_s, network_mean_s, valid, reason, "
                "saturated, growth_s_per_s, growth_lo_s_per_s, growth_hi_s_per_s, "
                "generator_cpu_s_per_request, generator_cores, "
                "offered_rate_per_s, offered_cv_of_gaps, offered_index_of_dispersion, refused, overload"
            ),
        ),
        (
            "response",
            ("server, rate_per_s, percentile, value_s, lo_s, hi_s, requests, effective_samples, method, reason"),
        ),
        (
            "budget",
            (
                "server, rate_per_s, of, requests, response_s, dispatch_delay_s, queue_wait_s, compute_s, handover_s, "
                "network_s, unexplained_s, mean_batch_size, expected_batch_size, source, batches"
            ),
        ),
        ("verdicts", "check, server, subject, expected, measured, tolerance, outcome, why"),
    ],
)
def test_a_table_has_the_promised_columns_in_their_order(run: RunFolder, name: str, expected: str) -> None:
    assert columns(pd.read_csv(run.path / f"{name}.csv")) == expected


def test_the_samples_of_a_point_have_the_promised_columns(run: RunFolder) -> None:
    frame = pd.read_parquet(run.path / "samples/triton/rate=100-replication=1.parquet")
    promised = "scheduled_s, sent_s, completed_s, status, batch_size, queue_wait_s, compute_s"
    assert columns(frame) == f"{promised}, cause, execution_started_s"
    assert len(frame) == 500


def test_the_manifest_says_its_format_version(run: RunFolder) -> None:
    document = json.loads((run.path / "manifest.json").read_text())
    assert document["format_version"] == 1
    assert document["scenario"]["name"] == "by-hand"


def test_the_tables_hold_a_row_for_each_figure(run: RunFolder) -> None:
    rows = {name: pd.read_csv(run.path / f"{name}.csv") for name in ("fit", "speedup", "load", "verdicts")}
    assert list(zip(rows["fit"]["server"], rows["fit"]["layer"], strict=True)) == [
        ("triton", "compute"),
        ("torchserve", "compute"),
    ]
    assert rows["fit"]["c_s"].tolist() == pytest.approx([0.006, 0.006], rel=2e-3)
    assert rows["speedup"]["batch_size"].tolist() == [2, 5, 10, 2, 5, 10]
    assert rows["speedup"]["measured"].tolist()[:3] == pytest.approx([1.5, 2.142857, 2.5], rel=1e-5)
    assert rows["load"]["replication"].tolist() == [1, 2, 1, 2]
    # 400 requests in the window of 4 s, of which one failed.
    assert rows["load"]["scheduled"].tolist() == [400] * 4
    assert rows["load"]["errors"].tolist() == [1] * 4
    assert set(rows["verdicts"]["outcome"]) <= {"holds", "fails", "invalid", "not applicable"}


# ---- round trips


def test_points_are_read_back_as_they_were_written(folder: RunFolder) -> None:
    written = point(counted=Counted(500, 2.5, 6.0, 250))
    folder.write_point(written)
    (found,) = folder.read().points
    assert (found.server, found.rate_per_s, found.replication) == ("triton", 100.0, 1)
    assert (found.warmup_s, found.duration_s) == (1.0, 4.0)
    assert found.counted == Counted(500, 2.5, 6.0, 250)
    for name in ("scheduled_s", "sent_s", "completed_s", "compute_s"):
        np.testing.assert_array_equal(found.rows[name], written.rows[name])
    assert found.rows["status"].tolist() == [200] * 499 + [0]
    assert found.rows["cause"].tolist() == [""] * 499 + ["timeout"]
    assert found.rows["batch_size"].notna().tolist() == [True] * 499 + [False]
    assert found.rows["batch_size"].tolist()[:499] == [2] * 499
    assert found.rows["queue_wait_s"].isna().all()


def test_a_traced_point_is_kept_apart_from_those_that_were_not(folder: RunFolder) -> None:
    made = point()
    folder.write_point(made)
    folder.write_point(replace(made, rows=made.rows.assign(server_s=0.019, handover_s=0.001)), traced=True)
    assert (folder.path / "samples/triton/traced-rate=100.parquet").exists()
    found = folder.read()
    assert [len(points) for points in (found.points, found.traced)] == [1, 1]
    assert "server_s" not in found.points[0].rows
    assert found.traced[0].rows["server_s"].tolist() == [0.019] * 500
    assert (found.traced[0].rate_per_s, found.traced[0].server) == (100.0, "triton")


def test_the_start_of_an_execution_is_kept_where_it_is_told(folder: RunFolder) -> None:
    times = {name: np.arange(3, dtype=np.int64) for name in ("scheduled", "sent", "completed")}
    status, sizes, compute = np.full(3, 200, np.int16), np.ones(3, np.int32), np.full(3, -1, np.int64)
    causes = np.full(3, "", dtype="<U1")
    told = point_rows(times, status, sizes, compute, causes, np.array([5, -1, 7], dtype=np.int64))
    assert told["execution_started_s"].tolist() == pytest.approx([5e-9, math.nan, 7e-9], nan_ok=True)
    untold = point_rows(times, status, sizes, compute, causes)
    assert untold[["queue_wait_s", "compute_s", "execution_started_s"]].isna().all().all()


def test_what_a_server_does_not_count_is_read_back_as_none(folder: RunFolder) -> None:
    folder.write_point(point(replication=1, counted=Counted(500, 2.5, None, None)))
    folder.write_point(point(replication=2))
    first, second = folder.read().points
    assert first.counted == Counted(500, 2.5, None, None)
    assert second.counted is None


def test_points_come_in_the_order_of_their_rates_and_replications(folder: RunFolder) -> None:
    for server, rate, replication in [
        ("torchserve", 50.0, 1), ("triton", 200.0, 1), ("triton", 1000.0, 1), ("triton", 50.0, 10),
        ("triton", 50.0, 2), ("triton", 50.5, 1),
    ]:  # fmt: skip
        folder.write_point(point(server, rate, replication))
    found = [(p.server, p.rate_per_s, p.replication) for p in folder.read().points]
    assert found == [
        ("triton", 50.0, 2), ("triton", 50.0, 10), ("triton", 50.5, 1), ("triton", 200.0, 1), ("triton", 1000.0, 1),
        ("torchserve", 50.0, 1),
    ]  # fmt: skip


def test_two_rates_that_are_alike_in_six_digits_keep_a_file_each(folder: RunFolder) -> None:
    folder.write_point(point(rate_per_s=100.0001))
    folder.write_point(point(rate_per_s=100.0002))
    assert [p.rate_per_s for p in folder.read().points] == [100.0001, 100.0002]


def test_answers_are_read_back_as_they_were_written(folder: RunFolder) -> None:
    expected = np.arange(33, dtype=np.float32).reshape(3, 11)  # output_10 must come after output_9
    served = expected.copy()
    served[1, 10] = math.nan
    labels = np.array([4, 5, 6])
    folder.write_answers("triton", served, expected, labels)
    folder.write_answers("torchserve", expected, expected, labels)
    found = folder.read().answers
    assert found is not None
    assert list(found.served) == ["triton", "torchserve"]
    np.testing.assert_array_equal(found.served["triton"], served)
    np.testing.assert_array_equal(found.expected, expected)
    assert found.expected.dtype == np.float32
    assert found.labels is not None
    assert found.labels.tolist() == [4, 5, 6]


def test_answers_without_labels_are_read_back_without(folder: RunFolder) -> None:
    folder.write_answers("torchserve", EXPECTED, EXPECTED, None)
    found = folder.read().answers
    assert found is not None
    assert list(found.served) == ["torchserve"]
    assert found.labels is None


def test_a_calibration_of_before_visits_were_numbered_has_one_in_each_block(folder: RunFolder) -> None:
    lines = "server,layer,batch_size,repeat,time_s,block\ntriton,compute,4,1,0.012,0\ntriton,compute,4,2,0.013,0\n"
    (folder.path / "calibration.csv").write_text(lines)
    found = folder.read().samples
    assert found["visit"].tolist() == [0, 0]
    assert found["time_s"].tolist() == [0.012, 0.013]


def test_calibration_grows_below_one_header_and_is_read_back(folder: RunFolder) -> None:
    folder.append_calibration("triton", samples(blocks=1))
    folder.append_calibration("torchserve", samples(blocks=2))
    lines = (folder.path / "calibration.csv").read_text().splitlines()
    assert lines[0] == "server,layer,batch_size,repeat,time_s,block,visit,start"
    assert len(lines) == 1 + 10 + 20
    found = folder.read().samples
    assert found["server"].value_counts().to_dict() == {"torchserve": 20, "triton": 10}
    assert found["time_s"].tolist()[:2] == pytest.approx([0.009009, 0.009009])
    assert found["block"].tolist()[-1] == 1
    assert found["start"].tolist() == [0] * 30


def test_the_starts_of_a_calibration_are_read_back_and_a_file_of_before_has_one(folder: RunFolder) -> None:
    folder.append_calibration("triton", [sample | {"start": 2} for sample in samples(blocks=1)])
    assert folder.read().samples["start"].tolist() == [2] * 10
    file = folder.path / "calibration.csv"
    file.write_text("".join(line.rpartition(",")[0] + "\n" for line in file.read_text().splitlines()))
    assert folder.read().samples["start"].tolist() == [0] * 10


def test_memory_and_what_ran_out_of_it_are_read_back(folder: RunFolder) -> None:
    row = {"server": "triton", "batch_size": 4, "start": 0, "block": 12, "rss_peak_bytes": 250_000_000,
           "gpu_bytes": None, "limit_bytes": 8_000_000_000, "load_peak_bytes": 240_000_000}  # fmt: skip
    folder.append("memory", [row])
    folder.append("out_of_memory", [{"server": "triton", "batch_size": 8, "during": "answers", "cause": "killed"}])
    raw = folder.read()
    (memory,) = raw.table("memory", "triton").to_dict("records")
    assert (memory["rss_peak_bytes"], memory["batch_size"]) == (250_000_000, 4)
    assert math.isnan(memory["gpu_bytes"])
    assert raw.ran_out_at("triton") == 8
    assert raw.ran_out_at("torchserve") is None
    assert raw.table("out_of_memory", "triton")["cause"].tolist() == ["killed"]


def test_a_calibration_interrupted_before_its_first_sample_is_read_as_empty(folder: RunFolder) -> None:
    folder.append_calibration("triton", [])
    raw = folder.read()
    assert raw.samples.empty
    verdicts = analyse(raw).verdicts
    assert {(v.check, v.measured, v.outcome) for v in verdicts} == {
        ("calibration", "nothing", "invalid"),
        ("load", "nothing", "invalid"),
    }
    assert len(verdicts) == 4
    folder.append_calibration("torchserve", samples(blocks=1))
    assert len(folder.read().samples) == 10


def test_the_scenario_and_the_unproven_batches_are_read_from_the_manifest(folder: RunFolder) -> None:
    folder.write_manifest(manifest(scenario()) | {"unproven_batches": {"triton": 7}})
    raw = folder.read()
    assert raw.scenario == scenario()
    assert raw.unproven == {"triton": 7}


def test_a_manifest_is_replaced_whole_and_leaves_nothing_beside_it(folder: RunFolder) -> None:
    folder.write_manifest(manifest(scenario()) | {"status": "complete"})
    assert folder.manifest()["status"] == "complete"
    assert [path.name for path in folder.path.iterdir()] == ["manifest.json"]


def test_a_servers_json_lies_in_the_servers_own_folder(folder: RunFolder) -> None:
    folder.write_server_json("triton", "read_back.json", [{"name": "device", "asked": {"cpu"}}])
    text = (folder.path / "servers/triton/read_back.json").read_text()
    assert json.loads(text) == [{"name": "device", "asked": "{'cpu'}"}]


def test_tables_made_anew_are_the_same_and_leave_the_raw_files_alone(run: RunFolder) -> None:
    raw = [run.path / "calibration.csv", *run.path.glob("samples/*/*.parquet")]
    tables = [run.path / f"{name}.csv" for name in ("fit", "speedup", "load", "verdicts")]
    before = {path: path.read_bytes() for path in raw + tables}
    again = RunFolder(run.path)
    again.write_tables(analyse(again.read()))
    assert {path: path.read_bytes() for path in raw + tables} == before


def test_rows_of_a_point_are_in_seconds_and_null_where_nothing_was_told() -> None:
    frame = point_rows(
        {
            "scheduled": np.array([0, 1_500_000_000], dtype=np.int64),
            "sent": np.array([1_000, -1], dtype=np.int64),
            "completed": np.array([20_000_000, -1], dtype=np.int64),
        },
        np.array([200, -1], dtype=np.int16),
        np.array([16, 0], dtype=np.int32),
        np.array([12_000_000, -1], dtype=np.int64),
        np.array(["", "shed"]),
    )
    assert frame["scheduled_s"].tolist() == [0.0, 1.5]
    assert frame["sent_s"].tolist()[0] == pytest.approx(1e-6)
    assert frame["compute_s"].tolist()[0] == pytest.approx(0.012)
    assert frame.loc[1, ["sent_s", "completed_s", "batch_size", "queue_wait_s", "compute_s"]].isna().all()
    assert frame["batch_size"].tolist()[0] == 16
    assert frame["cause"].tolist() == ["", "shed"]


# ---- half a run


def test_a_run_that_has_just_begun_says_only_what_is_missing(folder: RunFolder) -> None:
    raw = folder.read()
    assert raw.samples.empty
    assert raw.points == ()
    assert raw.answers is None
    folder.write_tables(analyse(raw))
    assert len(pd.read_csv(folder.path / "fit.csv")) == 0
    verdicts = pd.read_csv(folder.path / "verdicts.csv")
    assert verdicts["check"].tolist() == ["calibration", "calibration", "load", "load"]
    assert set(verdicts["measured"]) == {"nothing"}
    assert set(verdicts["outcome"]) == {"invalid"}


def test_a_run_without_a_load_point_still_has_the_columns_of_load_csv(folder: RunFolder) -> None:
    folder.write_tables(analyse(folder.read()))
    assert columns(pd.read_csv(folder.path / "load.csv")).startswith("server, rate_per_s, replication")


def test_a_run_interrupted_in_its_second_server_keeps_the_first(folder: RunFolder) -> None:
    folder.append_calibration("triton", samples())
    folder.write_point(point())
    raw = folder.read()
    assert set(raw.samples["server"]) == {"triton"}
    assert [p.server for p in raw.points] == ["triton"]
    analysis = analyse(raw)
    folder.write_tables(analysis)
    verdicts = pd.read_csv(folder.path / "verdicts.csv")
    of_second = verdicts[verdicts["server"] == "torchserve"]
    assert of_second["check"].tolist() == ["calibration", "load"]
    assert set(of_second["measured"]) == {"nothing"}
    assert "speedup" in set(verdicts.loc[verdicts["server"] == "triton", "check"])


@pytest.mark.parametrize("cut", [2, 5, 9, 12, 20, 30])
def test_a_calibration_cut_off_in_its_last_line_can_still_be_read(folder: RunFolder, cut: int) -> None:
    folder.append_calibration("triton", samples())
    file = folder.path / "calibration.csv"
    whole = file.read_bytes()
    last = whole.rstrip(b"\n").splitlines()[-1]
    file.write_bytes(whole[: len(whole) - len(last) - 1 + cut])
    fits = analyse(folder.read()).fits["triton"]
    assert fits["compute"].c_s == pytest.approx(0.006, rel=2e-3)


@pytest.mark.parametrize("name", ["rate=100-replication=1", "answers"])
def test_samples_cut_off_by_a_full_disk_do_not_hide_what_else_was_measured(folder: RunFolder, name: str) -> None:
    whole_run(folder, scenario())
    file = folder.path / f"samples/triton/{name}.parquet"
    file.write_bytes(file.read_bytes()[:200])
    assert len(folder.read().points) in (3, 4)


def test_a_half_written_manifest_does_not_replace_a_whole_one(folder: RunFolder) -> None:
    (folder.path / "manifest.json.new").write_text('{"format_version": 1, "scen')
    assert folder.read().scenario == scenario()


# ---- what is no run


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"scenario": {}}', "\x00"])
def test_a_folder_whose_manifest_is_none_is_no_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ScenarioError, match=r"is no run: manifest\.json cannot be read"):
        RunFolder(tmp_path).read()


def test_a_folder_without_a_manifest_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        RunFolder(tmp_path).manifest()
    assert str(tmp_path) in caught.value.message
    with pytest.raises(ScenarioError, match="is no run"):
        RunFolder(tmp_path / "nowhere").manifest()


def test_a_manifest_that_is_not_text_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="is no run"):
        RunFolder(tmp_path).manifest()


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_a_run_of_another_format_is_refused_with_both_versions(folder: RunFolder, version: object) -> None:
    file = folder.path / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format_version": version}))
    with pytest.raises(ScenarioError) as caught:
        folder.read()
    assert caught.value.message == f"{file}: expected format version 1, found {version}"


@pytest.mark.parametrize("text", ['{"format_version": 1}', '{"format_version": 1, "scenario": {"name": "x"}}'])
def test_a_manifest_without_a_whole_scenario_is_no_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ScenarioError):
        RunFolder(tmp_path).read()


@pytest.mark.parametrize("place", ["a file", "below a file"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "taken").write_text("")
    out = tmp_path / "taken" if place == "a file" else tmp_path / "taken" / "results"
    with pytest.raises(ScenarioError) as caught:
        RunFolder.create(out, "by-hand")
    assert str(out) in caught.value.message
    assert "Choose a folder with --out" in caught.value.message


@pytest.mark.parametrize("place", ["a file", "below a file"])
def test_a_place_that_cannot_be_written_is_told_before_anything_is_made(tmp_path: Path, place: str) -> None:
    (tmp_path / "taken").write_text("")
    out = tmp_path / "taken" if place == "a file" else tmp_path / "taken" / "results"
    with pytest.raises(ScenarioError) as caught:
        RunFolder.check(out)
    assert caught.value.message.startswith(f"results cannot be written to {out}: ")
    assert caught.value.message.endswith(". Choose a folder with --out")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_place_that_can_be_written_is_left_empty_by_the_check(tmp_path: Path) -> None:
    RunFolder.check(tmp_path / "new" / "results")
    assert list((tmp_path / "new" / "results").iterdir()) == []


def test_a_number_of_the_calibration_that_is_none_is_told_with_the_run(folder: RunFolder) -> None:
    folder.append_calibration("triton", samples())
    file = folder.path / "calibration.csv"
    lines = file.read_text().splitlines()
    lines[5] = "triton,compute,2,1,soon,0"
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(ScenarioError) as caught:
        folder.read()
    assert caught.value.message.startswith(f"{folder.path} cannot be read as a run: ")
    assert "soon" in caught.value.message
    assert "\n" not in caught.value.message


def test_a_calibration_without_even_a_header_is_told_with_the_run(folder: RunFolder) -> None:
    (folder.path / "calibration.csv").write_text("")
    with pytest.raises(ScenarioError) as caught:
        folder.read()
    assert caught.value.message.startswith(f"{folder.path} cannot be read as a run: ")


def test_unproven_batches_that_are_none_are_told_with_the_run(folder: RunFolder) -> None:
    folder.write_manifest(manifest(scenario()) | {"unproven_batches": None})
    with pytest.raises(ScenarioError) as caught:
        folder.read()
    assert str(folder.path) in caught.value.message


# ---- names that look like something else


@pytest.mark.parametrize("name", ["1", "007", "NA", "null", "nan", "1e3", "True"])
def test_a_server_is_found_again_whatever_its_name_looks_like(tmp_path: Path, name: str) -> None:
    made = RunFolder.create(tmp_path, "by-hand")
    whole_run(made, scenario(name))
    raw = made.read()
    assert set(raw.samples["server"]) == {name}
    assert [row.server for row in analyse(raw).speedups] == [name] * 3


def test_a_parquet_file_tells_its_own_settings(folder: RunFolder) -> None:
    made = point(counted=Counted(500, 2.5, 6.0, 250, 9.0, 500, 6.5))
    folder.write_point(replace(made, generator=Generator(0.2, 5.0, 2), offered=Offered(99.5, 1.0, 1.1)))
    metadata = pq.read_schema(folder.path / "samples/triton/rate=100-replication=1.parquet").metadata
    assert json.loads(metadata[b"serve-bench point"]) == {
        "rate_per_s": 100.0, "replication": 1, "warmup_s": 1.0, "duration_s": 4.0,
        "counted": {"requests": 500, "queue_s": 2.5, "compute_s": 6.0, "executions": 250, "total_s": 9.0,
                    "held_requests": 500, "held_s": 6.5},
        "generator": {"cpu_s": 0.2, "wall_s": 5.0, "workers": 2},
        "offered": {"rate_per_s": 99.5, "cv_of_gaps": 1.0, "index_of_dispersion": 1.1},
    }  # fmt: skip
