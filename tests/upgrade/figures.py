"""Bullets as short texts, which the script that wrote the data and the tests that read it compare.

Does not: hold a test.
"""

from __future__ import annotations

from collections.abc import Iterable

from ace_graph import Bullet

__all__ = ["figures"]


def figures(found: Iterable[Bullet]) -> dict[str, str]:
    """Return the figures and the text of each bullet by its id, in order."""
    return {b.id: f"{_counts(b)} {b.status}{' pinned' * b.pinned}: {b.content}" for b in found}


def _counts(b: Bullet) -> str:
    return f"+{b.helpful} -{b.harmful} ~{b.neutral} {b.seen}x"
