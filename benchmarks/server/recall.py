"""What a memory library has to do in the bare graph: find before the answer, keep after it."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Nothing", "Recall"]


class Recall(Protocol):
    """A memory that stores and retrieves."""

    async def find(self, learner: str, question: str) -> list[str]:
        """Return the texts that fit best, at most ten."""
        ...

    async def keep(self, learner: str, text: str) -> None:
        """Store a text."""
        ...


class Nothing:
    """No memory: the base line."""

    async def find(self, learner: str, question: str) -> list[str]:
        """Return nothing."""
        return []

    async def keep(self, learner: str, text: str) -> None:
        """Store nothing."""
