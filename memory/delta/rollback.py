"""What a history knows of earlier states: the operations that bring one back, whole or a single bullet.

    history + present state, version n  ->  Rollback    everything as it was when version n was the newest
    history + present state, an id      ->  Restore     the bullet as it was when it left the playbook

Stamps of use are found by taking back what the effects after version n did to them. An effect of version 0.1
does not say: there a bullet that comes back has no stamp, and so counts as just used.

Does not: reach further back than the history that the store keeps, or change anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from ace_graph.errors import ChangeRefused
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.commit import History, HistoryEntry, playbook_at
from ace_graph.memory.delta.effect import Archived, Effect
from ace_graph.memory.delta.operations import Restore, Rollback
from ace_graph.memory.delta.uses import Uses, put_back
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot

__all__ = ["Left", "archived", "restore_of", "rollback_to"]


@dataclass(frozen=True)
class Left:
    """A bullet that is no longer in the playbook: the version that it left in, when and why."""

    bullet: Bullet
    n: int
    at: datetime
    why: str
    into: str | None


def rollback_to(history: History, present: Snapshot, n: int) -> Rollback:
    """Return the operation that goes back to version `n`.

    Raises HistoryTooShort for a version that the history does not hold.
    """
    then = playbook_at(history, n)
    uses = _uses_at(history, present, n)
    kept = {
        key: stamp for key, stamp in uses.stamps.items() if key in then.entries or key.startswith("base:")
    }
    return Rollback(
        version=n,
        bullets=then.bullets(),
        aliases=dict(then.aliases),
        tombstones=dict(then.tombstones),
        reflections=then.reflections,
        votes={turn: dict(votes) for turn, votes in then.votes.items()},
        base_votes=dict(then.base_votes),
        uses=Uses(clock=uses.clock, stamps=kept),
    )


def restore_of(history: History, present: Snapshot, bullet_id: str) -> Restore:
    """Return the operation that brings a bullet back as it was before it left, to the place where it stood.

    Raises ChangeRefused where it has not left the playbook, or longer ago than the history reaches.
    """
    if present.playbook.get_bullet(bullet_id) is not None:
        raise ChangeRefused(f"{bullet_id} is in the playbook: there is nothing to bring back")
    left = next((item for item in archived(history, present.playbook) if item.bullet.id == bullet_id), None)
    if left is None:
        raise ChangeRefused(f"the history does not hold {bullet_id}: playbook archived lists what it holds")
    before = playbook_at(history, left.n - 1)
    stamp = _uses_at(history, present, left.n - 1).stamps.get(bullet_id, 0)
    return Restore(bullet=left.bullet, place=_place(bullet_id, before, present.playbook), stamp=stamp)


def archived(history: History, present: Playbook) -> Iterator[Left]:
    """Yield the bullets that left and are not back, the latest first, each once."""
    seen = set(present.entries)
    for entry, effect in _backwards(history):
        for change in reversed(effect.changes):
            if isinstance(change, Archived) and change.bullet.id not in seen:
                seen.add(change.bullet.id)
                yield Left(change.bullet, entry.n, entry.at, change.why, change.into)


def _uses_at(history: History, present: Snapshot, n: int) -> Uses:
    """The access clock and the stamps at the last moment of version `n`."""
    clock, stamps = present.access.access_clock, dict(present.access.stamps)
    if n < present.version.n:
        put_back(stamps, present.access.earlier)
    for entry, effect in _backwards(history):
        if entry.n <= n:
            break
        put_back(stamps, effect.before.stamps)
        clock = max(clock, effect.before.clock)
        if entry.n - 1 > n:
            put_back(stamps, effect.earlier)
    return Uses(clock=clock, stamps=stamps)


def _backwards(history: History) -> Iterator[tuple[HistoryEntry, Effect]]:
    for entry in reversed(history.entries):
        if entry.effect is not None and entry.n > history.base_n:
            yield entry, entry.effect


def _place(bullet_id: str, before: Playbook, present: Playbook) -> int:
    """How many bullets stand up to the nearest of those before it that is still there."""
    places: Mapping[str, int] = {key: place for place, key in enumerate(present.entries, 1)}
    place = 0
    for key in before.entries:
        if key == bullet_id:
            break
        place = places.get(key, place)
    return place
