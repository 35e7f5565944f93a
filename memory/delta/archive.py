"""What leaves the playbook without being named: what evidence speaks against, and what is beyond the cap.

The core is spared by both, and the history keeps what left: `Restore` brings it back.

Does not: look at bullets whose counters did not move. One that a person brought back stays until it fails
again.
"""

from __future__ import annotations

from heapq import nsmallest

from ace_graph.memory.decay import decay_score
from ace_graph.memory.delta.draft import Draft
from ace_graph.memory.delta.effect import Archived

__all__ = ["archive_beyond_cap", "archive_harmful"]


def archive_harmful(draft: Draft) -> None:
    """Archive what was blamed in this delta and has failed so much more often than it helped."""
    for name in draft.blamed:
        bullet = draft.entries.get(name)
        if bullet is None or bullet.core or bullet.harmful - bullet.helpful < draft.policy.harm_limit:
            continue
        draft.archive(Archived(bullet=bullet, why="harmful"))
        draft.note("removed", name)


def archive_beyond_cap(draft: Draft) -> None:
    """Archive the weakest bullets until the cap holds: by decay score, helpful, then the oldest.

    Those in quarantine go first, of the profile or not. The core is exempt, and so does not count towards the
    cap's room either way: when all that is left is core, the playbook may exceed the cap.
    """
    excess = len(draft.entries) - draft.policy.max_bullets
    if excess <= 0:
        return
    access, rates = draft.access, draft.policy.decay
    ordinary = (
        (
            bullet.status == "active",
            decay_score(bullet, access, rates),
            bullet.helpful,
            bullet.created_at,
            place,
            bullet,
        )
        for place, bullet in enumerate(draft.entries.values())
        if not bullet.core or bullet.status == "quarantined"
    )
    for _, score, _, _, _, bullet in nsmallest(excess, ordinary):
        draft.prune(bullet, score)
