"""pip, run in the runtime's own environment: what would be downloaded, and the download itself with its progress."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterable
from pathlib import Path

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
        resolved = self._query("install", "--dry-run", "--quiet", "--ignore-installed", "--report", "-", torch)
        packages = json.loads(resolved)["install"]
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
        command = self._command("install", "--no-compile", "--progress-bar", "off", *extra, "-r", str(requirements))
        total = sum("==" in line for line in requirements.read_text(encoding="utf-8").splitlines())
        lines: list[str] = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            self._follow(process.stdout or (), total, lines)
        if process.returncode != 0:
            raise ServerError(f"pip install failed with exit status {process.returncode}", "".join(lines[-20:]))

    def _query(self, *arguments: str) -> str:
        done = subprocess.run(self._command(*arguments), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ServerError(f"pip {arguments[0]} failed with exit status {done.returncode}", done.stderr[-4000:])
        return done.stdout

    def _command(self, *arguments: str) -> list[str]:
        return [str(self.python), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]

    def _follow(self, stream: Iterable[str], total: int, lines: list[str]) -> None:
        collected = 0
        for line in stream:
            lines.append(line)
            text = line.strip()
            if text.startswith(("Collecting ", "Processing ")):
                collected += 1
            if text.startswith(("Collecting ", "Downloading ", "Processing ", "Installing ")):
                self.tell(f"server runtime: {text.split(' (from')[0][:90]}", min(1.0, collected / total))


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
