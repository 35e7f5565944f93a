"""Archives bullets that failed too often, and the weakest ones beyond the cap. The core is exempt.

Of far more new bullets than the cap holds, the weakest are refused before they are compared: an import of a
megabyte would otherwise screen, compare and archive 17,000 bullets to keep 1,000.

Only bullets whose counters moved are checked for failures, so one that a person restored stays until it fails
again. `Restore` brings archived bullets back from the history.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from heapq import nlargest, nsmallest
from itertools import pairwise, repeat
from operator import itemgetter

from ace_graph.memory.bullet import PROFILE_SECTIONS
from ace_graph.memory.decay import decay_score, least_score
from ace_graph.memory.delta.draft import Draft
from ace_graph.memory.delta.effect import Archived
from ace_graph.memory.delta.operations import Add, Operation
from ace_graph.memory.policy import Policy

PLAYBOOK_FULL = "the playbook is full: raise ACE_MAX_BULLETS"
_MARGIN = 500
"""How many Adds beyond the cap are read: some of them merge."""
_Weakness = tuple[bool, bool, float, int, datetime]
"""Whether a bullet is active and important, its strength, `helpful`, since when it is there."""


def archive_harmful(draft: Draft) -> None:
    """Archive bullets that this delta blamed, once harmful - helpful reaches the harm limit."""
    for name in draft.blamed:
        bullet = draft.entries.get(name)
        if bullet is None or bullet.core or bullet.harmful - bullet.helpful < draft.policy.harm_limit:
            continue
        draft.archive(Archived(bullet=bullet, why="harmful"))
        draft.note("removed", name)


def archive_beyond_cap(draft: Draft) -> None:
    """Archive the weakest bullets until the cap holds: by decay score, helpful, then the oldest.

    Quarantined bullets go first, also those of the profile, and important ones last. The core is exempt, so
    a playbook with a large core may exceed the cap.
    """
    excess = len(draft.entries) - draft.policy.max_bullets
    if excess <= 0:
        return
    # Bullets among which the weakest are: what the delta changed and, of each group of bullets that decay
    # alike, those that were not used for longest. Some of a group may be changed or gone by now, so as many
    # more are taken. Groups with the weaker bullets come first, until none of the others can be as weak
    changed = draft.changed_ids()
    ranked = _ranked(draft, changed)
    for least, group in _weaker_first(draft):
        if len(ranked) >= excess and ranked[excess - 1][0][:3] < least:
            break
        unused = _least_used(draft, list(group), excess + len(changed))
        ranked += _ranked(draft, [name for name in unused if name not in changed])
        ranked.sort()
    if any(one[0] == following[0] for one, following in pairwise(ranked[: excess + 1])):
        names = {name for _, name in ranked}
        places = {name: place for place, name in enumerate(filter(names.__contains__, draft.entries))}
        ranked.sort(key=lambda each: (each[0], places[each[1]]))
    for (_, _, score, _, _), name in ranked[:excess]:
        draft.prune(draft.entries[name], score)


def _weaker_first(draft: Draft) -> list[tuple[tuple[bool, bool, float], Collection[str]]]:
    """Return the groups of bullets that may be archived, and before each what no member is weaker than."""
    stamps, clock, policy = draft.access.stamps, draft.access.access_clock, draft.policy
    idle = clock - min(stamps.values(), default=clock)
    groups = [
        ((group.active, group.importance >= policy.keep_above, least_score(group, idle, policy.decay)), names)
        for group, names in draft.playbook.decay_groups.items()
        if not (group.core and group.active)
    ]
    return sorted(groups, key=itemgetter(0))


def _ranked(draft: Draft, names: Iterable[str]) -> list[tuple[_Weakness, str]]:
    """Return those of the bullets that may be archived, the weakest first."""
    rates, keep_above = draft.policy.decay, draft.policy.keep_above
    bullets = [draft.entries[name] for name in names if name in draft.entries]
    return sorted(
        (
            (
                bullet.status == "active",
                bullet.importance >= keep_above,
                decay_score(bullet, draft.access, rates),
                bullet.helpful,
                bullet.created_at,
            ),
            bullet.id,
        )
        for bullet in bullets
        if not bullet.core or bullet.status == "quarantined"
    )


def adds_beyond_cap(operations: Sequence[Operation], policy: Policy) -> frozenset[int]:
    """Return the positions of Adds that are refused unread: 500 beyond the cap are read, some of them merge.

    The order is that in which the cap archives: quarantined bullets are refused first, then unimportant, weak
    and early ones, and the core last.
    """
    adds = [(place, each) for place, each in enumerate(operations) if isinstance(each, Add)]
    if len(adds) <= (admitted := policy.max_bullets + _MARGIN):
        return frozenset()
    strongest = nlargest(
        admitted,
        (
            (
                add.status == "active",
                add.pinned or add.slot is not None or add.section in PROFILE_SECTIONS,
                add.importance >= policy.keep_above,
                add.helpful - add.harmful,
                add.helpful,
                place,
            )
            for place, add in adds
        ),
    )
    return frozenset(place for place, _ in adds) - {place for *_, place in strongest}


def _least_used(draft: Draft, members: Sequence[str], many: int) -> Sequence[str]:
    """Return at least `many` members of a group, or all: none of the others is weaker, or as weak."""
    if len(members) <= many:
        return members
    clock = draft.access.access_clock
    stamps = list(map(draft.access.stamps.get, members, repeat(clock)))
    least = nsmallest(many + 1, set(stamps))
    if len(least) <= many:
        return members
    last, following = (draft.playbook.entries[members[stamps.index(each)]] for each in least[-2:])
    access, rates = draft.access, draft.policy.decay
    if decay_score(last, access, rates) == decay_score(following, access, rates):
        return members
    return [key for key, stamp in zip(members, stamps, strict=True) if stamp < least[-1]]
