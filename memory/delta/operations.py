"""A delta: what a writer wants of a playbook, as a tagged union of operations.

A delta names intentions, never states. The same delta can be resolved against any newer state, so a
store that meets a conflict resolves it again and nothing is lost.

Does not: check ids or limits. `resolve` does, and reports what it refuses.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.bullet import Bullet, BulletTag, Danger, Days, MemoryType, Moment, Polarity, Text
from ace_graph.memory.delta.uses import Uses
from ace_graph.memory.evidence import EvidenceSource, Verdict
from ace_graph.memory.playbook import BaseVotes, Reflection, Vote

__all__ = [
    "Add",
    "Delta",
    "Judge",
    "Merge",
    "Operation",
    "Pin",
    "Quarantine",
    "Reflect",
    "Release",
    "Remove",
    "Rescreen",
    "Reset",
    "Restore",
    "Rollback",
    "Supersede",
    "Tag",
    "Touch",
    "Unpin",
    "Update",
]

Increment = Annotated[int, Field(ge=0)]
BulletRef = Text
"""An id, an alias, or the `ref` of an Add of the same delta."""


class _Operation(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Add(_Operation):
    """Add a bullet, or reinforce the one that already says the same.

    `ref` names the bullet for later operations of the same delta. `id` asks for an id (an import); it
    is given when it is certain that it was never used. Counters and status are those it arrives with; the
    reason for a quarantine is dropped where there is none.
    `contests` names bullets whose advice has just failed on evidence: those that the new one corrects are
    superseded by it. A text that memory.screen finds fault with arrives in quarantine; `vouched` are dangers
    that the writer answers for.
    """

    op: Literal["add"] = "add"
    content: Text
    section: Text = "general"
    ref: Text | None = None
    id: Text | None = None
    memory_type: MemoryType | None = None
    polarity: Polarity = "strategy"
    topic: Text | None = None
    concept: Text | None = None
    tags: tuple[Text, ...] = ()
    keywords: tuple[Text, ...] = ()
    importance: Annotated[float, Field(ge=0, le=1)] = 0.5
    pinned: bool = False
    slot: Text | None = None
    status: Literal["active", "quarantined"] = "active"
    quarantine_reason: Text | None = None
    ttl_days: Days | None = None
    sources: tuple[Text, ...] = ()
    consolidated_from: tuple[Text, ...] = ()
    helpful: Increment = 0
    harmful: Increment = 0
    neutral: Increment = 0
    setbacks: Increment = 0
    seen: Increment = 1
    created_at: Moment | None = None
    updated_at: Moment | None = None
    contests: tuple[BulletRef, ...] = ()
    vouched: tuple[Danger, ...] = ()


class Update(_Operation):
    """Change what is given, leave the rest.

    Counters are increments. With `ttl_days="never"` the bullet has no time to live any more.
    """

    op: Literal["update"] = "update"
    bullet_id: BulletRef
    content: Text | None = None
    section: Text | None = None
    memory_type: MemoryType | None = None
    polarity: Polarity | None = None
    topic: Text | None = None
    concept: Text | None = None
    tags: tuple[Text, ...] | None = None
    importance: Annotated[float, Field(ge=0, le=1)] | None = None
    ttl_days: Days | Literal["never"] | None = None
    helpful: Increment = 0
    harmful: Increment = 0
    neutral: Increment = 0


class Tag(_Operation):
    """Move one counter by `by`; the host's own bookkeeping, apart from the turns' votes."""

    op: Literal["tag"] = "tag"
    bullet_id: BulletRef
    tag: BulletTag
    by: Annotated[int, Field(ge=1)] = 1


class Judge(_Operation):
    """One source's verdict on one turn, and the bullets it credits or blames.

    The same source ledger the same turn again replaces its earlier vote. A turn moves a bullet's
    counters at most once, whatever the number of sources: the strongest source decides. With `refines`
    it only says more exactly which bullets an earlier vote is about: where the source has changed its
    verdict since, nothing happens.
    """

    op: Literal["judge"] = "judge"
    turn_id: Text
    source: EvidenceSource
    verdict: Verdict
    bullet_ids: tuple[BulletRef, ...]
    refines: bool = False


class Merge(_Operation):
    """Make one bullet of several that say the same; `content`, if given, is its new text.

    Every pair has to pass the guards that a lesson has to pass to reinforce a bullet, and so does the text; a
    pinned bullet or one of the profile keeps its text. With `force` a person answers for all of that.
    """

    op: Literal["merge"] = "merge"
    bullet_ids: Annotated[tuple[BulletRef, ...], Field(min_length=2)]
    content: Text | None = None
    force: bool = False


class Supersede(_Operation):
    """Archive a bullet because another one corrects it."""

    op: Literal["supersede"] = "supersede"
    bullet_id: BulletRef
    by: BulletRef


class Remove(_Operation):
    """Archive a bullet. The history keeps it."""

    op: Literal["remove"] = "remove"
    bullet_id: BulletRef


class Restore(_Operation):
    """Bring a bullet back as it was, read from the history by the caller (memory.rollback).

    It stands behind `place` others, else last; `stamp` is that of its last use, if it had one. Where it was
    merged away, the bullet that absorbed it gives its counts back.
    """

    op: Literal["restore"] = "restore"
    bullet: Bullet
    place: Increment | None = None
    stamp: Increment = 0


class Quarantine(_Operation):
    """Keep a bullet out of every prompt, with the reason why."""

    op: Literal["quarantine"] = "quarantine"
    bullet_id: BulletRef
    why: Text


class Release(_Operation):
    """Let a quarantined bullet into prompts again."""

    op: Literal["release"] = "release"
    bullet_id: BulletRef


class Rescreen(_Operation):
    """Read every bullet again under the rules of the screen as they are now, both ways.

    What they find is kept back; what they kept back and now let pass is released, unless something else has
    taken its slot. What a person kept back, released or vouched for stays as it is. `kept` are ids that a
    person released before bullets said so themselves.
    """

    op: Literal["rescreen"] = "rescreen"
    kept: tuple[BulletRef, ...] = ()


class Pin(_Operation):
    """Make a bullet part of the core, exempt from decay and cap."""

    op: Literal["pin"] = "pin"
    bullet_id: BulletRef


class Unpin(_Operation):
    """Undo a pin."""

    op: Literal["unpin"] = "unpin"
    bullet_id: BulletRef


class Touch(_Operation):
    """Stamp bullets as used. Changes the access part only."""

    op: Literal["touch"] = "touch"
    bullet_ids: tuple[BulletRef, ...]


class Reflect(_Operation):
    """Keep a turn's insight among the last three."""

    op: Literal["reflect"] = "reflect"
    insight: Text
    topic: Text | None = None


class Reset(_Operation):
    """Replace all bullets and forget votes, insights and links (clear, replacing import).

    Ids are never given twice after it. `confirmed`: the learner asked to forget everything, and said
    yes when asked back.
    """

    op: Literal["reset"] = "reset"
    bullets: tuple[Bullet, ...] = ()
    confirmed: bool = False


class Rollback(_Operation):
    """Make everything what it was at an earlier version, as memory.rollback reads it from the history.

    That is the bullets in their order, aliases and tombstones, insights, votes, and the stamps of use. Only
    the id counter never goes back.
    """

    op: Literal["rollback"] = "rollback"
    version: Increment
    bullets: tuple[Bullet, ...] = ()
    aliases: dict[str, str] = Field(default_factory=dict)
    tombstones: dict[str, str] = Field(default_factory=dict)
    reflections: tuple[Reflection, ...] = ()
    votes: dict[str, dict[EvidenceSource, Vote]] = Field(default_factory=dict)
    base_votes: dict[str, BaseVotes] = Field(default_factory=dict)
    uses: Uses = Uses()


Operation = Annotated[
    Add
    | Update
    | Tag
    | Judge
    | Merge
    | Supersede
    | Remove
    | Restore
    | Quarantine
    | Release
    | Rescreen
    | Pin
    | Unpin
    | Touch
    | Reflect
    | Reset
    | Rollback,
    Field(discriminator="op"),
]


class Delta(BaseModel):
    """Operations that are committed together, once.

    `op_id` makes the commit idempotent: the same id is applied once per learner. `source` names the
    turn or the evidence behind it. `now` is the moment that all of its changes bear. `origin` says who
    asked: what a turn has learned is bounded by the policy and may remove nothing but the learner's own
    statements, or everything after the learner's yes; a host may do anything.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    op_id: Annotated[Text, Field(min_length=1, max_length=128)]
    now: Moment
    operations: tuple[Operation, ...] = ()
    author: Annotated[Text, Field(max_length=128)] = ""
    reason: Annotated[Text, Field(max_length=500)] = ""
    source: Annotated[Text, Field(max_length=256)] = ""
    origin: Literal["host", "turn"] = "host"
