"""Groups of bullets that could be one, in a playbook.

    by rules     every member says what the first one says (`compare`), so the first one's text stands for all
    for a model  the members are alike, but no rule can tell whether they say the same

The first one of a group is its most informative text: the most numbers, names and the like, then the longest.
That depends on texts alone, not on votes; so a second pass over what the first one made finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.similarity.compare import are_distinct, compare, mergeable_scope
from ace_graph.memory.similarity.losses import items_of, losses

__all__ = ["MAX_GROUP", "Group", "find_groups", "similar_groups"]

MAX_GROUP = 64
"""The most members of a group by rules."""

MAX_PROPOSED = 8
"""The most members of a group for a model, which has to read them all."""

_NOMINATED = 64
_ALIKE = 0.5
"""The similarity from which a pair that no rule can judge is shown to a model."""

_OPEN_GUARDS = (None, "words", "subject", "symbol")
"""What may differ between such a pair; numbers, units, negations, opposites, directions and order may not."""


@dataclass(frozen=True)
class Group:
    """Bullets that could be one, the most informative first; `by` says who can tell if they are."""

    bullets: tuple[Bullet, ...]
    by: Literal["rules", "model"] = "rules"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the members."""
        return tuple(bullet.id for bullet in self.bullets)


@dataclass(frozen=True)
class _Candidates:
    """The bullets to group, the most informative first, and for each the ids of those that may be alike."""

    playbook: Playbook
    ordered: tuple[Bullet, ...]
    similarity: float
    close: Mapping[str, set[str]]


def find_groups(playbook: Playbook, bullets: Iterable[Bullet], similarity: float) -> tuple[Group, ...]:
    """Return the groups among `bullets` of the playbook, those by rules first; a bullet is in one at most.

    `similarity` (0-1) is what two texts need to count as the same. The order of the bullets changes nothing.
    """
    candidates = _candidates(playbook, bullets, similarity)
    by_rules = _grouped(candidates, set(), _same, MAX_GROUP)
    taken = {name for members in by_rules for name in (bullet.id for bullet in members)}
    for_model = _grouped(candidates, taken, _alike, MAX_PROPOSED)
    return (
        *(Group(tuple(members)) for members in by_rules),
        *(Group(tuple(members), "model") for members in for_model),
    )


def similar_groups(playbook: Playbook, similarity: float = 0.9) -> tuple[tuple[str, ...], ...]:
    """Return the ids of bullets that could be one, group by group, of a whole playbook."""
    return tuple(group.ids for group in find_groups(playbook, playbook.bullets(), similarity))


def _candidates(playbook: Playbook, bullets: Iterable[Bullet], similarity: float) -> _Candidates:
    ordered = sorted(bullets, key=_information)
    wanted = {bullet.id for bullet in ordered}
    close: dict[str, set[str]] = {name: set() for name in wanted}
    for bullet in ordered:
        near = {
            *playbook.hashes.get(bullet.content_hash, ()),
            *playbook.index.nominate(bullet.content, _NOMINATED),
        }
        for name in (near & wanted) - {bullet.id}:
            close[bullet.id].add(name)
            close[name].add(bullet.id)
    return _Candidates(playbook, tuple(ordered), similarity, close)


def _information(bullet: Bullet) -> tuple[int, int, str, str]:
    return -len(items_of(bullet.content)), -len(bullet.content), bullet.content, bullet.id


def _grouped(
    candidates: _Candidates,
    taken: set[str],
    fits: Callable[[Sequence[Bullet], Bullet, float], bool],
    most: int,
) -> list[list[Bullet]]:
    """Group each bullet that is left with those left that fit, beginning with the most informative."""
    place = {bullet.id: at for at, bullet in enumerate(candidates.ordered)}
    used, found = set(taken), list[list[Bullet]]()
    for first in candidates.ordered:
        if first.id in used:
            continue
        members = [first]
        for name in sorted(candidates.close[first.id] - used, key=place.__getitem__):
            other = candidates.playbook.entries[name]
            if len(members) < most and _joinable(members, other):
                members += [other] if fits(members, other, candidates.similarity) else []
        if len(members) > 1:
            used.update(bullet.id for bullet in members)
            found.append(members)
    return found


def _joinable(members: Sequence[Bullet], other: Bullet) -> bool:
    return all(mergeable_scope(each, other) and not are_distinct(each, other) for each in members)


def _same(members: Sequence[Bullet], other: Bullet, similarity: float) -> bool:
    """Whether the first one's text can stand for the other one, too."""
    first = members[0]
    if first.content_hash == other.content_hash:
        return True
    if losses([other.content], first.content) or compare(first, other, similarity).outcome != "same":
        return False
    return all(compare(each, other, similarity).outcome != "rival" for each in members[1:])


def _alike(members: Sequence[Bullet], other: Bullet, similarity: float) -> bool:
    """Whether a model should tell if the other one says what the members say."""
    compared = [compare(each, other, similarity) for each in members]
    return all(
        each.outcome != "rival" and each.guard in _OPEN_GUARDS and each.score >= _ALIKE for each in compared
    )
