"""The figures are the worked numbers of the two lessons."""

from __future__ import annotations

import json

import pytest

from bench.report.law import law_table, law_values

LESSONS = [
    {
        "c_s": 0.006, "m_s": 0.003, "B": 10, "t_serial_s": 0.090, "t_batch_s": 0.036, "S": 2.5, "ceiling": 3.0,
        "throughput_per_s": 277.7778,
    },
    {
        "c_s": 0.009, "m_s": 0.001, "B": 8, "t_serial_s": 0.080, "t_batch_s": 0.017, "S": 4.70588, "ceiling": 10.0,
        "regime": "overhead-bound",
    },
    {
        "c_s": 0.001, "m_s": 0.040, "B": 8, "t_serial_s": 0.328, "t_batch_s": 0.321, "S": 1.021807, "ceiling": 1.025,
        "regime": "compute-bound",
    },
]  # fmt: skip


@pytest.mark.parametrize("lesson", LESSONS, ids=["balanced", "overhead-bound", "compute-bound"])
def test_the_lessons_speedups_are_given_under_their_own_names(lesson: dict[str, float | str]) -> None:
    values = law_values(lesson["c_s"], lesson["m_s"], lesson["B"], None, None)  # type: ignore[arg-type]
    assert set(values) == {
        "c_s", "m_s", "B", "t_serial_s", "t_batch_s", "S", "ceiling", "throughput_per_s", "regime", "sentence",
    }  # fmt: skip
    for name, expected in lesson.items():
        assert values[name] == (expected if isinstance(expected, str) else pytest.approx(expected, rel=1e-5)), name


def test_a_delay_of_5_ms_gathers_2_of_400_requests_a_second() -> None:
    assert law_values(None, None, None, 400.0, 0.005) == {
        "rate_per_s": 400.0,
        "d_s": 0.005,
        "expected_B": pytest.approx(2),
    }


def test_400_requests_a_second_fill_a_batch_of_16_in_40_ms() -> None:
    assert law_values(None, None, 16, 400.0, None) == {
        "B": 16,
        "rate_per_s": 400.0,
        "required_d_s": pytest.approx(0.040),
    }


def test_without_a_batch_size_only_the_ceiling_and_the_regime_are_known() -> None:
    assert law_values(0.006, 0.003, None, None, None) == {
        "c_s": 0.006,
        "m_s": 0.003,
        "ceiling": pytest.approx(3.0),
        "regime": "balanced",
    }


def test_an_unbounded_ceiling_is_null_in_json() -> None:
    values = law_values(0.006, 0.0, 10, None, None)
    assert values["ceiling"] is None
    assert values["S"] == pytest.approx(10.0)
    assert json.loads(json.dumps(values, allow_nan=False))["ceiling"] is None


def test_everything_at_once_is_the_sum_of_its_parts() -> None:
    values = law_values(0.006, 0.003, 10, 400.0, 0.005)
    assert (values["S"], values["expected_B"], values["required_d_s"]) == (
        pytest.approx(2.5),
        pytest.approx(2.0),
        pytest.approx(0.025),
    )


def test_a_batch_that_would_take_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="both 0"):
        law_values(0.0, 0.0, 10, None, None)


def test_the_table_has_a_line_for_each_figure_and_ends_in_a_sentence() -> None:
    assert law_table(law_values(0.006, 0.003, 10, None, None)).splitlines() == [
        "B requests one at a time  B(c+m)      90.0 ms",
        "one batch of B            c+Bm        36.0 ms",
        "speedup                   S(B)        2.5",
        "ceiling                   1+c/m       3",
        "throughput, 1 instance    B/(c+Bm)    277.8 /s",
        "regime                                balanced",
        (
            "batching can make this up to 3 times faster: balanced; the largest batch of 10 already reaches 83 % of"
            " that."
        ),
    ]


def test_the_table_of_a_delay_window_has_its_two_lines() -> None:
    assert law_table(law_values(None, None, 16, 400.0, 0.005)).splitlines() == [
        "arrivals in the delay     λd          2",
        "delay that fills a batch  B/λ         40.0 ms",
    ]


def test_a_ceiling_that_is_none_reads_unbounded() -> None:
    lines = law_table(law_values(0.006, 0.0, 10, None, None)).splitlines()
    assert "ceiling                   1+c/m       unbounded" in lines
