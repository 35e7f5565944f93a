"""Votes: how a verdict on a turn moves counters, once per turn and bullet.

Every source has one standing vote per turn; the strongest source that names a bullet decides its tag.
A later vote of the same source replaces the earlier, so the difference is what moves (the only
negative increment there is).

Does not: decide who deserves credit or blame. The writer of the Judge operation does.
"""

from __future__ import annotations

from collections.abc import Mapping

from ace_graph.memory.bullet import BulletTag
from ace_graph.memory.delta import Judge
from ace_graph.memory.draft import Draft, Refused
from ace_graph.memory.effect import BaseVoted, Voted
from ace_graph.memory.evidence import EVIDENCE_SOURCES, EvidenceSource, tag_of
from ace_graph.memory.playbook import BaseVotes, Vote

__all__ = ["Judging"]

TurnTags = dict[str, BulletTag]


class Judging:
    """The votes of one `resolve` call: the ledger as it stands after the operations so far."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._votes: dict[str, Mapping[EvidenceSource, Vote]] = dict(draft.playbook.votes)
        self._base: dict[str, BaseVotes] = dict(draft.playbook.base_votes)

    def judge(self, operation: Judge) -> None:
        """Record the vote and move the counters by the difference to the votes that stood before."""
        if operation.source not in EVIDENCE_SOURCES:
            raise Refused("a model's opinion moves no counter")
        named = self._named(operation)
        before = self._votes.get(operation.turn_id, {})
        after: dict[EvidenceSource, Vote] = {**before, operation.source: Vote(operation.verdict, named)}
        if before.get(operation.source) == after[operation.source] or not (
            named or operation.source in before
        ):
            return
        self._votes[operation.turn_id] = after
        self._draft.changes.append(
            Voted(
                turn_id=operation.turn_id,
                source=operation.source,
                verdict=operation.verdict,
                bullet_ids=named,
            )
        )
        self._move(self._tags(before), self._tags(after))

    def forget(self) -> None:
        """Start from no votes: the playbook was reset."""
        self._votes.clear()
        self._base.clear()

    def _named(self, operation: Judge) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for name in operation.bullet_ids:
            if name.startswith("base:"):
                found[name] = None
                continue
            try:
                bullet = self._draft.locate(name)
            except Refused as refusal:
                self._draft.reject("judge", name, str(refusal))
                continue
            if not bullet.profile:  # a wrong answer must not take the learner's name away
                found[bullet.id] = None
        return tuple(found)

    def _tags(self, votes: Mapping[EvidenceSource, Vote]) -> TurnTags:
        tags: TurnTags = {}
        for source in EVIDENCE_SOURCES:
            vote = votes.get(source)
            tag = tag_of(vote.verdict) if vote else None
            if vote is None or tag is None:
                continue
            for name in vote.bullet_ids:
                bullet_id = self._present(name)
                if bullet_id is not None:
                    tags.setdefault(bullet_id, tag)
        return tags

    def _present(self, name: str) -> str | None:
        """The bullet that an id of an earlier vote means now; None when it was archived since."""
        if name.startswith("base:"):
            return name
        try:
            return self._draft.locate(name).id
        except Refused:
            return None

    def _move(self, before: TurnTags, after: TurnTags) -> None:
        for bullet_id in dict.fromkeys([*before, *after]):
            old, new = before.get(bullet_id), after.get(bullet_id)
            if old == new:
                continue
            if bullet_id.startswith("base:"):
                self._move_base(bullet_id, old, new)
            else:
                self._move_own(bullet_id, old, new)
            self._draft.note("tagged", bullet_id)

    def _move_own(self, bullet_id: str, old: BulletTag | None, new: BulletTag | None) -> None:
        bullet = self._draft.entries[bullet_id]
        moved: dict[str, object] = {"updated_at": self._draft.now}
        if old:
            moved[old] = max(0, getattr(bullet, old) - 1)
        if new:
            moved[new] = getattr(bullet, new) + 1
        self._draft.put(bullet.model_copy(update=moved))

    def _move_base(self, bullet_id: str, old: BulletTag | None, new: BulletTag | None) -> None:
        votes = self._base.get(bullet_id, BaseVotes())
        if old:
            votes = votes._replace(**{old: max(0, getattr(votes, old) - 1)})
        if new:
            votes = votes._replace(**{new: getattr(votes, new) + 1})
        self._base[bullet_id] = votes
        self._draft.changes.append(BaseVoted(bullet_id=bullet_id, **votes._asdict()))
