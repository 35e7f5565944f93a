"""Archives bullets that failed too often, and the weakest ones beyond the cap. The core is exempt.

Only bullets whose counters moved are checked for failures, so one that a person restored stays until it fails
again. `Restore` brings archived bullets back from the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import repeat

from ace_graph.memory.decay import decay_score
from ace_graph.memory.delta.draft import Draft
from ace_graph.memory.delta.effect import Archived


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
    access, rates = draft.access, draft.policy.decay
    candidates = _candidates(draft, excess)
    ordinary = (
        (
            bullet.status == "active",
            bullet.importance >= draft.policy.keep_above,
            decay_score(bullet, access, rates),
            bullet.helpful,
            bullet.created_at,
            place,
            bullet,
        )
        for place, bullet in enumerate(map(draft.entries.__getitem__, candidates))
        if not bullet.core or bullet.status == "quarantined"
    )
    for _, _, score, _, _, _, bullet in nsmallest(excess, ordinary):
        draft.prune(bullet, score)


def _candidates(draft: Draft, excess: int) -> Iterable[str]:
    """Return bullets among which the weakest are, in their order: what the delta changed and, of each group
    of bullets that decay alike, those that were not used for longest.

    Some of a group may be changed or gone by now, so as many more are taken.
    """
    changed = draft.changed_ids()
    wanted = {key for key in changed if key in draft.entries}
    for group, members in draft.playbook.decay_groups.items():
        if not (group.core and group.active):
            wanted.update(_least_used(draft, list(members), excess + len(changed)))
    wanted &= draft.entries.keys()
    return filter(wanted.__contains__, draft.entries)


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
