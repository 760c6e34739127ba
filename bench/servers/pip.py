"""pip, run in the runtime's own environment: what would be downloaded, and the download itself with its progress."""

from __future__ import annotations

import json
import os
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from bench.commands import run_command
from bench.errors import ServerError
from bench.progress import Tell

ACCEPT_VARIABLE = "SERVE_BENCH_ACCEPT_CUDA_DOWNLOAD"
MB = 1e6


class Pip:
    """pip of one Python. Indexes and wheel folders are those of the user's own pip configuration."""

    def __init__(self, python: Path, tell: Tell) -> None:
        self.python = python
        self.tell = tell

    def refuse_surprises(self, torch: str) -> None:
        """Raises ServerError when this torch would bring CUDA libraries that nobody was told the size of.

        Nothing large is downloaded to find out: pip resolves from the indexes' metadata.
        """
        self.tell("server runtime: asking which torch this machine would get", None)
        with tempfile.TemporaryDirectory() as scratch:
            report = Path(scratch) / "report.json"
            self._run(None, "install", "--dry-run", "--quiet", "--ignore-installed", "--report", str(report), torch)
            packages = json.loads(report.read_text(encoding="utf-8"))["install"]
        cuda = [package for package in packages if package["metadata"]["name"].startswith("nvidia-")]
        if not cuda or os.environ.get(ACCEPT_VARIABLE) == "yes":
            return
        urls = [package["download_info"]["url"] for package in packages]
        raise ServerError(
            f"{torch} would be a CUDA build here: {len(packages)} packages, {_size_text(urls)} to download, of no use "
            f"to a CPU. Point pip at PyTorch's index of CPU wheels (PIP_EXTRA_INDEX_URL, see PyTorch's installation "
            f"page), or accept the download with {ACCEPT_VARIABLE}=yes"
        )

    def install(self, requirements: Path) -> None:
        """Installs the complete list of pins, and nothing that is not in it."""
        extra: list[str] = []
        if os.environ.get(ACCEPT_VARIABLE) != "yes":
            extra = ["--no-deps"]
        self.tell("server runtime: installing the pinned wheels", None)
        total = sum("==" in line for line in requirements.read_text(encoding="utf-8").splitlines())
        collected = 0

        def on_line(line: str) -> None:
            nonlocal collected
            if line.startswith(("Collecting ", "Processing ")):
                collected += 1
            if line.startswith(("Collecting ", "Downloading ", "Processing ", "Installing ")):
                what = line.split(" (from")[0].split("/")[-1]
                self.tell(f"server runtime: installing the pinned wheels, {what[:70]}", min(1.0, collected / total))

        options = ["--no-compile", "--progress-bar", "off", *extra]
        self._run(on_line, "install", *options, "-r", str(requirements))

    def _run(self, on_line: Callable[[str], None] | None, *arguments: str) -> None:
        command: list[str | Path] = [self.python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
        ended = run_command(command, on_line)
        if ended.status != 0:
            raise ServerError(f"pip {arguments[0]} failed with exit status {ended.status}", ended.tail)


def _size_text(urls: list[str]) -> str:
    sizes = [_size(url) for url in urls]
    known = [size for size in sizes if size is not None]
    if not known:
        return "an unknown size"
    at_least = "" if len(known) == len(sizes) else "at least "
    return f"{at_least}{sum(known) / MB:,.0f} MB"


def _size(url: str) -> int | None:
    """Bytes of a wheel, asked for without downloading it; None where the index does not say."""
    parts = urllib.parse.urlparse(url)
    try:
        if parts.scheme == "file":
            return Path(urllib.request.url2pathname(parts.path)).stat().st_size
        if parts.scheme != "https":
            return None
        request = urllib.request.Request(url, method="HEAD")  # noqa: S310 the scheme was just checked
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
            length = answer.headers.get("Content-Length")
            return int(length) if length else None
    except (OSError, ValueError):
        return None
