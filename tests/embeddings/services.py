"""Embedding services of the tests: vectors by a few words, and services that fail in known ways."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from langchain_core.embeddings import Embeddings

__all__ = ["Hanging", "Raising", "WordVectors"]

_MEANINGS: Mapping[str, int] = {
    **dict.fromkeys(("red", "crimson", "colour"), 0),
    **dict.fromkeys(("otter", "otters", "animal"), 1),
    **dict.fromkeys(("bread", "loaf", "flour"), 2),
}


class WordVectors(Embeddings):
    """One dimension for each meaning of a few words, one for all else, which weighs little.

    It keeps the texts that it was asked for.
    """

    def __init__(self, size: int = 4) -> None:
        self.size = size
        self.texts = list[str]()
        self.calls = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls += 1
        self.texts += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.calls += 1
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.size
        for word in text.casefold().replace("?", " ").split():
            place = _MEANINGS.get(word)
            vector[self.size - 1 if place is None else place] += 0.1 if place is None else 1.0
        return vector


class Raising(WordVectors):
    """It raises, with something in the message that nobody else may read."""

    def embed_query(self, text: str) -> list[float]:
        self.calls += 1
        raise RuntimeError("401 for key sk-very-secret")


class Hanging(WordVectors):
    """It never answers; `hangs` is called first."""

    def __init__(self, *, documents: bool = True, hangs: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._documents = documents
        self._hangs = hangs

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        if self._documents:
            self.calls += 1
            self._hangs()
            await asyncio.Event().wait()
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        self.calls += 1
        self._hangs()
        await asyncio.Event().wait()
        return []
