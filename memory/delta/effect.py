"""An effect: what a delta really changed, as primitive facts, and the fold that applies them.

`apply` needs no settings, no clock and no randomness: folding the effects of a history gives the
state byte for byte, also when the rules of resolving have changed since.

Does not: judge. Whether something may be changed was decided by `resolve`.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.bullet import Bullet, Moment
from ace_graph.memory.delta.uses import Uses
from ace_graph.memory.evidence import EvidenceSource, Verdict
from ace_graph.memory.playbook import BaseVotes, Playbook, Reflection, TurnVotes, Vote

__all__ = [
    "REFLECTIONS_KEPT",
    "VOTES_KEPT",
    "Archived",
    "Change",
    "Effect",
    "Merged",
    "Pruned",
    "Rejection",
    "Report",
    "apply",
    "moved_last",
]

REFLECTIONS_KEPT = 3
VOTES_KEPT = 200

ArchiveReason = Literal["removed", "harmful", "pruned", "merged", "superseded", "reset"]
Ids = tuple[str, ...]


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Put(_Fact):
    """The bullet is now this: a new one comes last, a changed one keeps its place."""

    kind: Literal["put"] = "put"
    bullet: Bullet


class Archived(_Fact):
    """The bullet left the playbook; `into` is its survivor (merged) or its successor (superseded)."""

    kind: Literal["archived"] = "archived"
    bullet: Bullet
    why: ArchiveReason
    into: str | None = None


class Revived(_Fact):
    """An archived bullet is back, behind `place` others or last, and its alias or tombstone is gone."""

    kind: Literal["revived"] = "revived"
    bullet: Bullet
    place: int | None = None


class Rewound(_Fact):
    """All but the bullets themselves and the id counter is what it was at an earlier version.

    `order` names all bullets in their order there; it is empty where the order is right already.
    """

    kind: Literal["rewound"] = "rewound"
    order: Ids = ()
    aliases: dict[str, str] = Field(default_factory=dict)
    tombstones: dict[str, str] = Field(default_factory=dict)
    reflections: tuple[Reflection, ...] = ()
    votes: dict[str, dict[EvidenceSource, Vote]] = Field(default_factory=dict)
    base_votes: dict[str, BaseVotes] = Field(default_factory=dict)


class Counted(_Fact):
    """The next number for an id."""

    kind: Literal["counted"] = "counted"
    next_id: int


class Voted(_Fact):
    """One source's standing verdict on one turn."""

    kind: Literal["voted"] = "voted"
    turn_id: str
    source: EvidenceSource
    verdict: Verdict
    bullet_ids: Ids


class BaseVoted(_Fact):
    """This learner's standing votes on a bullet of the base playbook."""

    kind: Literal["base_voted"] = "base_voted"
    bullet_id: str
    helpful: int
    harmful: int
    neutral: int
    setbacks: int = 0


class Reflected(_Fact):
    """A turn's insight joined the last three."""

    kind: Literal["reflected"] = "reflected"
    insight: str
    topic: str | None


class Unlinked(_Fact):
    """Aliases and tombstones that are too old to keep."""

    kind: Literal["unlinked"] = "unlinked"
    ids: Ids


class Cleared(_Fact):
    """Reflections, votes, aliases and tombstones are gone; the bullets are archived one by one."""

    kind: Literal["cleared"] = "cleared"


Change = Annotated[
    Put | Archived | Revived | Rewound | Counted | Voted | BaseVoted | Reflected | Unlinked | Cleared,
    Field(discriminator="kind"),
]


class Rejection(_Fact):
    """An operation that was not applied: its kind, what it named, and why."""

    op: str
    id: str
    why: str


class Merged(_Fact):
    """Two ids of which the first lives on."""

    kept: str
    gone: str


class Pruned(_Fact):
    """A bullet that made room under the cap, and its decay score then."""

    id: str
    score: float


class Report(_Fact):
    """What really changed, in ids: what users see. `refs` maps an Add's ref to the id it got.

    `merged` lists kept and merged away, `superseded` successor (kept) and predecessor (gone).
    `reinforced` are bullets whose lesson came again.
    """

    added: Ids = ()
    reinforced: Ids = ()
    updated: Ids = ()
    tagged: Ids = ()
    merged: tuple[Merged, ...] = ()
    superseded: tuple[Merged, ...] = ()
    removed: Ids = ()
    pruned: tuple[Pruned, ...] = ()
    restored: Ids = ()
    quarantined: Ids = ()
    released: Ids = ()
    rejected: tuple[Rejection, ...] = ()
    refs: dict[str, str] = Field(default_factory=dict)


class Effect(BaseModel):
    """The changes of one committed delta.

    `touched`, `access_reset` and `restamped` (stamps that came back with bullets) concern the access part
    only. `before` and `earlier` are there so that it can be taken back: the clock and the moved stamps as
    they were before the commit, and those that commits without an effect had moved since the version before.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1, 2] = 1
    op_id: str
    now: Moment
    author: str = ""
    reason: str = ""
    source: str = ""
    changes: tuple[Change, ...] = ()
    touched: Ids = ()
    access_reset: bool = False
    restamped: Uses | None = None
    before: Uses = Uses()
    earlier: dict[str, int] = Field(default_factory=dict)
    report: Report = Report()

    @property
    def gone(self) -> Ids:
        """Ids that left the playbook; one that came back, as in a rollback, did not."""
        left: dict[str, None] = {}
        for change in self.changes:
            if isinstance(change, Archived):
                left[change.bullet.id] = None
            elif isinstance(change, Put | Revived):
                left.pop(change.bullet.id, None)
        return tuple(left)


class _Draft:
    """The parts of a playbook while changes are folded in; copied once per effect."""

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook
        self.entries = dict(playbook.entries)
        self.next_id = playbook.next_id
        self.aliases = dict(playbook.aliases)
        self.tombstones = dict(playbook.tombstones)
        self.reflections = playbook.reflections
        self.votes: dict[str, TurnVotes] = dict(playbook.votes)
        self.base_votes = dict(playbook.base_votes)

    def fold(self, change: Change) -> None:
        match change:
            case Put():
                self.entries[change.bullet.id] = change.bullet
            case Archived():
                self._archive(change)
            case Revived():
                self.entries[change.bullet.id] = change.bullet
                if change.place is not None:
                    self.entries = moved_last(self.entries, change.place)
                self.aliases.pop(change.bullet.id, None)
                self.tombstones.pop(change.bullet.id, None)
            case Rewound():
                self._rewind(change)
            case Counted():
                self.next_id = change.next_id
            case Voted():
                self._vote(change)
            case BaseVoted():
                self.base_votes[change.bullet_id] = BaseVotes(
                    change.helpful, change.harmful, change.neutral, change.setbacks
                )
            case Reflected():
                kept = (*self.reflections, Reflection(change.insight, change.topic))
                self.reflections = kept[-REFLECTIONS_KEPT:]
            case Unlinked():
                for bullet_id in change.ids:
                    self.aliases.pop(bullet_id, None)
                    self.tombstones.pop(bullet_id, None)
            case Cleared():
                self.aliases, self.tombstones = {}, {}
                self.votes, self.base_votes, self.reflections = {}, {}, ()

    def _rewind(self, change: Rewound) -> None:
        self.entries = {key: self.entries[key] for key in change.order or self.entries}
        self.aliases, self.tombstones = dict(change.aliases), dict(change.tombstones)
        self.reflections = change.reflections
        votes: dict[str, TurnVotes] = {**change.votes}
        self.votes, self.base_votes = votes, dict(change.base_votes)

    def _archive(self, change: Archived) -> None:
        gone, into = change.bullet.id, change.into
        self.entries.pop(gone, None)
        if into is not None and change.why == "merged":
            self.aliases.update({old: into for old, target in self.aliases.items() if target == gone})
            self.aliases[gone] = into
        elif into is not None and change.why == "superseded":
            self.tombstones[gone] = into

    def _vote(self, change: Voted) -> None:
        earlier: TurnVotes = self.votes.pop(change.turn_id, {})
        now: TurnVotes = {**earlier, change.source: Vote(change.verdict, change.bullet_ids)}
        self.votes[change.turn_id] = now
        for oldest in list(self.votes)[:-VOTES_KEPT]:
            del self.votes[oldest]

    def done(self) -> Playbook:
        return replace(
            self.playbook,
            entries=MappingProxyType(self.entries),
            next_id=self.next_id,
            aliases=MappingProxyType(self.aliases),
            tombstones=MappingProxyType(self.tombstones),
            reflections=self.reflections,
            votes=MappingProxyType(self.votes),
            base_votes=MappingProxyType(self.base_votes),
        )


def moved_last(entries: dict[str, Bullet], place: int) -> dict[str, Bullet]:
    """Return the bullets with the last one behind `place` others."""
    *others, last = entries.items()
    return dict([*others[:place], last, *others[place:]])


def apply(playbook: Playbook, *effects: Effect) -> Playbook:
    """Return the playbook after the effects. The index and the hash table, where built, are carried over."""
    changes = [change for effect in effects for change in effect.changes]
    if not changes:
        return playbook
    draft = _Draft(playbook)
    for change in changes:
        draft.fold(change)
    result = draft.done()
    result.inherit(playbook)
    return result
