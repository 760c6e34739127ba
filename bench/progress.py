"""How a long step says what it is doing. The command line decides how that looks."""

from __future__ import annotations

from collections.abc import Callable

# (what is going on, the fraction done or None when that is not known)
Tell = Callable[[str, float | None], None]


def silent(_text: str, _fraction: float | None) -> None:
    """Says nothing; for tests and for callers without a screen."""
