"""Finds in a history the operations that restore an earlier version, or a single bullet.

    history + present state, version n  ->  Rollback    everything as it was when version n was the newest
    history + present state, an id      ->  Restore     the bullet as it was when it left the playbook

Stamps of use are found by undoing the changes of later effects. Effects of version 0.1 do not record them:
bullets restored from there have no stamp, and so count as just used. Older versions than the stored history
can't be restored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from ace_graph.base.errors import ChangeRefused
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.commit import History, HistoryEntry, playbook_at
from ace_graph.memory.delta.effect import Archived, Consolidated, Counted, Effect, Put, Unlinked
from ace_graph.memory.delta.operations import Restore, Rollback, Undo
from ace_graph.memory.delta.undo import place_among
from ace_graph.memory.foreign import is_foreign
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.use_stamps import Uses, differences, restore


@dataclass(frozen=True)
class ArchivedBullet:
    """A bullet that is no longer in the playbook: in which version it was archived, when and why."""

    bullet: Bullet
    n: int
    at: datetime
    why: str
    into: str | None


def rollback_to(history: History, present: Snapshot, n: int) -> Rollback:
    """Return the operation that restores version `n`.

    Raises HistoryTooShort for a version that the history does not hold.
    """
    then = playbook_at(history, n)
    uses = _uses_at(history, present, n)
    kept = {key: stamp for key, stamp in uses.stamps.items() if key in then.entries or is_foreign(key)}
    return Rollback(
        version=n,
        bullets=then.bullets(),
        aliases=dict(then.aliases),
        tombstones=dict(then.tombstones),
        reflections=then.reflections,
        votes={turn: dict(votes) for turn, votes in then.votes.items()},
        base_votes=dict(then.base_votes),
        consolidations=then.consolidations,
        uses=Uses(clock=uses.clock, stamps=kept),
    )


def restore_of(history: History, present: Snapshot, bullet_id: str) -> Restore:
    """Return the operation that restores an archived bullet as it was, in its place.

    Raises ChangeRefused where it is not archived, or longer ago than the history reaches.
    """
    if present.playbook.get_bullet(bullet_id) is not None:
        raise ChangeRefused(f"{bullet_id} is in the playbook: there is nothing to restore")
    left = next((item for item in archived(history, present.playbook) if item.bullet.id == bullet_id), None)
    if left is None:
        raise ChangeRefused(
            f"the history does not hold {bullet_id}: playbook show --archived lists what it holds"
        )
    before = playbook_at(history, left.n - 1)
    stamp = _uses_at(history, present, left.n - 1).stamps.get(bullet_id, 0)
    place = place_among(present.playbook.entries, bullet_id, before.entries)
    return Restore(bullet=left.bullet, place=place, stamp=stamp)


def archived(history: History, present: Playbook) -> Iterator[ArchivedBullet]:
    """Yield the archived bullets, the latest first, each once."""
    seen = set(present.entries)
    for entry, effect in _backwards(history):
        for change in reversed(effect.changes):
            if isinstance(change, Archived) and change.bullet.id not in seen:
                seen.add(change.bullet.id)
                yield ArchivedBullet(change.bullet, entry.n, entry.at, change.why, change.into)


def _uses_at(history: History, present: Snapshot, n: int) -> Uses:
    """The access clock and the stamps at the end of version `n`."""
    clock, stamps = present.access.access_clock, dict(present.access.stamps)
    if n < present.version.n:
        restore(stamps, present.access.earlier)
    for entry, effect in _backwards(history):
        if entry.n <= n:
            break
        restore(stamps, effect.before.stamps)
        clock = max(clock, effect.before.clock)
        if entry.n - 1 > n:
            restore(stamps, effect.earlier)
    return Uses(clock=clock, stamps=stamps)


def _backwards(history: History) -> Iterator[tuple[HistoryEntry, Effect]]:
    for entry in reversed(history.entries):
        if entry.effect is not None and entry.n > history.base_n:
            yield entry, entry.effect


# Finds in a history the operation that takes back one commit of a consolidation, or of an accepted dream.


_TAKEN_BACK = (Put, Archived, Consolidated, Counted, Unlinked)


def undo_of(history: History, op_id: str) -> Undo:
    """Return the operation that takes back the commit `op_id`, with what it must find as it was left.

    Raises ChangeRefused for a commit that the history does not hold, or that did more than add, merge and
    archive.
    """
    entry, effect = _entry(history, op_id)
    if not all(isinstance(change, _TAKEN_BACK) for change in effect.changes):
        raise ChangeRefused(
            f"{op_id} did more than add, merge and archive: playbook rollback takes back whole versions"
        )
    before, after = playbook_at(history, entry.n - 1), playbook_at(history, entry.n)
    changed = [key for key, bullet in before.entries.items() if after.entries.get(key) != bullet]
    made = [key for key, bullet in after.entries.items() if before.entries.get(key) != bullet]
    return Undo(
        undone=op_id,
        before=tuple(before.entries[key] for key in changed),
        after=tuple(after.entries[key] for key in made),
        order=tuple(before.entries),
        aliases_before=differences(before.aliases, after.aliases, ""),
        aliases_after=differences(after.aliases, before.aliases, ""),
        tombstones_before=differences(before.tombstones, after.tombstones, ""),
        tombstones_after=differences(after.tombstones, before.tombstones, ""),
        consolidations=before.consolidations,
        stamps={key: stamp for key, stamp in effect.before.stamps.items() if key in before.entries},
    )


def _entry(history: History, op_id: str) -> tuple[HistoryEntry, Effect]:
    for entry in history.entries:
        if entry.op_id == op_id and entry.effect is not None and entry.n > history.base_n:
            return entry, entry.effect
    raise ChangeRefused(f"the history does not hold {op_id} any more: playbook history lists what it holds")
