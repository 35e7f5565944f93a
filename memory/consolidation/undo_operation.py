"""Finds in a history the operation that takes back one commit of a consolidation."""

from __future__ import annotations

from collections.abc import Mapping

from ace_graph.errors import ChangeRefused
from ace_graph.memory.commit import History, HistoryEntry, playbook_at
from ace_graph.memory.delta.effect import Archived, Consolidated, Counted, Effect, Put, Unlinked
from ace_graph.memory.delta.operations import Undo

__all__ = ["undo_of"]

_TAKEN_BACK = (Put, Archived, Consolidated, Counted, Unlinked)


def undo_of(history: History, op_id: str) -> Undo:
    """Return the operation that takes back the commit `op_id`, with what it must find as it was left.

    Raises ChangeRefused for a commit that the history does not hold, or that did more than consolidate.
    """
    entry, effect = _entry(history, op_id)
    merges = any(isinstance(change, Consolidated) for change in effect.changes)
    if not merges or not all(isinstance(change, _TAKEN_BACK) for change in effect.changes):
        raise ChangeRefused(f"{op_id} did not only consolidate: playbook rollback takes back whole versions")
    before, after = playbook_at(history, entry.n - 1), playbook_at(history, entry.n)
    changed = [key for key, bullet in before.entries.items() if after.entries.get(key) != bullet]
    made = [key for key, bullet in after.entries.items() if before.entries.get(key) != bullet]
    aliases = _differing(before.aliases, after.aliases)
    tombstones = _differing(before.tombstones, after.tombstones)
    return Undo(
        undone=op_id,
        before=tuple(before.entries[key] for key in changed),
        after=tuple(after.entries[key] for key in made),
        order=tuple(before.entries),
        aliases_before={key: before.aliases.get(key, "") for key in aliases},
        aliases_after={key: after.aliases.get(key, "") for key in aliases},
        tombstones_before={key: before.tombstones.get(key, "") for key in tombstones},
        tombstones_after={key: after.tombstones.get(key, "") for key in tombstones},
        consolidations=before.consolidations,
        stamps={key: stamp for key, stamp in effect.before.stamps.items() if key in before.entries},
    )


def _entry(history: History, op_id: str) -> tuple[HistoryEntry, Effect]:
    for entry in history.entries:
        if entry.op_id == op_id and entry.effect is not None and entry.n > history.base_n:
            return entry, entry.effect
    raise ChangeRefused(f"the history does not hold {op_id} any more: playbook history lists what it holds")


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [key for key in {**before, **after} if before.get(key) != after.get(key)]
