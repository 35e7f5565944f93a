"""Whether bullets are still found by the questions that they came from, once some of them are one.

For every question the memory is searched before and after. A bullet of that question counts as found where it
is retrieved, or the bullet that took it up. The search is the lexical one of every turn, with the same budget
of tokens; embeddings are left out, so that the figures are the same wherever they are computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.retrieve import retrieve
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import TurnRecord

__all__ = ["Figures", "Question", "measure", "questions_of"]


@dataclass(frozen=True)
class Question:
    """The question of a turn, and the bullets that were learned from it or cited in its answer."""

    text: str
    topic: str | None
    bullet_ids: tuple[str, ...]


class Figures(NamedTuple):
    """How many pairs of a question and a bullet of it there are, and in how many the bullet is found."""

    pairs: int = 0
    before: int = 0
    after: int = 0

    @property
    def lowered(self) -> bool:
        """Whether fewer are found than before."""
        return self.after < self.before

    def __str__(self) -> str:
        return f"found {self.before} of {self.pairs} before, {self.after} after"


def questions_of(turns: Iterable[TurnRecord], playbook: Playbook) -> tuple[Question, ...]:
    """Return the questions of these turns, in their order, that bullets of the playbook belong to."""
    taught: dict[str, list[str]] = {}
    for bullet in playbook.entries.values():
        for turn_id in bullet.examples:
            taught.setdefault(turn_id, []).append(bullet.id)
    found: list[Question] = []
    for turn in turns:
        named = (playbook.aliases.get(name, name) for name in (*taught.get(turn.turn_id, ()), *turn.cited))
        ids = tuple(dict.fromkeys(name for name in named if name in playbook.entries))
        if ids and turn.task and not turn.deleted:
            found.append(Question(turn.task, turn.topic, ids))
    return tuple(found)


def measure(
    questions: Sequence[Question], before: Snapshot, after: Snapshot, policy: Policy, now: datetime
) -> Figures:
    """Return what the questions find in two states of one memory."""
    pairs = found_before = found_after = 0
    for question in questions:
        old, new = (_found(question, state, policy, now) for state in (before, after))
        for name in question.bullet_ids:
            pairs += 1
            found_before += name in old
            found_after += after.playbook.aliases.get(name, name) in new
    return Figures(pairs, found_before, found_after)


def _found(question: Question, state: Snapshot, policy: Policy, now: datetime) -> set[str]:
    found = retrieve(question.text, state.playbook, state.access, policy, now=now, topic=question.topic)
    return {scored.bullet.id for scored in (*found.core, *found.retrieved)}
