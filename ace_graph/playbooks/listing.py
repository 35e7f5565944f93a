"""Whose playbooks there are, by name; `catalogue` does the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ace_graph.memory.catalogue import DEFAULT, PlaybookEntry, PlaybookRef
from ace_graph.memory.stores.base import pages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ace_graph.memory.stores.store import Store


async def list_playbooks(
    store: Store, owner: str | None = None, *, limit: int = 100, after: str = ""
) -> tuple[PlaybookEntry, ...]:
    """Return an owner's playbooks: the own memory, where there is one, then the others by name.

    `after` is the `name_key` of the last one of the page before.
    """
    playbooks = store.playbooks
    own = await playbooks.find(PlaybookRef(owner, DEFAULT)) if owner is not None and not after else None
    place = "" if after == DEFAULT else after  # the own memory comes first, and no other is called so
    named = await playbooks.entries(owner, limit - (own is not None), place)
    return named if own is None else (own, *named)


def all_playbooks(store: Store, owner: str) -> AsyncIterator[PlaybookEntry]:
    """Yield all of an owner's playbooks, in the order of `list_playbooks`."""

    async def read(limit: int, after: str) -> tuple[PlaybookEntry, ...]:
        return await list_playbooks(store, owner, limit=limit, after=after)

    return pages(read, lambda last: last.name_key)
