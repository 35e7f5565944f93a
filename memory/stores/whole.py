"""Everything that a store keeps under one key, as it is stored: read whole, and written whole.

An export says what is stored; this is what is stored: texts with their marks and checksums, the order of the
rows, the keys that recognise a repeated commit. So a memory that is written elsewhere goes on as if nothing
had happened: the same versions and etags, the same history, the same pending work.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol, TypeGuard

from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.catalogue.label import Label
from ace_graph.memory.pending import PendingItem
from ace_graph.memory.sharing.grant import Grant
from ace_graph.memory.sharing.proposal import Proposal
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.base_and_tail import (
    EMPTY_BASE,
    NO_STAMPS,
    StateHead,
    StoredBase,
    StoredEffect,
    StoredStamps,
    StoredState,
    StoredTouches,
)
from ace_graph.memory.stores.playbooks import NamingStore, PlaybookStore, keeps_playbooks

__all__ = [
    "COPY_SECONDS",
    "CopyableStore",
    "WholeDelta",
    "WholeMemory",
    "WholeStore",
    "WholeTouches",
    "WholeTurn",
    "can_copy",
]


COPY_SECONDS = 600.0
"""How long reading or writing one memory whole may take on a server."""


class WholeDelta(NamedTuple):
    """A commit in the history; `parent` and `etag` may be empty where it changed no content."""

    op_id: str
    n: int
    content_changed: bool
    at: datetime
    author: str
    reason: str
    source: str
    report_json: str
    effect_json: str | None
    effect_bytes: int
    parent: str
    etag: str
    label: Label


class WholeTurn(NamedTuple):
    """A turn's record, and the report of the commit that brought it."""

    op_id: str
    report_json: str
    record_json: str


class WholeTouches(NamedTuple):
    """What the commit at a value of the access clock moved."""

    clock: int
    touches: StoredTouches


@dataclass(frozen=True)
class WholeMemory:
    """A learner's memory, or a named playbook, whose entry has its catalogue's fields.

    Each list is in its order in the store; turns and deltas the oldest first.
    """

    head: StateHead
    access_json: str
    created_at: datetime
    updated_at: datetime
    bases: tuple[StoredBase, ...] = ()
    stamps: StoredStamps | None = None
    touches: tuple[WholeTouches, ...] = ()
    deltas: tuple[WholeDelta, ...] = ()
    turns: tuple[WholeTurn, ...] = ()
    pending: tuple[PendingItem, ...] = ()
    entry: PlaybookEntry | None = None
    grants: tuple[Grant, ...] = ()
    proposals: tuple[Proposal, ...] = ()

    def snapshot(self) -> Snapshot:
        """Return the state. Raises IncompleteState, CorruptPayload, NewerFormat."""
        head = self.head
        base = next((each for each in self.bases if each.n == head.base_n), None)
        effects = sorted(
            StoredEffect(each.n, each.parent, each.etag, each.effect_json)
            for each in self.deltas
            if each.content_changed and each.n > head.base_n
        )
        return StoredState(
            head.version,
            self.access_json,
            head.access_mark,
            base or EMPTY_BASE,
            tuple(effects),
            self.stamps or NO_STAMPS,
            tuple(each.touches for each in self.touches),
        ).snapshot(Snapshot())

    def precedes(self, newer: WholeMemory) -> bool:
        """Whether it is an earlier state of the same memory, without a commit that the newer one lacks."""
        mine, theirs = self.head, newer.head
        return (
            mine.version.epoch == theirs.version.epoch
            and mine.version.n <= theirs.version.n
            and {each.op_id for each in self.deltas} <= {each.op_id for each in newer.deltas}
            and {each.op_id for each in self.turns} <= {each.op_id for each in newer.turns}
        )


class WholeStore(Store, Protocol):
    """A store, or its namespace of named playbooks, that reads and writes what is under a key whole."""

    async def whole(self, key: str) -> WholeMemory | None:
        """Return everything stored under the key, read at one moment; None where there is nothing."""
        ...

    async def put_whole(self, key: str, memory: WholeMemory, held: WholeMemory | None = None) -> bool:
        """Store everything under the key, in place of `held`, in one transaction.

        Returns False and changes nothing where something else than `held` is stored there. Safe to repeat.
        Raises PlaybookExists for a playbook whose owner has another one of that name.
        """
        ...


class CopyableStore(NamingStore, WholeStore, Protocol):
    """A store of learners and named playbooks that can be copied. All stores here are such."""

    @property
    def playbooks(self) -> WholePlaybooks:
        """The named playbooks."""
        ...


class WholePlaybooks(PlaybookStore, WholeStore, Protocol):
    """The namespace of named playbooks of a store that can be copied."""


def can_copy(store: Store) -> TypeGuard[CopyableStore]:
    """Whether a store has the methods of CopyableStore."""
    return keeps_playbooks(store) and all(
        callable(getattr(each, "put_whole", None)) for each in (store, store.playbooks)
    )
