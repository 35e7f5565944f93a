"""What `doctor` finds out about the store: is it reached, can it be written, which versions.

A learner with a name that nobody has is stored and forgotten again, because only writing shows that
writing works.

Does not: touch the memory of a real learner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from uuid import uuid4

from ace_graph.cli.checks import Check
from ace_graph.cli.stored import commit
from ace_graph.errors import AceError
from ace_graph.memory.delta import Add
from ace_graph.memory.pending import PendingCounts
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import keeps_pending
from ace_graph.memory.stores.describe import describe
from ace_graph.settings import Settings
from ace_graph.store_url import open_store, shown_url

__all__ = ["check_store"]


def check_store(settings: Settings, url: str | None) -> Iterator[Check]:
    """The store at `url`, or else that of the settings."""
    shown = shown_url(url or settings.store_url)
    try:
        about, counts = asyncio.run(_tried(settings, url))
    except AceError as error:
        yield Check("store", "fail", shown, str(error))
        return
    if shown.startswith("memory://"):
        yield Check("store", "warn", f"{shown} forgets everything when a command ends", "unset ACE_STORE")
    else:
        yield Check("store", "ok", f"{shown}, read and written")
    yield Check("store versions", "ok", about)
    if counts is not None:
        yield _pending(counts)


def _pending(counts: PendingCounts) -> Check:
    """What waits to be learned from, and what could not be."""
    found = f"{counts.pending} waiting, {counts.dead} dead letters"
    if counts.dead:
        fix = "ace-graph trajectory list --failed shows them, ace-graph reflect ID tries again"
        return Check("pending learning", "warn", found, fix)
    if counts.pending:
        return Check("pending learning", "ok", found, "ace-graph worker learns from it")
    return Check("pending learning", "ok", found)


async def _tried(settings: Settings, url: str | None) -> tuple[str, PendingCounts | None]:
    async with open_store(url, settings=settings) as store:
        nobody = f"ace-graph-doctor-{uuid4().hex}"
        try:
            await commit(store, nobody, Snapshot(), [Add(content="The doctor was here.")], "doctor")
        finally:
            await store.forget(nobody)
        counts = await store.count_pending() if keeps_pending(store) else None
        return await describe(store), counts
