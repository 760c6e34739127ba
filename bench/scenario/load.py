"""From a scenario file to a `Scenario`, or to every problem that it has; and the JSON Schema of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from bench.errors import Problem, ScenarioError
from bench.scenario.convert import to_load, to_scenario
from bench.scenario.form import LoadForm, ScenarioForm
from bench.scenario.model_form import Form
from bench.scenario.override import apply_seed, apply_set, keep_servers
from bench.scenario.problems import form_problems
from bench.scenario.read import read_yaml
from bench.scenario.rules import rule_problems
from bench.scenario.spec import Load, Scenario
from bench.scenario.text import UnreadableError, read_text
from bench.scenario.trace_file import trace_problems
from bench.scenario.tree import Tree

_HERE = Path()


def load_scenario(
    path: Path, overrides: Sequence[str] = (), servers: Sequence[str] = (), seed: int | None = None
) -> Scenario:
    """The scenario of a YAML file, after `--set`, `--server` and `--seed`.

    Raises ScenarioError with all problems, by line; what comes from the command line has line 0.
    """
    try:
        tree, problems = read_yaml(read_text(path))
    except UnreadableError as error:
        raise _scenario_error(path, [error.problem]) from None
    for setting in overrides:
        problems += apply_set(tree, setting)
    if seed is not None:
        apply_seed(tree, seed)
    problems += keep_servers(tree, servers)
    form = None
    try:
        form = ScenarioForm.model_validate(tree.data)
    except ValidationError as error:
        problems += form_problems(error, tree)
    problems += rule_problems(tree)
    problems += trace_problems(tree, path.parent)
    if form is None or problems:
        raise _scenario_error(path, problems)
    return to_scenario(form, path.parent)


class _OnlyLoad(Form):
    load: LoadForm


def load_plan(options: Mapping[str, object], folder: Path = _HERE) -> Load:
    """The load that options ask for, by keys of `load:`, each the YAML of its value; `rates` is one number.

    Whatever is left out has its default. `folder`: what the path of a trace is relative to. Raises
    ScenarioError as `load_scenario` does.
    """
    tree, problems = Tree({"load": {}}), list[Problem]()
    for key, given in options.items():
        option, value = ("--rate", f"[{given}]") if key == "rates" else (f"--{key}", given)
        problems += apply_set(tree, f"load.{key}={value}", option)
    form = None
    try:
        form = _OnlyLoad.model_validate(tree.data)
    except ValidationError as error:
        problems += form_problems(error, tree)
    problems += trace_problems(tree, folder)
    if form is None or problems:
        raise _scenario_error("the command line", problems)
    return to_load(form.load, folder)


def json_schema() -> dict[str, object]:
    """JSON Schema of the YAML form: what an editor needs to complete and check a scenario."""
    schema: dict[str, object] = ScenarioForm.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "serve-bench scenario",
    }


def _scenario_error(path: Path | str, problems: list[Problem]) -> ScenarioError:
    ordered = tuple(sorted(problems, key=lambda problem: problem.line))
    count = "1 problem" if len(ordered) == 1 else f"{len(ordered)} problems"
    return ScenarioError(f"{path} cannot be run: {count}", ordered, str(path))
