"""The files that both servers are given: the same model source, weights and settings."""

from __future__ import annotations

import json
from pathlib import Path

from bench.models.model import ServedModel
from bench.scenario.spec import Server

SERVED = Path(__file__).parent / "served"


def model_files(model: ServedModel, server: Server) -> dict[str, bytes]:
    """File name -> content of everything `served_model.load(folder)` needs."""
    settings = {"threads": server.threads, "device": server.device, **model.settings}
    return {
        "served_model.py": model.source.read_bytes(),
        "settings.json": json.dumps(settings, indent=2, sort_keys=True).encode() + b"\n",
        **{path.name: path.read_bytes() for path in model.files},
    }
