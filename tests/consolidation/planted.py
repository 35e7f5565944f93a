"""Bullets that say the same, and others, planted as they are: an Add would merge them at once."""

from __future__ import annotations

from ace_graph.memory import Bullet

__all__ = ["ALIKE", "OTHERS", "PARAPHRASES", "bullets", "pairs"]

PARAPHRASES = (
    "Check the rate limit before you call the API",
    "Before you call the API, check the rate limit",
    "Always check the rate limit before you call the API.",
)
OTHERS = ("Draw a bar for every fraction", "Never store a password in a log")
ALIKE = ("Check the rate limit of the service", "Look at the rate limit of the service")


def bullets(*texts: str, **fields: object) -> tuple[Bullet, ...]:
    """Return a bullet for each text, for a Reset; `fields` are the same for all."""
    numbered = enumerate(texts, 1)
    common = {"section": "general", "memory_type": "procedural", **fields}
    return tuple(
        Bullet.model_validate({"id": f"gen-{n:05d}", "content": text, **common}) for n, text in numbered
    )


def pairs(number: int) -> tuple[str, ...]:
    """Return texts of which each says what the one before or after it says, and no other."""
    texts = (f"Topic {n} is told in chapter {n + 7} of book {n * 3}" for n in range(number))
    return tuple(text for each in texts for text in (each, f"{each.lower()}."))
