"""Live updates: the versions of a playbook as they are committed, by whatever process (document 004).

    async for version in playbooks.watch(store, "ada/api_client", owner="bob"):
        print(version.label, version.author, version.reason)

The store is asked for the version every two seconds, one small read; no version between two reads is missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from ace_graph.base.clock import Sleep
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.stores.base import StoredVersion
from ace_graph.memory.stores.store import Store
from ace_graph.playbooks.handle import PlaybookHandle, User, open_playbook

EVERY_SECONDS = 2.0


async def watch(
    store: Store,
    name: str = DEFAULT,
    *,
    owner: str | None = None,
    user: User = None,
    after: int | None = None,
    every: float = EVERY_SECONDS,
    sleep: Sleep = asyncio.sleep,
) -> AsyncGenerator[StoredVersion]:
    """Yield each version of a playbook that is newer than number `after`, the oldest first, without end.

    `after` is by default the present version. The own memory can be watched before it exists; when it was
    forgotten, its versions begin again at 1. Votes and uses make no version. `every` is in seconds. Raises
    what `get_playbook` raises, also later: PlaybookNotFound once the playbook is deleted, or the user may not
    read it any more.
    """
    playbook = await open_playbook(store, name, owner, user)
    seen = (await playbook.version()).n if after is None else after
    while True:
        for version in await versions_after(playbook, seen):
            yield version
            seen = version.n
        await sleep(every)


async def versions_after(playbook: PlaybookHandle, seen: int) -> tuple[StoredVersion, ...]:
    """Return the versions after number `seen`, the oldest first. Raises PlaybookNotFound, as for a reader.

    All of them where the numbers began again since `seen`.
    """
    present = await playbook.version()
    if present.n == seen:
        return ()
    start = seen if seen < present.n else 0
    return tuple(each for each in await playbook.store.versions(playbook.key) if each.n > start)
