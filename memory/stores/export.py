"""The JSON document of `learner export`, with everything stored about one learner.

It is generated in pieces, one line for each turn and conversation, so it is never in memory as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.commit import HistoryEntry
from ace_graph.memory.serialization import dump_access, dump_effect, dump_playbook, dump_record
from ace_graph.memory.stores.base import LearnerExport, SharingExport

__all__ = ["CONVERSATIONS_AND_END", "memory_pieces"]

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
    for place, each in enumerate(found.playbooks):
        yield f"{',' if place else ''}\n{{{_fields(each.entry)},\n"
        yield from _content_pieces(each.stored)
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
    yield from _separated(_json(_entry(each)) for each in history.entries)
    yield "]}"


def _fields(entry: PlaybookEntry) -> str:
    fields = {
        "playbook_id": entry.playbook_id,
        "name": entry.name,
        "description": entry.description,
        "scope": entry.scope,
        "visibility": entry.visibility,
        "created_at": entry.created_at.isoformat(),
        "updated_at": entry.updated_at.isoformat(),
    }
    return _json(fields)[1:-1]


def _entry(entry: HistoryEntry) -> Mapping[str, object]:
    return {
        "version": entry.n,
        "label": str(entry.label),
        "op_id": entry.op_id,
        "at": entry.at.isoformat(),
        "author": entry.author,
        "reason": entry.reason,
        "source": entry.source,
        "report": entry.report.model_dump(mode="json"),
        "effect": None if entry.effect is None else json.loads(dump_effect(entry.effect)),
    }


def _sharing(sharing: SharingExport) -> Mapping[str, object]:
    return {
        "teams": sharing.teams,
        "grants": [
            {
                "playbook_id": each.playbook_id,
                "subject": str(each.subject),
                "relation": each.relation,
                "by": each.by,
                "at": each.at.isoformat(),
            }
            for each in sharing.grants
        ],
        "proposals": [each.model_dump(mode="json") for each in sharing.proposals],
    }


def _separated(values: Iterable[str]) -> Iterator[str]:
    for place, value in enumerate(values):
        yield f"{',' if place else ''}\n{value}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
