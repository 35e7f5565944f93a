"""Why a turn with a question would be shown each bullet of a playbook, or not: one search, explained."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial
from typing import NamedTuple

from ace_graph.embeddings.meaning import Meaning, Similarities
from ace_graph.memory.bullet import MemoryType
from ace_graph.memory.classify import infer_topic
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.explain import explain
from ace_graph.memory.retrieval.reasons import NoSharedWord, Reason, as_json, in_words, is_shown
from ace_graph.memory.snapshot import Snapshot
from ace_graph.off_loop import LONG_TEXT, read_text
from ace_graph.playbooks.handle import PlaybookHandle
from ace_graph.reasoning.find_bullets import read_word_lists, search_query

__all__ = ["ExplainedBullet", "ExplainedSearch", "explain_search"]

_MANY = 100
"""With more bullets the reasons are found in a thread, as what is in a long text."""


class ExplainedBullet(NamedTuple):
    """A bullet, whether a prompt would hold it, and why: as plain JSON, and in words."""

    id: str
    content: str
    shown: bool
    why: dict[str, object]
    reason: str


class ExplainedSearch(NamedTuple):
    """The playbook as it was searched, and the reason for each bullet by its id; those shown come first.

    `words_only` says why meaning had no part, where it could have had one.
    """

    snapshot: Snapshot
    reasons: Mapping[str, Reason]
    words_only: str | None = None

    @property
    def version(self) -> int | None:
        """The version that was searched; None where nothing is stored."""
        return None if self.snapshot.absent else self.snapshot.version.n

    def bullets(self, *, without_words: bool = True) -> list[ExplainedBullet]:
        """Return the bullets, by default also those that share no word with the question."""
        entries = self.snapshot.playbook.entries
        return [
            ExplainedBullet(key, entries[key].content, is_shown(why), as_json(why), in_words(why))
            for key, why in self.reasons.items()
            if without_words or not isinstance(why, NoSharedWord)
        ]


async def explain_search(
    target: PlaybookHandle,
    reader: str,
    question: str,
    policy: Policy,
    *,
    now: datetime,
    meaning: Meaning | None = None,
    bullet_id: str | None = None,
    memory_types: Collection[MemoryType] | None = None,
) -> ExplainedSearch:
    """Search the playbook at a target as a turn of `reader` would, and return why it finds what it finds.

    With `bullet_id` only that bullet is in the result, and nothing is if there is no such bullet. Raises what
    the store raises.
    """
    snapshot, query = await target.load(), search_query(question)
    await read_word_lists(query)
    near = Similarities()
    if meaning is not None:
        near = await meaning.similarities(query, reader, snapshot.playbook)
    search = partial(
        explain,
        query,
        snapshot.playbook,
        snapshot.access,
        policy,
        now=now,
        bullet_id=bullet_id,
        topic=infer_topic(question),
        memory_types=memory_types or None,
        semantic=near.by_id,
    )
    size = LONG_TEXT + 1 if len(snapshot.playbook) > _MANY else len(question)
    return ExplainedSearch(snapshot, await read_text(size, search), near.problem)
