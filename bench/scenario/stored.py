"""A scenario as kept in a run's manifest: plain JSON out of the frozen objects, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter

from bench.scenario.spec import Scenario


def to_json(scenario: Scenario) -> dict[str, Any]:
    """Seconds and plain numbers, as the rest of the program sees them."""
    return asdict(scenario)


def from_json(document: dict[str, Any]) -> Scenario:
    """Raises ValueError (pydantic's) when the document is not what `to_json` wrote."""
    load = document.get("load")
    if isinstance(load, dict) and isinstance(load.get("arrivals"), str):
        # Runs of version 0.1.0 have the word alone.
        document = {**document, "load": {**load, "arrivals": {"kind": load["arrivals"]}}}
    return TypeAdapter(Scenario).validate_python(document)
