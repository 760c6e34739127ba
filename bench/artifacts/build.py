"""Builds the artifacts of a scenario, or finds that what stands there was built from the very same inputs.

Beside each artifact lies `<server>.build.json`: a fingerprint of the inputs and a checksum of every file. An
artifact with the same fingerprint is used as it stands; a file that differs from its checksum is named.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.artifacts import torchserve, triton
from bench.artifacts.hold import Hold
from bench.artifacts.sources import model_files
from bench.errors import ServerError
from bench.models.model import ServedModel
from bench.scenario.arms import Arm, all_arms
from bench.scenario.spec import Scenario, Server

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Artifact:
    """One server's artifact. altered: files that are no longer what the build wrote (named, used all the same)."""

    server: str
    folder: Path
    arms: tuple[Arm, ...]
    checksums: dict[str, str]
    reused: bool
    altered: tuple[str, ...]
    hold: Hold | None = field(default=None, compare=False, repr=False)  # while it is used, nobody builds it anew


def build(scenario: Scenario, server: Server, model: ServedModel, root: Path, *, rebuild: bool = False) -> Artifact:
    """The artifact of one server under `root`: model_stores/<scenario>/<server>/ or triton_repo/<scenario>/<server>/.

    Raises ServerError where it cannot be written.
    """
    try:
        return _build(scenario, server, model, root, rebuild)
    except OSError as error:
        raise ServerError(
            f"{server.name}: the artifact cannot be built: {error}. Run in a folder you may write to: "
            f"model_stores/ and triton_repo/ are made in it"
        ) from error


def _build(scenario: Scenario, server: Server, model: ServedModel, root: Path, rebuild: bool) -> Artifact:
    arms = all_arms(model.name, server, scenario.calibration.batch_sizes)
    top, make = KINDS[server.kind]
    folder = root / top / scenario.name / server.name
    fingerprint = _fingerprint(model, server, arms)
    hold = Hold(folder.with_name(f"{server.name}.lock"))
    ours, reused = hold.exclusive(), True
    if ours and (rebuild or _known(folder, fingerprint) is None):
        _make(folder, fingerprint, lambda: make(model, server, arms, folder))
        reused = False
    hold.share()
    expected = _known(folder, fingerprint)
    if expected is None or (rebuild and not ours):  # another run uses it as it is: this one gets a folder of its own
        folder = Path(tempfile.mkdtemp(prefix=f"{server.name}-artifact-")) / server.name
        _make(folder, fingerprint, lambda: make(model, server, arms, folder))
        expected, reused = _known(folder, fingerprint) or {}, False
    found = _checksums(folder)
    altered = tuple(sorted(n for n in expected.keys() | found.keys() if expected.get(n) != found.get(n)))
    return Artifact(server.name, folder, arms, found, reused, altered, hold)


def _make(folder: Path, fingerprint: str, make: Callable[[], None]) -> None:
    record = _record_of(folder)
    record.unlink(missing_ok=True)  # first: a build that is interrupted must not pass for the one before
    shutil.rmtree(folder, ignore_errors=True)
    make()
    record.write_text(json.dumps({"fingerprint": fingerprint, "checksums": _checksums(folder)}, indent=2) + "\n")


def _known(folder: Path, fingerprint: str) -> dict[str, str] | None:
    """The checksums of what stands there, if it was built from these very inputs."""
    known = _read(_record_of(folder))
    if known.get("fingerprint") != fingerprint or not folder.is_dir():
        return None
    checksums: dict[str, str] = known["checksums"]
    return checksums


def _record_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.build.json")


def _make_store(model: ServedModel, server: Server, _arms: Iterable[Arm], folder: Path) -> None:
    torchserve.build_archives(model, server, folder)  # arms are registrations of one archive


def _make_repository(model: ServedModel, server: Server, arms: Iterable[Arm], folder: Path) -> None:
    triton.build_repository(model, server, arms, folder)


KINDS: dict[str, tuple[str, Callable[[ServedModel, Server, Iterable[Arm], Path], None]]] = {
    "torchserve": ("model_stores", _make_store),
    "triton": ("triton_repo", _make_repository),
}


def _fingerprint(model: ServedModel, server: Server, arms: Iterable[Arm]) -> str:
    digest = hashlib.sha256()
    for source in sorted([*HERE.glob("*.py"), *(HERE / "served").glob("*.py")]):
        digest.update(source.read_bytes())
    for name, content in sorted(model_files(model, server).items()):
        digest.update(name.encode() + b"\0" + content)
    settings = [
        asdict(server),
        [asdict(arm) for arm in arms],
        model.name,
        asdict(model.input),
        asdict(model.output),
    ]
    digest.update(json.dumps(settings, sort_keys=True).encode())
    return digest.hexdigest()


def _checksums(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def _read(record: Path) -> dict[str, Any]:
    try:
        known = json.loads(record.read_text())
        return known if isinstance(known, dict) and isinstance(known.get("checksums"), dict) else {}
    except (OSError, ValueError):
        return {}
