"""Archives bullets that failed too often, and the weakest ones beyond the cap. The core is exempt.

Only bullets whose counters moved are checked for failures, so one that a person restored stays until it fails
again. `Restore` brings archived bullets back from the history.
"""

from __future__ import annotations

from heapq import nsmallest

from ace_graph.memory.decay import decay_score
from ace_graph.memory.delta.draft import Draft
from ace_graph.memory.delta.effect import Archived

__all__ = ["archive_beyond_cap", "archive_harmful"]


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
        for place, bullet in enumerate(draft.entries.values())
        if not bullet.core or bullet.status == "quarantined"
    )
    for _, _, score, _, _, _, bullet in nsmallest(excess, ordinary):
        draft.prune(bullet, score)
