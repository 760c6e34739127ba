"""Whatever is in the file, the answer is a scenario or its problems."""

from __future__ import annotations

import tempfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from bench.errors import ScenarioError
from bench.scenario.arrivals_form import KINDS
from bench.scenario.load import json_schema, load_scenario
from bench.scenario.spec import Scenario

SCHEMA: dict[str, Any] = json_schema()
KEYS = sorted({key for form in [SCHEMA, *SCHEMA["$defs"].values()] for key in form["properties"]})
KEYS += ["onnx", "triton", "torchserve", "http", "metrics", "inference", "[key]", "<<", "a.b"]
WORDS = [
    "triton",
    "torchserve",
    "digits-cnn",
    "resnet18",
    "calibrated",
    "poisson",
    "fixed",
    "process",
    "cpu",
    "5ms",
    "2%",
    "-1s",
    "5.5ms",
]
MARKS = [
    *":-[]{},&*!?|>'\"#%@`~=\t\r\n 01",
    "\n  ",
    "\n    ",
    ": ",
    "- ",
    "---",
    "...",
    "&a ",
    "*a",
    "!!set ",
    "!!int ",
]
ODD = [".nan", "1e400", "9" * 50, "2020-13-45", "\u2028", "\x00", "\x1b"]
FRAGMENTS = [*KEYS, *WORDS, *MARKS, *ODD]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(0, 20),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), max_size=8),
)
structures = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=30,
)
servers = st.dictionaries(
    st.sampled_from(["triton", "a.b", "not a name"]),
    structures | st.dictionaries(st.sampled_from(KEYS), structures, max_size=6),
)
scenarios = st.fixed_dictionaries(
    {},
    optional={
        "name": scalars,
        "model": structures,
        "servers": servers | structures,
        "calibration": structures,
        "load": structures,
        "slo": structures,
        "checks": structures,
    },
)
sizes = st.integers(0, 40) | st.sampled_from([1, 2, 3, 16])
nearly_right = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a", "b.c", "-d"]),
        "model": st.sampled_from(
            [{"zoo": "digits-cnn"}, {"zoo": "resnet18"}, {"calibrated": {"c": 0, "m": "1ms"}}, {"zoo": "x"}]
        ),
        "servers": st.dictionaries(
            st.sampled_from(["triton", "a.b"]),
            st.fixed_dictionaries(
                {"kind": st.sampled_from(["triton", "torchserve"])},
                optional={
                    "max_batch_size": sizes,
                    "max_queue_delay": st.sampled_from(["5ms", "60ms", "0.5ms", 0]),
                    "ports": st.dictionaries(st.sampled_from(["metrics", "http"]), st.integers(1, 3)),
                },
            ),
            min_size=1,
        ),
    },
    optional={
        "calibration": st.fixed_dictionaries({}, optional={"batch_sizes": st.lists(sizes), "precision": scalars}),
        "slo": st.fixed_dictionaries({}, optional={"response_time": st.sampled_from(["20ms", "1s"])}),
        "load": st.fixed_dictionaries(
            {},
            optional={
                "rates": st.lists(sizes),
                "duration": scalars,
                "arrivals": structures | st.dictionaries(st.sampled_from(KINDS), structures, max_size=2),
            },
        ),
    },
)
sets = st.lists(
    st.builds(
        "{}={}".format,
        st.lists(st.sampled_from([*KEYS, "0", "1", ""]), max_size=4).map(".".join),
        st.sampled_from([*FRAGMENTS, "{kind: triton}", "[1, 2]"]),
    )
    | st.text(max_size=10),
    max_size=3,
)


def outcome(data: bytes, overrides: list[str], names: list[str]) -> Scenario | ScenarioError:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.yaml"
        path.write_bytes(data)
        try:
            return load_scenario(path, overrides, names)
        except ScenarioError as error:
            return error


def check(result: Scenario | ScenarioError) -> None:
    if isinstance(result, Scenario):
        assert 1 in result.calibration.batch_sizes
        assert max(result.calibration.batch_sizes) <= min(s.max_batch_size for s in result.servers)
        return
    assert result.problems
    assert [p.line for p in result.problems] == sorted(p.line for p in result.problems)
    for problem in result.problems:
        text = problem.text("scenario.yaml")
        assert "\n" not in text
        assert "\x1b" not in text
        assert problem.expected
        assert problem.found


def yaml_of(structure: object) -> bytes:
    text = StringIO()
    YAML(typ="safe", pure=True).dump(structure, text)
    return text.getvalue().encode("utf-8", "surrogatepass")


@settings(max_examples=300, deadline=None)
@given(
    structure=nearly_right | scenarios | structures,
    overrides=sets,
    names=st.lists(st.sampled_from(KEYS), max_size=1),
)
def test_any_structure_is_a_scenario_or_its_problems(structure: object, overrides: list[str], names: list[str]) -> None:
    check(outcome(yaml_of(structure), overrides, names))


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=200) | st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join).map(str.encode))
@example(data=b"a: 9999-99-99")
@example(data=b"a: !!float x")
@example(data=b"%YAML 1.1\n---\na: 1:30\nb: =\nc: 0b2\n")
def test_any_bytes_are_a_scenario_or_its_problems(data: bytes) -> None:
    check(outcome(data, [], []))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 5000,
        "- " * 5000,
        "? " * 5000,
        "a: " + "[" * 5000 + "]" * 5000,
        "a: &a [*a]\n",
        "a: &a {b: *a}\n",
        "a: &a\n  <<: *a\n",
        "a: &a\n  <<: [*a, *a]\n",
        "a: " + "5" * 200_000,
        "a: 0x" + "f" * 5000,
        "seed: 5" + " " * 200_000 + "x",
        "x" * 100_000 + ": 1\n",
        "servers: {t: {kind: triton, max_queue_delay: '5" + " " * 100_000 + "x'}}",
    ],
    ids=lambda text: text[:12],
)
def test_files_made_to_exhaust_the_reader_are_refused_in_good_time(text: str) -> None:
    check(outcome(text.encode(), [], []))
