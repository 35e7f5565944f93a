"""What `learner list` prints.

Does not: show anything of what a learner said.
"""

from __future__ import annotations

from datetime import datetime

from ace_graph.cli.console import console, print_json, printable
from ace_graph.cli.group import say
from ace_graph.cli.stored import on_store
from ace_graph.errors import ConfigurationError
from ace_graph.memory.stores.base import LearnerSummary, Store, can_clean

__all__ = ["list_learners"]


def list_learners(url: str | None, limit: int, after: str, *, as_json: bool) -> None:
    """Print one page of learners, and where the next one begins."""

    async def read(store: Store) -> tuple[LearnerSummary, ...]:
        if not can_clean(store):
            raise ConfigurationError(f"the store {store.name} can't list its learners")
        return await store.learners(limit + 1, after)

    found = on_store(url, read)
    page = found[:limit]
    following = page[-1].learner_id if len(found) > limit else None
    if as_json:
        print_json({"learners": [_fields(each) for each in page], "next": following})
        return
    out = console()
    for each in page:
        last = "no turn" if each.last_turn is None else f"{each.last_turn:%Y-%m-%d %H:%M}"
        out.print(f"{last:<16}  version {each.version:<6} {printable(each.learner_id)}", soft_wrap=True)
    if not page:
        say("no learner is stored" if not after else f"no learner comes behind {printable(after)}")
    elif following is not None:
        say(f"there are more: ace-graph learner list --after {printable(following)}")


def _fields(each: LearnerSummary) -> dict[str, object]:
    return {
        "learner": each.learner_id,
        "version": each.version,
        "last_turn": _iso(each.last_turn),
        "created_at": _iso(each.created_at),
        "changed_at": _iso(each.changed_at),
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
