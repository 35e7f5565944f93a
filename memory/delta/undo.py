"""The operation Undo: what one commit did to bullets and links is taken back, and nothing else.

Unlike a Rollback it leaves alone what came later. What it brings back stands where it stood. It is refused
where something that it would overwrite has changed since, and names that; and behind other operations of its
delta, whose votes and insights it would take back with its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta.draft import Draft, Refused
from ace_graph.memory.delta.effect import Archived, Cleared, Rewound
from ace_graph.memory.delta.operations import Reset, Rollback, Undo
from ace_graph.memory.playbook import id_number
from ace_graph.memory.use_stamps import Uses, differences, restore

_NAMES_SHOWN = 5


def undo(draft: Draft, operation: Undo) -> None:
    """Bring back the bullets, links and stamps that the commit changed."""
    changed = _changed_since(draft, operation)
    if changed:
        names = ", ".join(changed[:_NAMES_SHOWN])
        raise Refused(f"{names} changed since: take that back first, or use playbook rollback")
    before = {bullet.id: bullet for bullet in operation.before}
    aliases, tombstones = (dict(links) for links in draft.links())
    for bullet in operation.after:
        if bullet.id not in before:
            draft.archive(Archived(bullet=bullet, why="removed"))
            draft.note("removed", bullet.id)
    for bullet in operation.before:
        if bullet.id in draft.entries:
            draft.put(bullet)
            draft.note("updated", bullet.id)
        else:
            draft.revive(bullet, place_among(draft.entries, bullet.id, operation.order))
            draft.note("restored", bullet.id)
    restore(aliases, operation.aliases_before)
    restore(tombstones, operation.tombstones_before)
    draft.record(
        Rewound(
            aliases=aliases,
            tombstones=tombstones,
            reflections=draft.playbook.reflections,
            votes={turn: dict(votes) for turn, votes in draft.playbook.votes.items()},
            base_votes=dict(draft.playbook.base_votes),
            consolidations=operation.consolidations,
        )
    )
    draft.restamp(Uses(stamps={key: stamp for key, stamp in operation.stamps.items() if key in before}))


def _changed_since(draft: Draft, operation: Undo) -> list[str]:
    """The bullets and links that are not as the commit left them."""
    left = {bullet.id: bullet for bullet in operation.after}
    ids = dict.fromkeys(bullet.id for bullet in (*operation.after, *operation.before))
    changed = {name: None for name in ids if draft.entries.get(name) != left.get(name)}
    aliases, tombstones = draft.links()
    for present, after in ((aliases, operation.aliases_after), (tombstones, operation.tombstones_after)):
        changed |= {name: None for name, target in after.items() if present.get(name, "") != target}
    return list(changed)


def place_among(present: Iterable[str], gone: str, order: Iterable[str]) -> int:
    """Return how many present bullets there are up to the last that came before `gone` in the old order."""
    places = {key: place for place, key in enumerate(present, 1)}
    earlier = takewhile(lambda key: key != gone, order)
    return next((places[key] for key in reversed(tuple(earlier)) if key in places), 0)


# Operations on a whole playbook: Reset replaces all bullets, Rollback restores an earlier version.


def reset(draft: Draft, operation: Reset) -> None:
    """Archive every bullet, delete all links, votes and insights, and add the operation's bullets."""
    draft.record(Cleared())
    wanted = {bullet.id for bullet in operation.bullets}
    held_back = {bullet.id for bullet in draft.entries.values() if bullet.status == "quarantined"}
    for bullet in list(draft.entries.values()):
        draft.archive(Archived(bullet=bullet, why="reset"))
        if bullet.id not in wanted:
            draft.note("removed", bullet.id)
    added: dict[str, Bullet] = {}
    for bullet in operation.bullets:
        if bullet.id in added:
            draft.reject("reset", bullet.id, "two bullets have this id")
            continue
        added[bullet.id] = bullet
        draft.put(bullet)
        draft.note("restored", bullet.id)
        if bullet.status == "quarantined" and bullet.id not in held_back:
            draft.note("quarantined", bullet.id)
    draft.reserve(max(map(id_number, added), default=0))
    draft.access_reset = not added


def rollback(draft: Draft, operation: Rollback) -> None:
    """Restore everything but the id counter; only bullets that differ are written."""
    wanted = {bullet.id: bullet for bullet in operation.bullets}
    for bullet in list(draft.entries.values()):
        if bullet.id not in wanted:
            draft.archive(Archived(bullet=bullet, why="reset"))
            draft.note("removed", bullet.id)
    for bullet in wanted.values():
        known = draft.entries.get(bullet.id)
        if known is None:
            draft.revive(bullet)
            draft.note("restored", bullet.id)
        elif known != bullet:
            draft.put(bullet)
            draft.note("updated", bullet.id)
    order = tuple(wanted)
    draft.record(
        Rewound(
            order=() if order == tuple(draft.entries) else order,
            **{name: getattr(operation, name) for name in Rewound.model_fields.keys() - {"kind", "order"}},
        )
    )
    draft.access_reset = False
    stamps = differences(operation.uses.stamps, draft.access.stamps, 0)
    draft.restamp(Uses(clock=operation.uses.clock, stamps=stamps))
