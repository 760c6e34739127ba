"""Model + server spec -> a .mar archive, by torch-model-archiver, the same bytes each time."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

from model_archiver import ModelArchiver, ModelArchiverConfig
from ruamel.yaml import YAML

from bench.artifacts.sources import SERVED, model_files
from bench.models.model import ServedModel
from bench.scenario.kinds import JOB_QUEUE_SIZE, ONE_INSTANCE
from bench.scenario.spec import Server

RESPONSE_TIMEOUT_S = 120
# The archiver stamps the time of day into the manifest and into every zip entry.
FIXED_DATE = (1980, 1, 1, 0, 0, 0)
FIXED_CREATED_ON = "01/01/1980 00:00:00"


def model_config(server: Server) -> dict[str, object]:
    """model-config.yaml with every setting explicit: a key left out means a default nobody chose."""
    return {
        "minWorkers": server.instances,
        "maxWorkers": server.instances,
        "batchSize": server.max_batch_size,
        "maxBatchDelay": round(server.max_queue_delay_s * 1000),
        "responseTimeout": RESPONSE_TIMEOUT_S,
        "startupTimeout": max(1, round(server.startup_timeout_s)),
        "deviceType": server.device,
        "jobQueueSize": server.max_queue_size or JOB_QUEUE_SIZE,
        "useJobTicket": False,
        "asyncCommunication": False,
        "continuousBatching": False,
        "sequenceBatching": False,
        "maxRetryTimeoutInSec": 5,
        "clientTimeoutInMills": 0,
    }


def build_archives(model: ServedModel, server: Server, store: Path) -> tuple[Path, ...]:
    """`<store>/<model>.mar`, and beside it one for a single instance where the scenario asks for several.

    The worker count in an archive wins over the one asked for at registration, and scaling down while workers start is
    a race: some models then keep the larger count.
    """
    made = build_archive(model, server, store)
    if server.instances == 1:
        return (made,)
    return made, build_archive(model, replace(server, instances=1), store, f"{model.name}{ONE_INSTANCE}")


def build_archive(model: ServedModel, server: Server, store: Path, name: str = "") -> Path:
    """`<store>/<name>.mar`. The weights are the archive's serialized file; settings and model are extra files.

    name: the model's when left out.
    """
    name = name or model.name
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = model_files(model, server)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        config = folder / "model-config.yaml"
        with config.open("w", encoding="utf-8") as stream:
            YAML(typ="safe").dump(model_config(server), stream)
        weights = [folder / path.name for path in model.files]
        extra = [folder / file for file in files if folder / file not in weights]
        ModelArchiver.generate_model_archive(
            ModelArchiverConfig(
                model_name=name,
                version="1.0",
                handler=str(SERVED / "handler.py"),
                serialized_file=str(weights[0]) if weights else None,
                extra_files=",".join(map(str, [*extra, *weights[1:]])),
                export_path=str(folder),
                runtime="python",
                force=True,
                archive_format="default",
                config_file=str(config),
            )
        )
        archive = store / f"{name}.mar"
        archive.write_bytes(_without_dates((folder / f"{name}.mar").read_bytes()))
    return archive


def _without_dates(archive: bytes) -> bytes:
    """The same archive with sorted entries and fixed dates, so that equal inputs give equal bytes."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(archive)) as made,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as fixed,
    ):
        for name in sorted(made.namelist()):
            content = made.read(name)
            if name == "MAR-INF/MANIFEST.json":
                manifest = json.loads(content)
                manifest["createdOn"] = FIXED_CREATED_ON
                content = json.dumps(manifest, indent=2).encode()
            entry = zipfile.ZipInfo(name, FIXED_DATE)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            fixed.writestr(entry, content)
    return out.getvalue()
