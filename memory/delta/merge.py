"""Merging bullets that are named, and bringing one back that was archived.

A merge passes the guards that a lesson has to pass to reinforce a bullet, unless a person forces it: of two
claims that were made one, nobody sees any more that there were two.

Does not: search for what could be merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta.add import checked_text, screened_again, slot_occupant, supersede
from ace_graph.memory.delta.draft import Draft, Refused
from ace_graph.memory.delta.effect import Archived
from ace_graph.memory.delta.operations import Merge, Restore
from ace_graph.memory.delta.uses import Uses
from ace_graph.memory.similarity.compare import choose_survivor, compare, merge, mergeable_scope

__all__ = ["merge_named", "restore"]


def merge_named(draft: Draft, operation: Merge) -> None:
    """Merge the bullets that the operation names into the one that stands best."""
    names = dict.fromkeys(draft.locate(name, follow_aliases=False).id for name in operation.bullet_ids)
    if len(names) < 2:
        raise Refused("a merge needs two different bullets")
    found = [draft.entries[name] for name in names]
    text = None if operation.content is None else checked_text(operation.content)
    if not operation.force:
        _guard(found, text, draft.policy.similarity)
    survivor, *others = found
    for other in others:
        survivor = _merge_pair(draft, survivor, other)
    if text is not None:
        draft.put(screened_again(draft, survivor, survivor.model_copy(update={"content": text})))


def _guard(found: Sequence[Bullet], text: str | None, similarity: float) -> None:
    """Raise Refused where two of the bullets, or the new text and one of them, don't say the same."""
    for a, b in combinations(found, 2):
        if not mergeable_scope(a, b):
            raise Refused(f"{a.id} and {b.id} differ in type, polarity, status, section or topic")
        _same(a, b, f"{a.id} and {b.id}", similarity)
    if text is None:
        return
    for bullet in found:
        if bullet.core and bullet.content != text:
            raise Refused(f"{bullet.id} is in every prompt: its text stays")
        _same(
            bullet, bullet.model_copy(update={"content": text}), f"{bullet.id} and the new text", similarity
        )


def _same(a: Bullet, b: Bullet, named: str, similarity: float) -> None:
    compared = compare(a, b, similarity)
    if compared.outcome != "same":
        raise Refused(f"{named} don't say the same ({compared.guard or 'too little alike'})")


def _merge_pair(draft: Draft, a: Bullet, b: Bullet) -> Bullet:
    """Merge two bullets of the playbook and return the survivor; the other one is archived."""
    survivor, dropped = choose_survivor(a, b) if a.core == b.core else (a, b) if a.core else (b, a)
    merged = merge(survivor, dropped, draft.now)
    draft.archive(Archived(bullet=dropped, why="merged", into=survivor.id))
    draft.put(merged)
    draft.pair("merged", survivor.id, dropped.id)
    return merged


def restore(draft: Draft, operation: Restore) -> None:
    """Bring a bullet back as it was; who took its slot or absorbed it gives way."""
    bullet = operation.bullet
    if bullet.id in draft.entries:
        raise Refused("it is in the playbook")
    occupant, survivor = slot_occupant(draft, bullet), draft.survivor_of(bullet.id)
    draft.revive(bullet, operation.place)
    draft.note("restored", bullet.id)
    draft.restamp(Uses(stamps={bullet.id: operation.stamp}))
    if survivor is not None:
        draft.put(_without(survivor, bullet))
        draft.note("updated", survivor.id)
    if occupant is not None:
        supersede(draft, occupant, bullet.id)


def _without(survivor: Bullet, absorbed: Bullet) -> Bullet:
    """The survivor without the counts that are the absorbed bullet's own, so that none counts twice."""
    counts = {
        name: max(least, getattr(survivor, name) - getattr(absorbed, name))
        for name, least in (("helpful", 0), ("harmful", 0), ("neutral", 0), ("seen", 1))
    }
    left = tuple(name for name in survivor.consolidated_from if name != absorbed.id)
    return survivor.model_copy(update={**counts, "consolidated_from": () if left == (survivor.id,) else left})
