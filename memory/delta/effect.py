"""An effect: what a delta changed, as primitive facts (events), and the fold that applies them.

`apply` needs no settings, no clock and no randomness: folding the effects of a history gives the same state
byte for byte, even when the rules of `resolve` have changed since.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from ace_graph.base.copy_on_write import CopyOnWrite
from ace_graph.base.frozen import Frozen
from ace_graph.memory.bullet import LEFT_OUT, Bullet, Moment
from ace_graph.memory.evidence import EvidenceSource, Verdict
from ace_graph.memory.playbook import BaseVotes, Consolidations, Playbook, RecentInsight, TurnVotes, Vote
from ace_graph.memory.use_stamps import Uses

REFLECTIONS_KEPT = 3
VOTES_KEPT = 200
"""Both act when effects are folded, so they belong to format 3 of effects: stored playbooks are folded again
at each load. Another number needs a new format, and the old number for effects of the old ones."""

ArchiveReason = Literal["removed", "harmful", "pruned", "merged", "consolidated", "superseded", "reset"]
ABSORBED: tuple[ArchiveReason, ...] = ("merged", "consolidated")
"""The reasons for which the id of an archived bullet becomes an alias of the one that took it up."""
Ids = tuple[str, ...]


class Put(Frozen):
    """The bullet was added, at the end, or changed, in its place."""

    kind: Literal["put"] = "put"
    bullet: Bullet


class Archived(Frozen):
    """The bullet was archived; `into` is its survivor (merged, consolidated) or successor (superseded)."""

    kind: Literal["archived"] = "archived"
    bullet: Bullet
    why: ArchiveReason
    into: str | None = None


class Revived(Frozen):
    """An archived bullet was restored after `place` others or last, without its alias or tombstone."""

    kind: Literal["revived"] = "revived"
    bullet: Bullet
    place: int | None = None


class Rewound(Frozen):
    """Everything but the bullets and the id counter was set to its state at an earlier version.

    `order` names all bullets in their order there; it is empty where the order is the same already.
    """

    kind: Literal["rewound"] = "rewound"
    order: Ids = ()
    aliases: dict[str, str] = Field(default_factory=dict)
    tombstones: dict[str, str] = Field(default_factory=dict)
    reflections: tuple[RecentInsight, ...] = ()
    votes: dict[str, dict[EvidenceSource, Vote]] = Field(default_factory=dict)
    base_votes: dict[str, BaseVotes] = Field(default_factory=dict)
    consolidations: Consolidations = Consolidations()


class Counted(Frozen):
    """The id counter moved to `next_id`."""

    kind: Literal["counted"] = "counted"
    next_id: int


class Voted(Frozen):
    """One source's vote on one turn was recorded or replaced."""

    kind: Literal["voted"] = "voted"
    turn_id: str
    source: EvidenceSource
    verdict: Verdict
    bullet_ids: Ids


class BaseVoted(Frozen):
    """This learner's votes on a bullet of the base playbook changed to these."""

    kind: Literal["base_voted"] = "base_voted"
    bullet_id: str
    helpful: int
    harmful: int
    neutral: int
    setbacks: int = 0


class Reflected(Frozen):
    """A turn's insight was added to the last three."""

    kind: Literal["reflected"] = "reflected"
    insight: str
    topic: str | None


class Unlinked(Frozen):
    """The oldest aliases and tombstones were deleted."""

    kind: Literal["unlinked"] = "unlinked"
    ids: Ids


class Consolidated(Frozen):
    """Bullets were merged or consolidated on request; those are archived and put one by one."""

    kind: Literal["consolidated"] = "consolidated"
    at: Moment


class Cleared(Frozen):
    """All but the bullets and the id counter was deleted; bullets are archived one by one."""

    kind: Literal["cleared"] = "cleared"


Change = Annotated[
    Put
    | Archived
    | Revived
    | Rewound
    | Counted
    | Voted
    | BaseVoted
    | Reflected
    | Unlinked
    | Consolidated
    | Cleared,
    Field(discriminator="kind"),
]


class Rejection(Frozen):
    """An operation that was refused: its kind, what it named, and why."""

    op: str
    id: str
    why: str


class Merged(Frozen):
    """Two ids, of the bullet that is kept and the one that is gone."""

    kept: str
    gone: str


class Pruned(Frozen):
    """A bullet that was archived because of the cap, and its decay score then."""

    id: str
    score: float


class Report(Frozen):
    """What changed, in ids, for users. `refs` maps the ref of an Add to the id of its bullet.

    In `merged` the survivor is kept, in `superseded` the successor. `reinforced` are bullets whose lesson
    was added again.
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


class Effect(Frozen):
    """The changes of one committed delta.

    `touched`, `access_reset`, `restamped` (stamps of restored bullets) and `analyzed` (trajectories that were
    reflected on) concern the access part only.
    `before` and `earlier` make it reversible: clock and moved stamps before the commit, and the stamps
    that commits without an effect had moved since the previous version.
    """

    format: Literal[1, 2, 3] = 1
    op_id: str
    now: Moment
    author: str = ""
    reason: str = ""
    source: str = ""
    changes: tuple[Change, ...] = ()
    touched: Ids = ()
    access_reset: bool = False
    restamped: Uses | None = None
    analyzed: Annotated[Ids, LEFT_OUT] = ()
    before: Uses = Uses()
    earlier: dict[str, int] = Field(default_factory=dict)
    report: Report = Report()

    @property
    def gone(self) -> Ids:
        """Ids that were archived and, as in a rollback, not restored by the same effect."""
        left: dict[str, None] = {}
        for change in self.changes:
            if isinstance(change, Archived):
                left[change.bullet.id] = None
            elif isinstance(change, Put | Revived):
                left.pop(change.bullet.id, None)
        return tuple(left)


class Fold:
    """A playbook into which changes are folded; what they do not touch is not copied."""

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook
        self.entries = CopyOnWrite(playbook.entries)
        self.next_id = playbook.next_id
        self.aliases = CopyOnWrite(playbook.aliases)
        self.tombstones = CopyOnWrite(playbook.tombstones)
        self.reflections = playbook.reflections
        self.votes: CopyOnWrite[str, TurnVotes] = CopyOnWrite(playbook.votes)
        self.base_votes = CopyOnWrite(playbook.base_votes)
        self.consolidations = playbook.consolidations

    def apply(self, change: Change) -> None:
        match change:
            case Put():
                self.entries.writable()[change.bullet.id] = change.bullet
            case Archived(bullet=bullet, why=why, into=into):
                self.entries.writable().pop(bullet.id, None)
                if into is not None and why in ABSORBED:
                    aliases = self.aliases.writable()
                    aliases.update({old: into for old, target in aliases.items() if target == bullet.id})
                    aliases[bullet.id] = into
                elif into is not None:
                    self.tombstones.writable()[bullet.id] = into
            case Revived():
                self.entries.writable()[change.bullet.id] = change.bullet
                if change.place is not None:
                    *others, last = self.entries.now.items()
                    self.entries.replace(dict([*others[: change.place], last, *others[change.place :]]))
                self._unlink(change.bullet.id)
            case Rewound():
                if change.order:
                    entries = self.entries.now
                    self.entries.replace({key: entries[key] for key in change.order})
                self.aliases.replace(dict(change.aliases))
                self.tombstones.replace(dict(change.tombstones))
                self.reflections = change.reflections
                self.votes.replace({**change.votes})
                self.base_votes.replace(dict(change.base_votes))
                self.consolidations = change.consolidations
            case Counted():
                self.next_id = change.next_id
            case Voted():
                votes = self.votes.writable()
                earlier: TurnVotes = votes.pop(change.turn_id, {})
                votes[change.turn_id] = {**earlier, change.source: Vote(change.verdict, change.bullet_ids)}
                for oldest in list(votes)[:-VOTES_KEPT]:
                    del votes[oldest]
            case BaseVoted():
                self.base_votes.writable()[change.bullet_id] = BaseVotes(
                    change.helpful, change.harmful, change.neutral, change.setbacks
                )
            case Reflected():
                kept = (*self.reflections, RecentInsight(change.insight, change.topic))
                self.reflections = kept[-REFLECTIONS_KEPT:]
            case Unlinked():
                for bullet_id in change.ids:
                    self._unlink(bullet_id)
            case Consolidated():
                self.consolidations = Consolidations(self.consolidations.number + 1, change.at)
            case Cleared():
                self.consolidations = Consolidations()
                self.aliases.replace({})
                self.tombstones.replace({})
                self.votes.replace({})
                self.base_votes.replace({})
                self.reflections = ()

    def _unlink(self, bullet_id: str) -> None:
        for links in (self.aliases, self.tombstones):
            if bullet_id in links.now:
                del links.writable()[bullet_id]

    def result(self) -> Playbook:
        return replace(
            self.playbook,
            entries=self.entries.frozen(),
            next_id=self.next_id,
            aliases=self.aliases.frozen(),
            tombstones=self.tombstones.frozen(),
            reflections=self.reflections,
            votes=self.votes.frozen(),
            base_votes=self.base_votes.frozen(),
            consolidations=self.consolidations,
        )


def apply(playbook: Playbook, *effects: Effect) -> Playbook:
    """Return the playbook after the effects, with one copy of what they change.

    Where they are built, index and hash table are updated.
    """
    changes = [change for effect in effects for change in effect.changes]
    if not changes:
        return playbook
    folding = Fold(playbook)
    for change in changes:
        folding.apply(change)
    result = folding.result()
    changed = dict.fromkeys(
        change.bullet.id for change in changes if isinstance(change, Put | Archived | Revived)
    )
    rewound = any(isinstance(change, Rewound) for change in changes)
    result.inherit(playbook, None if rewound else changed)
    return result
