"""An image that is not here yet is pulled, with its progress."""

from __future__ import annotations

from typing import Any

from bench.errors import ServerError
from bench.progress import Tell


def pull(client: Any, reference: str, name: str, tell: Tell) -> None:
    """Raises ServerError where the registry cannot be reached or has no such image, and what docker's client raises."""
    repository, tag = split(reference)
    done: dict[str, tuple[int, int]] = {}
    tell(f"{name}: pulling {reference}", None)
    for line in client.api.pull(repository, tag=tag, stream=True, decode=True):
        if "error" in line:
            raise ServerError(
                f"{name}: the image {reference} cannot be pulled: {line['error']}. Name one that is here by image:, or "
                f"make images"
            )
        detail = line.get("progressDetail") or {}
        if detail.get("total"):
            done[line["id"]] = (detail["current"], detail["total"])
            whole = sum(total for _, total in done.values())
            tell(f"{name}: pulling {reference}", sum(now for now, _ in done.values()) / whole)


def split(reference: str) -> tuple[str, str]:
    """(repository, tag or digest): a colon after the last slash is the tag's, any other a port's."""
    if "@" in reference:
        repository, _, digest = reference.partition("@")
        return repository, digest
    head, slash, last = reference.rpartition("/")
    repository, _, tag = last.partition(":")
    return f"{head}{slash}{repository}", tag or "latest"
