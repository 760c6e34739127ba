"""What is wrong with a file: every problem at once, with the line, the field and what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.errors import Problem, ScenarioError
from bench.scenario.load import load_scenario

Problems = Callable[..., list[Problem]]


@dataclass(frozen=True)
class Broken:
    why: str
    text: str
    expected: list[tuple[int, str, str]]  # line, field, part of the text


HEAD = "name: broken\nmodel: {zoo: digits-cnn}\n"  # lines 1 and 2
TRITON = HEAD + "servers:\n  t: {kind: triton}\n"  # lines 3 and 4
TORCHSERVE = HEAD + "servers:\n  s: {kind: torchserve}\n"


def triton(settings: str) -> str:
    return HEAD + f"servers:\n  t: {{kind: triton, {settings}}}\n"


def torchserve(settings: str) -> str:
    return HEAD + f"servers:\n  s: {{kind: torchserve, {settings}}}\n"


def model(spelling: str) -> str:
    return TRITON.replace("{zoo: digits-cnn}", spelling)


YAML_PROBLEMS = [
    Broken("empty file", "", [(1, "", "expected a mapping with keys from name, model, servers")]),
    Broken("only a comment", "# nothing\n", [(1, "", "found nothing")]),
    Broken("a list", "- name\n- model\n", [(1, "", "found a list")]),
    Broken("a word", "hello\n", [(1, "", "found 'hello'")]),
    Broken("tab", "name: x\nservers:\n\tt: {kind: triton}\n", [(3, "", "indent with spaces, not tabs")]),
    Broken("open bracket", "name: x\nload: {rates: [1, 2\n", [(2, "", "expected ',' or ']'")]),
    Broken("open quote", "name: 'x\n\n\n", [(1, "", "quoted scalar from line 1")]),
    Broken("two colons", "name: x: y\n", [(1, "", "mapping values are not allowed here")]),
    Broken("control character", "name: x\nseed: \x07\n", [(2, "", r"found character '\x07'")]),
    Broken("two documents", "name: x\n---\nname: y\n", [(2, "", "remove the second '---'")]),
    Broken("undefined alias", "name: *x\n", [(1, "", "undefined alias 'x'")]),
    Broken("impossible date", TRITON + "seed: 9999-99-99\n", [(5, "seed", "found '9999-99-99'")]),
    Broken(
        "keys given twice",
        TRITON + "name: again\nload: {duration: 1s, duration: 2s}\n",
        [
            (5, "name", "each key once, found it again (first on line 1)"),
            (6, "load.duration", "each key once, found it again (first on line 6)"),
        ],
    ),
    Broken(
        "python tags run nothing",
        TRITON.replace("name: broken", "name: !!python/object/apply:os.system ['exit 1']"),
        [(1, "name", "a value without a tag, found the tag !!python/object/apply:os.system")],
    ),
    Broken("own tag", TRITON + "seed: !number 5\n", [(5, "seed", "found the tag !number")]),
    Broken("key that is a list", TRITON + "? [a, b]\n: 1\n", [(5, "", "a word as the key")]),
    Broken(
        "aliases that multiply",
        "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
        "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n",
        [(1, "", "at most 10000 values")],
    ),
    Broken("an alias within itself", "name: &n [*n]\n", [(1, "", "at most 32 levels")]),
    Broken("merging itself", "load: &l\n  <<: *l\n", [(1, "", "at most 32 levels")]),
    Broken("merging a number", TRITON + "load:\n  <<: 5\n", [(6, "load.<<", "a mapping to merge")]),
    Broken("nesting", "name: " + "[" * 40 + "]" * 40, [(1, "", "at most 32 levels")]),
]

KEY_PROBLEMS = [
    Broken(
        "nothing that is required",
        "seed: 1\n",
        [
            (1, "name", "found nothing (add 'name')"),
            (1, "model", "{zoo: calibrated, c: 4ms, m: 2ms}, found nothing"),
            (1, "servers", "found nothing (add 'servers')"),
        ],
    ),
    Broken("misspelt section", TRITON + "calibraton: {}\n", [(5, "calibraton", "did you mean 'calibration'?")]),
    Broken(
        "misspelt key of a server",
        triton("max_batchsize: 8"),
        [(4, "servers.t.max_batchsize", "did you mean 'max_batch_size'?")],
    ),
    Broken(
        "unlike any key",
        TRITON + "slo:\n  zzz: 1\n",
        [(6, "slo.zzz", "known here: percentile, response_time")],
    ),
    Broken("null section", TRITON + "load:\n", [(5, "load", "a mapping with keys from arrivals, rates")]),
    Broken(
        "null value",
        TRITON + "load:\n  duration:\n",
        [(6, "load.duration", "leave the key out for its default")],
    ),
    Broken(
        "nulls where there is no default",
        HEAD + "servers:\n  t: {kind: ~, ports: {http: ~}}\nload: {rates: [~]}\n",
        [
            (4, "servers.t.kind", "found nothing (write a value)"),
            (4, "servers.t.ports.http", "found nothing (write a value)"),
            (5, "load.rates.0", "found nothing (write a value)"),
        ],
    ),
    Broken("section as a list", TRITON + "checks: [1]\n", [(5, "checks", "found a list")]),
    Broken("number as a name", TRITON.replace("broken", "2024"), [(1, "name", "found 2024 (quote it")]),
    Broken("path as a name", TRITON.replace("broken", "../x"), [(1, "name", "found '../x' (it names a folder)")]),
    Broken("long name", TRITON.replace("broken", "n" * 65), [(1, "name", "at most 64 letters")]),
    Broken(
        "server names",
        HEAD + "servers:\n  -a: {kind: triton}\n  b/c: {kind: triton}\n  ok: {kind: triton}\n",
        [(4, "servers.-a", "the first a letter or digit"), (5, "servers.b/c", "found 'b/c'")],
    ),
    Broken("no server", HEAD + "servers: {}\n", [(3, "servers", "at least one server")]),
    Broken("servers as a list", HEAD + "servers: [triton]\n", [(3, "servers", "at least one server")]),
    Broken(
        "server without kind",
        HEAD + "servers:\n  t: {threads: 2}\n",
        [(4, "servers.t.kind", "triton or torchserve")],
    ),
    Broken("null server", HEAD + "servers:\n  t:\n", [(4, "servers.t", "found nothing")]),
]

VALUE_PROBLEMS = [
    Broken(
        "words that are not known, or not yet",
        HEAD
        + "servers:\n  t:\n    kind: trition\n    runtime: attach\n    device: tpu\n"
        + "load: {arrivals: poison}\n",
        [
            (5, "servers.t.kind", "expected triton or torchserve, found 'trition' (did you mean 'triton'?)"),
            (6, "servers.t.runtime", "expected process or container (attach is not in this version)"),
            (7, "servers.t.device", "expected cpu or gpu, found 'tpu'"),
            (8, "load.arrivals", "ramp, sine or trace, found 'poison' (did you mean 'poisson'?)"),
        ],
    ),
    Broken(
        "numbers of a server out of range",
        triton("instances: 0, threads: 1.5, max_batch_size: 1025, startup_timeout: 0"),
        [
            (4, "servers.t.instances", "an integer from 1 to 1024, found 0"),
            (4, "servers.t.threads", "found 1.5"),
            (4, "servers.t.max_batch_size", "an integer from 1 to 1024, found 1025"),
            (4, "servers.t.startup_timeout", "a duration above 0"),
        ],
    ),
    Broken("bool for a number", triton("threads: true"), [(4, "servers.t.threads", "found true")]),
    Broken("text for a number", triton("threads: '2'"), [(4, "servers.t.threads", "found '2'")]),
    Broken("unknown unit", triton("max_queue_delay: 5m"), [(4, "servers.t.max_queue_delay", "5ms, 250us")]),
    Broken("negative delay", triton("max_queue_delay: -1ms"), [(4, "servers.t.max_queue_delay", "of 0 or more")]),
    Broken(
        "load",
        TRITON + "load:\n  rates: [50, 0, .nan, 2e6]\n  duration: .inf\n  warmup: -1s\n  replications: 0\n",
        [
            (6, "load.rates.1", "above 0 and up to 1,000,000, found 0"),
            (6, "load.rates.2", "found .nan"),
            (6, "load.rates.3", "found 2000000.0"),
            (7, "load.duration", "found .inf"),
            (8, "load.warmup", "found '-1s'"),
            (9, "load.replications", "an integer from 1"),
        ],
    ),
    Broken("one rate", TRITON + "load: {rates: 50}\n", [(5, "load.rates", "a list such as [1, 2, 4], found 50")]),
    Broken(
        "rates alike",
        TRITON + "load: {rates: [5, 9, 5.0]}\n",
        [(5, "load.rates", "each rate once, found 5, 2 times")],
    ),
    Broken("ages", TRITON + "load: {duration: 200h}\n", [(5, "load.duration", "at most 7 days")]),
    Broken(
        "objective and tolerances",
        TRITON + "slo: {percentile: 100, response_time: 0ms}\nchecks:\n  speedup_tolerance: 5\n"
        "  ceiling_tolerance: 0%\n  affine_tolerance: 150%\n  output_tolerance: none\n",
        [
            (5, "slo.percentile", "above 0 and below 100, found 100"),
            (5, "slo.response_time", "a duration above 0"),
            (7, "checks.speedup_tolerance", "found 5 (did you mean 5%?)"),
            (8, "checks.ceiling_tolerance", "a fraction above 0"),
            (9, "checks.affine_tolerance", "found '150%'"),
            (10, "checks.output_tolerance", "found 'none'"),
        ],
    ),
    Broken("percentile 0", TRITON + "slo: {percentile: 0}\n", [(5, "slo.percentile", "above 0")]),
    Broken("negative seed", TRITON + "seed: -1\n", [(5, "seed", "found -1")]),
    Broken("endless seed", TRITON + "seed: " + "9" * 5000, [(5, "seed", "found '999")]),
    Broken(
        "model as a word",
        model("digits-cnn"),
        [(2, "model", "expected {zoo: digits-cnn}, {zoo: resnet18},")],
    ),
    Broken("misspelt zoo", model("{zoo: digits}"), [(2, "model.zoo", "did you mean 'digits-cnn'?")]),
    Broken("misspelt resnet", model("{zoo: resnet-18}"), [(2, "model.zoo", "did you mean 'resnet18'?")]),
    Broken("calibrated without m", model("{zoo: calibrated, c: 4ms}"), [(2, "model.m", "add 'm'")]),
    Broken(
        "calibrated times in the second spelling",
        model("{calibrated: {c: -4ms, m: 0}}"),
        [(2, "model.calibrated.c", "of 0 or more"), (2, "model.calibrated.m", "above 0")],
    ),
    Broken(
        "unknown key in the third spelling",
        model("{zoo: {calibrated: {c: 4ms, m: 2ms, n: 1}}}"),
        [(2, "model.zoo.calibrated.n", "known here: c, m")],
    ),
    Broken("digits with times", model("{zoo: digits-cnn, c: 4ms}"), [(2, "model.c", "known here: zoo")]),
    Broken("resnet with times", model("{zoo: resnet18, m: 2ms}"), [(2, "model.m", "known here: dtype, zoo")]),
    Broken(
        "models of later versions",
        model("{onnx: model.onnx}"),
        [(2, "model.onnx", "torchscript, onnx and python models are not in this version")],
    ),
]

RULE_PROBLEMS = [
    Broken(
        "delay as long as the objective",
        triton("max_queue_delay: 20ms") + "slo: {response_time: 20ms}\n",
        [
            (
                4,
                "servers.t.max_queue_delay",
                "a delay below slo.response_time, 20ms, found 20ms (delay longer than objective",
            )
        ],
    ),
    Broken(
        "default delay longer than the objective",
        TRITON + "slo: {response_time: 4ms}\n",
        [(4, "servers.t.max_queue_delay", "found 5ms (the default)")],
    ),
    Broken(
        "queue shorter than a batch",
        triton("max_queue_size: 15"),
        [(4, "servers.t.max_queue_size", "at least max_batch_size, 16, found 15")],
    ),
    Broken(
        "search without an objective",
        TRITON + "load: {search: {}}\n",
        [(5, "load.search", "an objective to meet: the key slo, found none")],
    ),
    Broken(
        "search in no range",
        TRITON + "slo: {}\nload: {search: {from: 50, to: 20}}\n",
        [(6, "load.search.to", "more than from, 50, found 20")],
    ),
    Broken(
        "delay longer than the default objective",
        triton("max_queue_delay: 61ms") + "slo: {percentile: 95}\n",
        [(4, "servers.t.max_queue_delay", "below slo.response_time, 60ms")],
    ),
    Broken(
        "TorchServe cuts batches short",
        torchserve("max_queue_delay: 2ms"),
        [
            (
                4,
                "servers.s.max_queue_delay",
                "caps every batch at 2 with delay 0 and cuts batches short at 1 to 2 ms",
            )
        ],
    ),
    Broken(
        "TorchServe without a delay",
        torchserve("max_queue_delay: 0"),
        [(4, "servers.s.max_queue_delay", "its smallest safe delay is 5ms")],
    ),
    Broken(
        "TorchServe counts in milliseconds",
        torchserve("max_queue_delay: 7.5ms"),
        [
            (
                4,
                "servers.s.max_queue_delay",
                "a whole number of milliseconds, which is TorchServe's unit, found 7.5ms",
            )
        ],
    ),
    Broken(
        "Triton counts in microseconds",
        triton("max_queue_delay: 7.5us"),
        [(4, "servers.t.max_queue_delay", "a whole number of microseconds, which is Triton's unit")],
    ),
    Broken(
        "ports",
        HEAD + "servers:\n  s:\n    kind: torchserve\n    ports:\n      inference: 8080\n      management: 8080\n"
        "      http: 8000\n      metrics: 65536\n",
        [
            (8, "servers.s.ports.management", "a port of its own, found 8080, which inference has"),
            (9, "servers.s.ports.http", "the name of a TorchServe port, found 'http' (known here: inference"),
            (10, "servers.s.ports.metrics", "an integer from 1 to 65535, found 65536"),
        ],
    ),
    Broken("port name", triton("ports: {htp: 80}"), [(4, "servers.t.ports.htp", "did you mean 'http'?")]),
    Broken("ports as a list", triton("ports: [80]"), [(4, "servers.t.ports", "{metrics: 8002}, found a list")]),
    Broken(
        "batch sizes above a server's largest",
        triton("max_batch_size: 8") + "  s: {kind: torchserve, max_batch_size: 12}\n"
        "calibration:\n  batch_sizes:\n  - 1\n  - 8\n  - 12\n  - 16\n",
        [
            (10, "calibration.batch_sizes.2", "at most 8, the smallest max_batch_size (t), found 12"),
            (11, "calibration.batch_sizes.3", "the smallest max_batch_size (t and s), found 16"),
        ],
    ),
    Broken(
        "batch sizes without 1 and twice the same",
        TRITON + "calibration: {batch_sizes: [2, 4, 2]}\n",
        [
            (5, "calibration.batch_sizes", "at least 3 different sizes, found 2"),
            (5, "calibration.batch_sizes", "the size 1 among them, found only 2, 4 and 2"),
            (5, "calibration.batch_sizes.2", "each size once, found 2 again"),
        ],
    ),
    Broken(
        "no batch size",
        TRITON + "calibration: {batch_sizes: []}\n",
        [(5, "calibration.batch_sizes", "found 0")],
    ),
    Broken(
        "two sizes",
        TRITON + "calibration: {batch_sizes: [1, 2]}\n",
        [(5, "calibration.batch_sizes", "at least 3")],
    ),
    Broken(
        "too many batch sizes",
        triton("max_batch_size: 100") + f"calibration: {{batch_sizes: {list(range(1, 66))}}}\n",
        [(5, "calibration.batch_sizes", "at most 64 sizes, found 65")],
    ),
    Broken(
        "a batch size that is none",
        TRITON + "calibration: {batch_sizes: [1, two, 0, 3]}\n",
        [
            (5, "calibration.batch_sizes.1", "found 'two'"),
            (5, "calibration.batch_sizes.2", "an integer from 1 to 1024, found 0"),
        ],
    ),
    Broken(
        "batches of one",
        triton("max_batch_size: 1"),
        [(4, "servers.t.max_batch_size", "at least 2, found 1")],
    ),
    Broken(
        "restarts below 0",
        TRITON + "calibration: {restarts: -1}\n",
        [(5, "calibration.restarts", "an integer from 0 to 100, found -1")],
    ),
    Broken(
        "rules speak although other fields are broken",
        "model: {zoo: nothing}\n"
        "servers:\n  s:\n    kind: torchserve\n    threads: x\n    max_queue_delay: 1ms\n"
        "  t:\n    max_queue_delay: 9ms\n    max_batch_size: 4\nslo: {percentile: x, response_time: 8ms}\n"
        "calibration: {batch_sizes: [1, x, 5], precision: x}\n",
        [
            (1, "name", "found nothing"),
            (1, "model.zoo", "expected digits-cnn, resnet18, vit-tiny or calibrated"),
            (5, "servers.s.threads", "found 'x'"),
            (6, "servers.s.max_queue_delay", "at least 5ms"),
            (7, "servers.t.kind", "triton or torchserve"),
            (8, "servers.t.max_queue_delay", "delay longer than objective"),
            (10, "slo.percentile", "found 'x'"),
            (11, "calibration.batch_sizes.1", "found 'x'"),
            (11, "calibration.precision", "a fraction"),
            (11, "calibration.batch_sizes.2", "at most 4, the smallest max_batch_size (t), found 5"),
        ],
    ),
    Broken(
        "rules are silent when their own operands are broken",
        torchserve("max_queue_delay: soon, max_batch_size: many") + "slo: {response_time: never}\n",
        [
            (4, "servers.s.max_batch_size", "found 'many'"),
            (4, "servers.s.max_queue_delay", "found 'soon'"),
            (5, "slo.response_time", "found 'never'"),
        ],
    ),
]

TABLE = YAML_PROBLEMS + KEY_PROBLEMS + VALUE_PROBLEMS + RULE_PROBLEMS


@pytest.mark.parametrize("broken", TABLE, ids=lambda broken: broken.why)
def test_a_broken_file_gets_all_its_problems_in_order(problems: Problems, broken: Broken) -> None:
    found = problems(broken.text)
    assert sorted((p.line, p.field) for p in found) == sorted((line, field) for line, field, _ in broken.expected)
    assert [p.line for p in found] == [line for line, _, _ in broken.expected]
    texts = [p.text("f") for p in found]
    for line, field, part in broken.expected:
        where = f"f:{line}: {field}: " if field else f"f:{line}: "
        assert any(text.startswith(where) and part in text for text in texts), (where + part, texts)


def test_a_problem_says_where_what_was_expected_what_was_found_and_what_to_do(problems: Problems) -> None:
    (problem,) = problems(triton("max_batchsize: 8"))
    assert problem.text("a.yaml") == (
        "a.yaml:4: servers.t.max_batchsize: expected a known key, "
        "found the unknown key 'max_batchsize' (did you mean 'max_batch_size'?)"
    )


def test_the_error_counts_the_problems_and_lists_them_below(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(triton("threads: 0, instances: 0"))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert caught.value.message == f"{path} cannot be run: 2 problems"
    assert caught.value.source == str(path)
    assert [line.split(": expected")[0] for line in caught.value.detail.splitlines()] == [
        f"{path}:4: servers.t.instances",
        f"{path}:4: servers.t.threads",
    ]


def test_a_path_that_leads_to_no_text_is_one_problem_without_a_line(tmp_path: Path) -> None:
    (tmp_path / "quickstart.yaml").write_text(TRITON)
    (tmp_path / "large.txt").write_text("#" * 300_000)
    for path, part in [
        (tmp_path / "quickstrt.yaml", "found no such file (did you mean 'quickstart.yaml'?)"),
        (tmp_path / "no/folder/a.yaml", "found no such file (check the path)"),
        (tmp_path, "found a directory (name the .yaml file inside)"),
        (tmp_path / "quickstart.yaml/a", "found not a directory"),
        (tmp_path / ("a" * 300), "found file name too long"),
        (tmp_path / "a\0b", "a character that no path can have"),
        (tmp_path / "large.txt", "a file of at most 256 KiB"),
    ]:
        with pytest.raises(ScenarioError) as caught:
            load_scenario(path)
        (problem,) = caught.value.problems
        assert (problem.line, problem.field) == (0, "")
        assert part in problem.text("f")


def test_a_file_that_may_not_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Taking the permission away would not stop root.
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(tmp_path / "a.yaml")
    assert "found permission denied" in caught.value.problems[0].text("f")


@pytest.mark.parametrize(
    ("data", "line"), [(b"name: x\nseed: \xff\n", 2), ("name: x".encode("utf-16"), 1), (b"\x80", 1)]
)
def test_bytes_that_are_no_utf8_are_found_on_their_line(tmp_path: Path, data: bytes, line: int) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(data)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    (problem,) = caught.value.problems
    assert (problem.line, problem.expected, problem.hint) == (line, "UTF-8 text", "save the file as UTF-8")
