"""The list of learners, page by page: who has a memory, and who owns named playbooks alone.

page = await list_learners(store, search="ad", limit=100)      # the next: after=page.next
"""

from __future__ import annotations

from dataclasses import dataclass

from ace_graph.memory.stores.base import LearnerSummary
from ace_graph.memory.stores.store import Store

MAX_READ = 5_000
"""Learners that one page of a search looks at, so that it ends soon in a store of millions."""
_READ = 500


@dataclass(frozen=True)
class ListedLearner:
    """One learner; `stored` is None for one who has named playbooks and no memory."""

    learner_id: str
    stored: LearnerSummary | None


@dataclass(frozen=True)
class LearnerPage:
    """Some learners in the order of their ids. `next` is where the next page begins, None after the last."""

    learners: tuple[ListedLearner, ...]
    next: str | None


async def list_learners(store: Store, *, search: str = "", limit: int = 100, after: str = "") -> LearnerPage:
    """Return the learners after the id `after` whose id has `search` in it, however it is capitalised.

    A page of a search may have fewer than `limit` of them, or none, and yet a `next`. Raises what the store
    raises.
    """
    sought = search.casefold()
    found, looked_at, place = list[ListedLearner](), 0, after
    while looked_at < MAX_READ:
        page, more = await _read(store, _READ if sought else limit, place)
        for learner in page:
            if sought in learner.learner_id.casefold():
                found.append(learner)
            place = learner.learner_id
            if len(found) == limit:
                return LearnerPage(tuple(found), place if more or learner is not page[-1] else None)
        if not more:
            return LearnerPage(tuple(found), None)
        looked_at += len(page)
    return LearnerPage(tuple(found), place)


async def _read(store: Store, limit: int, after: str) -> tuple[list[ListedLearner], bool]:
    """Return the next learners of the store, and whether there are more."""
    learners = await store.learners(limit + 1, after)
    owners = await store.playbooks.owners(limit + 1, after)
    known = {summary.learner_id: summary for summary in learners}
    complete = len(learners) <= limit  # beyond the last one that was read there may be more of them
    names = sorted({*known, *(o for o in owners if complete or o <= learners[-1].learner_id)})
    return [ListedLearner(name, known.get(name)) for name in names[:limit]], len(names) > limit
