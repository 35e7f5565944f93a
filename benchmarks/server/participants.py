"""Who is asked for by which server: the learners of each store, and the stores to look into."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ace_graph.memory.stores.store import Store
from benchmarks.available_stores import Place
from benchmarks.server.learners import crowd
from benchmarks.server.server_process import stranger
from benchmarks.server.servers import Server

__all__ = ["Setting", "setting"]


@dataclass(frozen=True)
class Setting:
    """Stores and their learners, by the store's URL."""

    stores: dict[str, Store]
    learners: dict[str, list[str]]
    strangers: list[str]

    def store_of(self, server: Server) -> Store | None:
        """Return the store that the server uses, None for one that uses none of ours."""
        return self.stores.get(server.wanted.store)

    def learners_of(self, server: Server) -> list[str]:
        """Return the learners to ask with."""
        return self.learners.get(server.wanted.store, self.strangers)


@asynccontextmanager
async def setting(places: Sequence[Place], learners: int, bullets: int) -> AsyncGenerator[Setting]:
    """So many learners in every place, each with so many bullets; they are forgotten afterwards."""
    stores = {place.url: place.open() for place in places}
    made: dict[str, list[str]] = {url: [] for url in stores}
    try:
        for url, store in stores.items():
            made[url] += await crowd(store, learners, bullets)
        yield Setting(stores, made, [stranger(n) for n in range(learners)])
    finally:
        for url, store in stores.items():
            for learner in made[url]:
                await store.forget(learner)
            await store.close()
