"""Votes: how a verdict on a turn moves the counters of bullets, once per turn and bullet; and `tag`, by hand.

Every source has one vote per turn; the strongest source that names a bullet decides which counter moves. A
later vote of the same source replaces the earlier one, so counters move by the difference (the only negative
increment there is). When bullets are merged after they were voted on, their counts add up; a new vote on that
turn counts the survivor once. A success resets the setbacks; withdrawing it does not restore them, because
their number is not stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ace_graph.base.copy_on_write import CopyOnWrite
from ace_graph.memory.bullet import BulletTag
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
from ace_graph.memory.playbook import BaseVotes, Vote

TurnVotes = Mapping[EvidenceSource, Vote]
Moved = Counter[tuple[str, BulletTag]]
"""How often a turn has moved each counter of each bullet."""


class VoteLedger:
    """The votes after the operations so far, inside one call of `resolve`."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._votes = CopyOnWrite(draft.playbook.votes)
        self._base = CopyOnWrite(draft.playbook.base_votes)

    def judge(self, operation: Judge) -> None:
        """Record the vote and move the counters by the difference to the earlier votes."""
        if operation.source not in EVIDENCE_SOURCES:
            raise Refused("a model's opinion moves no counter")
        found: dict[str, None] = {}
        for name in operation.bullet_ids:
            if self._is_foreign(name):
                found[name] = None
                continue
            try:
                bullet = self._draft.locate(name)
            except Refused as refusal:
                self._draft.reject("judge", name, str(refusal))
                continue
            if not bullet.profile:  # a wrong answer must not take the learner's name away
                found[bullet.id] = None
        named = tuple(found)
        before = self._votes.now.get(operation.turn_id, {})
        earlier = before.get(operation.source)
        if operation.refines and earlier is not None and earlier.verdict != operation.verdict:
            return  # the source has changed its verdict since
        standing: dict[EvidenceSource, Vote] = {s: self._with_present_ids(vote) for s, vote in before.items()}
        after: dict[EvidenceSource, Vote] = {**standing, operation.source: Vote(operation.verdict, named)}
        if standing.get(operation.source) == after[operation.source] or not (
            named or operation.source in before
        ):
            return
        self._votes.writable()[operation.turn_id] = after
        for source, vote in after.items():
            if before.get(source) != vote:
                self._draft.changes.append(
                    Voted(
                        turn_id=operation.turn_id,
                        source=source,
                        verdict=vote.verdict,
                        bullet_ids=vote.bullet_ids,
                    )
                )
        self._move(self._moved(before), self._moved(after))

    def replace_all(self, votes: Mapping[str, TurnVotes], base_votes: Mapping[str, BaseVotes]) -> None:
        """Replace all votes: the playbook was reset or rolled back."""
        self._votes, self._base = CopyOnWrite(votes), CopyOnWrite(base_votes)

    def _is_foreign(self, name: str) -> bool:
        """Whether a name is that of a bullet which the learner reads and does not own."""
        return name not in self._draft.entries and is_foreign(name)

    def _with_present_ids(self, vote: Vote) -> Vote:
        """The vote with the present ids of its bullets; an archived bullet keeps its id."""
        return Vote(vote.verdict, tuple(dict.fromkeys(self._present_id(n) or n for n in vote.bullet_ids)))

    def _moved(self, votes: TurnVotes) -> Moved:
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
            bullet_id = self._present_id(name)
            if bullet_id is not None:
                moved[bullet_id, tag] += 1
        return moved

    def _present_id(self, name: str) -> str | None:
        """The present id for an id of an earlier vote; None when the bullet was archived since."""
        if self._is_foreign(name):
            return name
        try:
            return self._draft.locate(name).id
        except Refused:
            return None

    def _move(self, before: Moved, after: Moved) -> None:
        changed = [key for key in {**before, **after} if before[key] != after[key]]
        for bullet_id, tag in changed:
            by = after[bullet_id, tag] - before[bullet_id, tag]
            if self._is_foreign(bullet_id):
                self._move_base(bullet_id, tag, by)
            else:
                bullet = self._draft.entries[bullet_id]
                moved = {
                    tag: max(0, getattr(bullet, tag) + by),
                    "setbacks": _setbacks_after(bullet.setbacks, tag, by),
                    "updated_at": self._draft.now,
                }
                self._draft.put(bullet.model_copy(update=moved))
                if tag == "harmful" and by > 0:
                    self._draft.blamed[bullet_id] = None
            self._draft.note("tagged", bullet_id)

    def _move_base(self, bullet_id: str, tag: BulletTag, by: int) -> None:
        old = self._base.now.get(bullet_id, BaseVotes())
        counters = {tag: max(0, getattr(old, tag) + by), "setbacks": _setbacks_after(old.setbacks, tag, by)}
        votes = old._replace(**counters)
        self._base.writable()[bullet_id] = votes
        self._draft.changes.append(BaseVoted(bullet_id=bullet_id, **votes._asdict()))


def tag(draft: Draft, operation: Tag) -> None:
    """Move a counter by hand, as `playbook edit --vote` does: it belongs to no turn and stays."""
    bullet = draft.locate(operation.bullet_id)
    raised = {
        operation.tag: getattr(bullet, operation.tag) + operation.by,
        "setbacks": _setbacks_after(bullet.setbacks, operation.tag, operation.by),
        "updated_at": draft.now,
    }
    draft.put(bullet.model_copy(update=raised))
    draft.note("tagged", bullet.id)
    if operation.tag == "harmful":
        draft.blamed[bullet.id] = None


def _setbacks_after(setbacks: int, tag: BulletTag, by: int) -> int:
    """Return the failures since the last success, once the counter of `tag` moved by `by`."""
    if tag == "helpful" and by > 0:
        return 0
    return max(0, setbacks + by) if tag == "harmful" else setbacks


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
