"""Votes: how a verdict on a turn moves the counters of bullets, once per turn and bullet; and `tag`, by hand.

Every source has one vote per turn; the strongest source that names a bullet decides which counter moves. A
later vote of the same source replaces the earlier one, so counters move by the difference (the only negative
increment there is). When bullets are merged after they were voted on, their counts add up; a new vote on that
turn counts the survivor once. A success resets the setbacks; withdrawing it does not restore them, because
their number is not stored.
"""

from __future__ import annotations

from collections import Counter

from ace_graph.memory.bullet import Bullet, BulletTag
from ace_graph.memory.delta.draft import Draft, Refused
from ace_graph.memory.delta.effect import BaseVoted, Voted
from ace_graph.memory.delta.operations import (
    Add,
    Analyze,
    Judge,
    Merge,
    Operation,
    Reflect,
    Remove,
    Reset,
    Tag,
    Touch,
    Update,
)
from ace_graph.memory.evidence import EVIDENCE_SOURCES, EvidenceSource, tag_of
from ace_graph.memory.foreign import is_foreign
from ace_graph.memory.playbook import BaseVotes, TurnVotes, Vote

Moved = Counter[tuple[str, BulletTag]]
"""How often a turn has moved each counter of each bullet."""


def judge(draft: Draft, operation: Judge) -> None:
    """Record a vote and move the counters by the difference to the earlier votes on the turn."""
    if operation.source not in EVIDENCE_SOURCES:
        raise Refused("a model's opinion moves no counter")
    found: dict[str, None] = {}
    for name in operation.bullet_ids:
        if _is_foreign(draft, name):
            found[name] = None
            continue
        try:
            bullet = draft.locate(name)
        except Refused as refusal:
            draft.reject("judge", name, str(refusal))
            continue
        if not bullet.profile:  # a wrong answer must not take the learner's name away
            found[bullet.id] = None
    named = tuple(found)
    before = draft.fold.votes.now.get(operation.turn_id, {})
    earlier = before.get(operation.source)
    if operation.refines and earlier is not None and earlier.verdict != operation.verdict:
        return  # the source has changed its verdict since
    # An archived bullet keeps its id
    standing: dict[EvidenceSource, Vote] = {
        source: Vote(vote.verdict, tuple(dict.fromkeys(_present_id(draft, n) or n for n in vote.bullet_ids)))
        for source, vote in before.items()
    }
    after: dict[EvidenceSource, Vote] = {**standing, operation.source: Vote(operation.verdict, named)}
    if standing.get(operation.source) == after[operation.source] or not (named or operation.source in before):
        return
    moved = _moved(draft, before)
    for source, vote in after.items():
        if before.get(source) != vote:
            draft.record(Voted(turn_id=operation.turn_id, source=source, **vote._asdict()))
    _move(draft, moved, _moved(draft, after))


def _is_foreign(draft: Draft, name: str) -> bool:
    """Whether a name is that of a bullet which the learner reads and does not own."""
    return name not in draft.entries and is_foreign(name)


def _present_id(draft: Draft, name: str) -> str | None:
    """The present id for an id of an earlier vote; None when the bullet was archived since."""
    if _is_foreign(draft, name):
        return name
    bullet = draft.present(name)
    return None if bullet is None else bullet.id


def _moved(draft: Draft, votes: TurnVotes) -> Moved:
    """The counters that these votes moved: each bullet by its strongest source, once."""
    tags: dict[str, BulletTag] = {}
    for source in EVIDENCE_SOURCES:
        vote = votes.get(source)
        tag = tag_of(vote.verdict) if vote else None
        if vote is not None and tag is not None:
            for name in vote.bullet_ids:
                tags.setdefault(name, tag)
    moved: Moved = Counter()
    for name, tag in tags.items():
        if (bullet_id := _present_id(draft, name)) is not None:
            moved[bullet_id, tag] += 1
    return moved


def _move(draft: Draft, before: Moved, after: Moved) -> None:
    changed = [key for key in {**before, **after} if before[key] != after[key]]
    for bullet_id, tag in changed:
        by = after[bullet_id, tag] - before[bullet_id, tag]
        if _is_foreign(draft, bullet_id):
            old = draft.fold.base_votes.now.get(bullet_id, BaseVotes())
            votes = old._replace(**_counted(old, tag, by))
            draft.record(BaseVoted(bullet_id=bullet_id, **votes._asdict()))
            draft.note("tagged", bullet_id)
        else:
            _count(draft, draft.entries[bullet_id], tag, by)


def tag(draft: Draft, operation: Tag) -> None:
    """Move a counter by hand, as `playbook edit --vote` does: it belongs to no turn and stays."""
    _count(draft, draft.locate(operation.bullet_id), operation.tag, operation.by)


def _count(draft: Draft, bullet: Bullet, tag: BulletTag, by: int) -> None:
    draft.put(bullet.model_copy(update={**_counted(bullet, tag, by), "updated_at": draft.now}))
    draft.note("tagged", bullet.id)
    if tag == "harmful" and by > 0:
        draft.blamed[bullet.id] = None


def _counted(held: Bullet | BaseVotes, tag: BulletTag, by: int) -> dict[str, int]:
    """Return the counter of `tag` moved by `by`, and the failures since the last success after that."""
    if tag == "helpful" and by > 0:
        setbacks = 0
    else:
        setbacks = max(0, held.setbacks + by) if tag == "harmful" else held.setbacks
    return {tag: max(0, getattr(held, tag) + by), "setbacks": setbacks}


# Limits what one turn may change, because its operations come from a model that read untrusted text.
#
# A turn may add and reinforce a limited number of bullets, correct advice that failed on evidence, and
# remove what the learner said about themselves. It may change very few of the existing bullets: give one a
# more exact text, merge bullets that say the same, remove one that did more harm than good. After the
# learner's confirmation a delta of its own may clear the memory. Only people change the core, and
# everything else. Deltas of a host are not limited.


_UNLIMITED = (Touch, Judge, Reflect, Analyze)
"""They change no bullet's text, and are limited elsewhere."""


class TurnLimits:
    """Counts the changes of one delta of a turn; `alone`: it has one operation."""

    def __init__(self, draft: Draft, *, alone: bool = False) -> None:
        self._draft = draft
        self._alone = alone
        self._left = draft.policy.max_turn_changes
        self._rewrites = draft.policy.max_turn_rewrites

    def check(self, operation: Operation) -> None:
        """Raise Refused for an operation that a turn may not make, or that exceeds a limit."""
        if isinstance(operation, _UNLIMITED):
            return
        match operation:
            case Add():
                if operation.pinned:
                    raise Refused("only a person pins a bullet")
            case Update():
                self._count_rewrites(operation.bullet_id)
            case Merge():
                if operation.force or operation.content is not None:
                    raise Refused("only a person merges what does not say the same, or under another text")
                self._count_rewrites(*operation.bullet_ids)
            case Remove():
                bullet = self._draft.present(operation.bullet_id)
                if bullet is not None and not bullet.profile:
                    if bullet.harmful <= bullet.helpful:
                        raise Refused("only evidence or a person removes a bullet")
                    self._count_rewrites(bullet.id)
            case Reset(confirmed=True, bullets=()) if self._alone:
                return
            case _:
                raise Refused(f"a turn may not {operation.op}")
        if self._left == 0:
            raise Refused(f"more than {self._draft.policy.max_turn_changes} changes in one turn")
        self._left -= 1

    def _count_rewrites(self, *names: str) -> None:
        """Count bullets that are changed. Raises Refused for the core and for too many."""
        for name in names:
            bullet = self._draft.present(name)
            if bullet is not None and bullet.core:
                raise Refused("only a person changes what is in every prompt")
        if len(names) > self._rewrites:
            raise Refused(f"more than {self._draft.policy.max_turn_rewrites} bullets rewritten in one turn")
        self._rewrites -= len(names)
