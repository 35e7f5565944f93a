"""Everything that a store keeps under one key, as it is stored: read whole, and written whole.

An export says what is stored; this is what is stored: texts with their marks and checksums, the order of the
rows, the keys that recognise a repeated commit. So a memory that is written elsewhere goes on as if nothing
had happened: the same versions and etags, the same history, the same pending work.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from ace_graph.memory.serialization import dump_access, dump_effect, dump_playbook, dump_record
from ace_graph.memory.snapshot import Label, Snapshot
from ace_graph.memory.stores.snapshot_and_log import (
    EMPTY_BASE,
    NO_STAMPS,
    StateHead,
    StoredBase,
    StoredEffect,
    StoredStamps,
    StoredState,
    StoredTouches,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ace_graph.memory.catalogue import PlaybookEntry
    from ace_graph.memory.commit import HistoryEntry, PendingItem
    from ace_graph.memory.sharing import Grant, Proposal
    from ace_graph.memory.stores.base import LearnerExport, SharingExport


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
    touches: tuple[StoredTouches, ...] = ()
    deltas: tuple[WholeDelta, ...] = ()
    turns: tuple[WholeTurn, ...] = ()
    pending: tuple[PendingItem, ...] = ()
    entry: PlaybookEntry | None = None
    grants: tuple[Grant, ...] = ()
    proposals: tuple[Proposal, ...] = ()

    def snapshot(self) -> Snapshot:
        """Return the state. Raises IncompleteState, CorruptPayload, NewerFormat."""
        head = self.head
        base = next((base for base in self.bases if base.n == head.base_n), None)
        effects = sorted(
            StoredEffect(delta.n, delta.parent, delta.etag, delta.effect_json)
            for delta in self.deltas
            if delta.content_changed and delta.n > head.base_n
        )
        return StoredState(
            head.version,
            self.access_json,
            head.access_mark,
            base or EMPTY_BASE,
            tuple(effects),
            self.stamps or NO_STAMPS,
            self.touches,
        ).snapshot(Snapshot())

    def precedes(self, newer: WholeMemory) -> bool:
        """Whether it is an earlier state of the same memory, without a commit that the newer one lacks."""
        mine, theirs = self.head, newer.head
        return (
            mine.version.epoch == theirs.version.epoch
            and mine.version.n <= theirs.version.n
            and {delta.op_id for delta in self.deltas} <= {delta.op_id for delta in newer.deltas}
            and {turn.op_id for turn in self.turns} <= {turn.op_id for turn in newer.turns}
        )


# The JSON document of `learner export`, with everything stored about one learner.
#
# It is generated in pieces, one line for each turn and conversation, so it is never in memory as a whole.


CONVERSATIONS_AND_END = ('"conversations": [', "]}\n")
"""The text before and after the conversations, which follow the memory, separated by commas."""


def memory_pieces(found: LearnerExport) -> Iterator[str]:
    """Yield the first part of the document: memory, history, turns, pending work, playbooks, sharing."""
    yield f'{{"learner_id": {_json(found.learner_id)},\n'
    yield from _content_pieces(found)
    yield ',\n"turns": ['
    yield from _separated(map(dump_record, found.turns))
    yield '],\n"pending": ['
    # Lease and owner describe a process of the operator, not the learner.
    yield from _separated(item.model_dump_json(exclude={"lease", "owner"}) for item in found.pending)
    yield '],\n"playbooks": ['
    for place, playbook in enumerate(found.playbooks):
        yield f"{',' if place else ''}\n{{{_fields(playbook.entry)},\n"
        yield from _content_pieces(playbook.stored)
        yield "}"
    yield f'],\n"sharing": {_json(_sharing(found.sharing))},\n'


def _content_pieces(found: LearnerExport) -> Iterator[str]:
    """Yield the fields of a memory or of a named playbook: version, content, access part and history."""
    snapshot, history = found.snapshot, found.history
    version = None if snapshot.absent else snapshot.version.n
    yield f'"version": {_json(version)},\n'
    yield f'"playbook": {dump_playbook(snapshot.playbook)},\n'
    yield f'"access": {dump_access(snapshot.access)},\n'
    base = f'"base_version": {history.base_n}, "base": {dump_playbook(history.base)}'
    yield f'"history": {{{base}, "entries": ['
    yield from _separated(_json(_entry(entry)) for entry in history.entries)
    yield "]}"


def _fields(entry: PlaybookEntry) -> str:
    names = (
        *("playbook_id", "name", "description", "scope", "visibility", "lessons"),
        *("created_at", "updated_at"),
    )
    return _json({name: getattr(entry, name) for name in names})[1:-1]


def _entry(entry: HistoryEntry) -> Mapping[str, object]:
    return {
        "version": entry.n,
        "label": str(entry.label),
        **{name: getattr(entry, name) for name in ("op_id", "at", "author", "reason", "source")},
        "report": entry.report.model_dump(mode="json"),
        "effect": None if entry.effect is None else json.loads(dump_effect(entry.effect)),
    }


def _sharing(sharing: SharingExport) -> Mapping[str, object]:
    return {
        "teams": sharing.teams,
        "grants": [
            {
                "playbook_id": grant.playbook_id,
                "subject": str(grant.subject),
                "relation": grant.relation,
                "by": grant.by,
                "at": grant.at,
            }
            for grant in sharing.grants
        ],
        "proposals": [proposal.model_dump(mode="json") for proposal in sharing.proposals],
    }


def _separated(values: Iterable[str]) -> Iterator[str]:
    for place, value in enumerate(values):
        yield f"{',' if place else ''}\n{value}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=datetime.isoformat)
