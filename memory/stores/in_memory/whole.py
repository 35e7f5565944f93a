"""What the in-memory store holds under a key as texts, and back; see `stores.whole`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ace_graph.memory.commit import HistoryEntry
from ace_graph.memory.pending import PendingItem
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import (
    dump_effect,
    dump_record,
    dump_report,
    load_effect,
    load_record,
    load_report,
)
from ace_graph.memory.stores.base_and_tail import (
    Sizes,
    StateHead,
    StoredBase,
    StoredStamps,
    base_checksum,
    stamps_checksum,
)
from ace_graph.memory.stores.in_memory.learner import HeldLearner, HeldTurn
from ace_graph.memory.stores.stored_form import dump_base, dump_small_access, dump_stamps, load_base
from ace_graph.memory.stores.whole import WholeDelta, WholeMemory, WholeTurn

__all__ = ["held_of", "whole_of"]


def whole_of(held: HeldLearner, items: Iterable[PendingItem]) -> WholeMemory:
    """Return all that is held, and the pending work, as texts; without a catalogue's entry."""
    version, access = held.snapshot.version, held.snapshot.access
    bases, stamps = tuple(_bases(held)), dump_stamps(access.grown)
    size = next(len(each.text) for each in bases if each.n == version.n)
    return WholeMemory(
        StateHead(
            version,
            access.access_clock,
            access.mark,
            held.marks,
            version.n,
            Sizes(size),
            Sizes(len(stamps)),
            held.keys_from,
        ),
        dump_small_access(access),
        held.created_at,
        held.changed_at,
        bases,
        StoredStamps(access.mark, stamps_checksum(access.mark, stamps), stamps),
        (),
        tuple(map(_delta, held.deltas)),
        tuple(
            WholeTurn(row.op_id, dump_report(held.applied[row.op_id]), dump_record(row.record))
            for row in held.rows
        ),
        tuple(items),
    )


def _bases(held: HeldLearner) -> Iterator[StoredBase]:
    """Yield the contents that are kept, and the present one, which has an etag."""
    version, present = held.snapshot.version, held.snapshot.playbook
    for n, content in sorted({**held.bases, version.n: present}.items()):
        if n or not version.n:
            text, etag = dump_base(content), version.etag if n == version.n else ""
            yield StoredBase(n, etag, base_checksum(n, etag, text), text)


def _delta(entry: HistoryEntry) -> WholeDelta:
    effect = None if entry.effect is None else dump_effect(entry.effect)
    return WholeDelta(
        entry.op_id,
        entry.n,
        entry.effect is None or bool(entry.effect.changes),
        entry.at,
        entry.author,
        entry.reason,
        entry.source,
        dump_report(entry.report),
        effect,
        len(effect or ""),
        "",
        "",
        entry.label,
    )


def held_of(memory: WholeMemory) -> HeldLearner:
    """Return what the store holds of a memory. Raises IncompleteState, CorruptPayload, NewerFormat."""
    deltas = [_entry(each) for each in memory.deltas]
    applied = {each.op_id: each.report for each in deltas}
    applied |= {each.op_id: load_report(each.report_json) for each in memory.turns}
    return HeldLearner(
        memory.snapshot(),
        applied,
        deltas,
        [HeldTurn(n, each.op_id, load_record(each.record_json)) for n, each in enumerate(memory.turns, 1)],
        memory.head.marks,
        {0: Playbook(), **{each.n: load_base(each.checked().text) for each in memory.bases}},
        memory.head.keys_from,
        memory.created_at,
        memory.updated_at,
    )


def _entry(delta: WholeDelta) -> HistoryEntry:
    return HistoryEntry(
        delta.n,
        delta.op_id,
        delta.at,
        delta.author,
        delta.reason,
        delta.source,
        load_report(delta.report_json),
        None if delta.effect_json is None else load_effect(delta.effect_json),
        delta.label,
    )
