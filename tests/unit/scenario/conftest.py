"""Scenarios given as text, and what is said about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.errors import Problem, ScenarioError
from bench.scenario.load import load_scenario
from bench.scenario.spec import Scenario

Load = Callable[..., Scenario]
Problems = Callable[..., list[Problem]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a scenario from its text, with the options of `load_scenario`."""

    def load(text: str, **options: object) -> Scenario:
        path = tmp_path / "scenario.yaml"
        path.write_text(text, encoding="utf-8")
        return load_scenario(path, **options)  # type: ignore[arg-type]

    return load


@pytest.fixture
def problems(load: Load) -> Problems:
    """The problems of a scenario that must have some."""

    def problems(text: str, **options: object) -> list[Problem]:
        with pytest.raises(ScenarioError) as caught:
            load(text, **options)
        return list(caught.value.problems)

    return problems
