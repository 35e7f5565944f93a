"""A delta: the changes that a writer asks for, as a tagged union of operations.

A delta holds requests, not states, so after a conflict a store resolves the same delta against the newer
state and loses nothing. Ids and limits are checked by `resolve`, which reports what it refuses.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ace_graph.base.frozen import Frozen
from ace_graph.memory.bullet import (
    LEFT_OUT,
    MAX_BEFORE,
    Bullet,
    BulletTag,
    Danger,
    Day,
    Days,
    MemoryType,
    Moment,
    PastValue,
    Polarity,
    Stated,
    StatedClaim,
    Text,
)
from ace_graph.memory.evidence import EvidenceSource, Verdict
from ace_graph.memory.playbook import BaseVotes, Consolidations, RecentInsight, Vote
from ace_graph.memory.use_stamps import Uses

Increment = Annotated[int, Field(ge=0)]
BulletRef = Text
"""An id, an alias, or the `ref` of an Add of the same delta."""


class Add(Frozen):
    """Add a bullet, or reinforce the one that already says the same.

    `ref` names the bullet for later operations of the same delta. `id` requests an id (in an import), given
    if it was certainly never used. The reason for a quarantine is taken over only with a quarantine.
    `contests` names bullets whose advice has just failed on evidence: the new one supersedes those that it
    corrects. A text that the screen refuses is quarantined, unless the writer vouches for these dangers in
    `vouched`. `examples` must be trajectories of this learner, stored before or with this commit; with
    `foreign` (from a file) those that are not become `sources`. Of `source_text`, said in the turn `turn_id`
    of the conversation `conversation_id`, only informative words that the screen allows are kept. `spares`
    names the bullet in the slot if that says more than the value: it leaves the slot and stays. Another one
    is named in `before`, unless `contests` says that it was never true. `valid_from` and `valid_until` are
    the first and the last day on which it is true.

    Raises `pydantic.ValidationError`, too, where its last day is before the first.
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
    consolidation_version: Increment = 0
    distinct_from: tuple[Text, ...] = ()
    helpful: Increment = 0
    harmful: Increment = 0
    neutral: Increment = 0
    setbacks: Increment = 0
    seen: Increment = 1
    created_at: Moment | None = None
    updated_at: Moment | None = None
    contests: tuple[BulletRef, ...] = ()
    vouched: tuple[Danger, ...] = ()
    context: Text | None = None
    examples: tuple[Text, ...] = ()
    evidence_count: Increment = 0
    stated: Stated | None = None
    foreign: bool = False
    source_text: Annotated[Text | None, LEFT_OUT] = None
    source_words: Annotated[tuple[Text, ...], LEFT_OUT] = ()
    turn_id: Annotated[Text | None, LEFT_OUT] = None
    conversation_id: Annotated[Text | None, LEFT_OUT] = None
    spares: Annotated[BulletRef | None, LEFT_OUT] = None
    valid_from: Annotated[Day | None, LEFT_OUT] = None
    valid_until: Annotated[Day | None, LEFT_OUT] = None
    claim: Annotated[StatedClaim | None, LEFT_OUT] = None
    before: Annotated[tuple[PastValue, ...], Field(max_length=MAX_BEFORE), LEFT_OUT] = ()

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        check_days(self.valid_from, self.valid_until)
        return self


def check_days(first: date | None, last: date | None) -> None:
    """Raise ValueError where the last day on which something is true is before the first."""
    if first is not None and last is not None and last < first:
        raise ValueError(f"valid_until {last} is before valid_from {first}: exchange them, or leave one out")


class Update(Frozen):
    """Change the fields that are given.

    Counters are increments, and `examples` are added to those of the bullet. `ttl_days="never"` removes the
    time to live, `"unknown"` a day. The bullet loses the sources in `withdrawn`, and has been seen once less
    for each. `sources` name another writer of its text, who vouches for nothing that the one before did.
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
    context: Text | None = None
    examples: tuple[Text, ...] = ()
    stated: Stated | None = None
    withdrawn: tuple[Text, ...] = ()
    sources: Annotated[tuple[Text, ...], LEFT_OUT] = ()
    valid_from: Annotated[Day | Literal["unknown"] | None, LEFT_OUT] = None
    valid_until: Annotated[Day | Literal["unknown"] | None, LEFT_OUT] = None


class Tag(Frozen):
    """Raise one counter by `by`: a host's own count, apart from the votes on turns."""

    op: Literal["tag"] = "tag"
    bullet_id: BulletRef
    tag: BulletTag
    by: Annotated[int, Field(ge=1)] = 1


class Judge(Frozen):
    """One source's verdict on one turn, and the bullets it credits or blames.

    A later vote of the same source on the same turn replaces the earlier one. A turn moves a bullet's
    counters at most once: the strongest source decides. A vote that `refines` only names the bullets of an
    earlier vote more exactly; where the source has changed its verdict since, it has no effect.
    """

    op: Literal["judge"] = "judge"
    turn_id: Text
    source: EvidenceSource
    verdict: Verdict
    bullet_ids: tuple[BulletRef, ...]
    refines: bool = False


class Merge(Frozen):
    """Merge several bullets that say the same into one; `content`, if given, is its new text.

    Every pair must pass the same guards as a lesson that reinforces a bullet, and so must the text; a pinned
    or profile bullet keeps its text. A person can skip all of these checks with `force`.
    """

    op: Literal["merge"] = "merge"
    bullet_ids: Annotated[tuple[BulletRef, ...], Field(min_length=2)]
    content: Text | None = None
    force: bool = False


class Source(Frozen):
    """A bullet that is to be consolidated, and the hash of its text when that was planned."""

    bullet_id: BulletRef
    content_hash: Text


class Consolidate(Frozen):
    """Replace several bullets by a new one with the text `content`; all of them are archived, none deleted.

    It has their counts together, and their ids lead to it. consolidate.py says what is refused. `originals`
    are the bullets that earlier merges made the sources of: their texts count, too, and all must be there.
    Bullets of at least the importance `keep_above` are protected; None: no importance protects.
    """

    op: Literal["consolidate"] = "consolidate"
    sources: Annotated[tuple[Source, ...], Field(min_length=2, max_length=64)]
    content: Text
    originals: tuple[Bullet, ...] = ()
    keep_above: Annotated[float, Field(ge=0, le=1)] | None = 0.8


class Distinguish(Frozen):
    """Record that bullets say different things, so that they are never merged or proposed for it again."""

    op: Literal["distinguish"] = "distinguish"
    bullet_ids: Annotated[tuple[BulletRef, ...], Field(min_length=2, max_length=64)]


class Undo(Frozen):
    """Take back what the commit `undone` did to bullets and links; the caller reads it from the history.

    `before` and `after` are the bullets that it changed, archived or added, as they were and as it left them;
    `order` are the ids of all bullets before it. Links are aliases and tombstones, `""` where there was none.
    Refused where one of these has changed since. The id counter never goes back.
    """

    op: Literal["undo"] = "undo"
    undone: Text
    before: tuple[Bullet, ...] = ()
    after: tuple[Bullet, ...] = ()
    order: tuple[Text, ...] = ()
    aliases_before: dict[str, str] = Field(default_factory=dict)
    aliases_after: dict[str, str] = Field(default_factory=dict)
    tombstones_before: dict[str, str] = Field(default_factory=dict)
    tombstones_after: dict[str, str] = Field(default_factory=dict)
    consolidations: Consolidations = Consolidations()
    stamps: dict[str, Increment] = Field(default_factory=dict)


class Supersede(Frozen):
    """Archive a bullet that another one corrects."""

    op: Literal["supersede"] = "supersede"
    bullet_id: BulletRef
    by: BulletRef


class Remove(Frozen):
    """Archive a bullet, which stays in the history; with `value` forget this one of the values before it."""

    op: Literal["remove"] = "remove"
    bullet_id: BulletRef
    value: Annotated[Text | None, LEFT_OUT] = None


class Restore(Frozen):
    """Restore an archived bullet as it was; the caller reads it from the history (`restore_of`).

    It comes after `place` others, else last; `stamp` is that of its last use, if any. If it was merged away,
    its counts are subtracted from the bullet that absorbed it.
    """

    op: Literal["restore"] = "restore"
    bullet: Bullet
    place: Increment | None = None
    stamp: Increment = 0


class Quarantine(Frozen):
    """Keep a bullet out of all prompts, for the reason `why`."""

    op: Literal["quarantine"] = "quarantine"
    bullet_id: BulletRef
    why: Text


class Release(Frozen):
    """End a bullet's quarantine."""

    op: Literal["release"] = "release"
    bullet_id: BulletRef


class Rescreen(Frozen):
    """Screen every bullet again, by the present rules.

    Those that the rules find are quarantined. Those that the rules quarantined before and now pass are
    released, unless another has their slot. What a person has quarantined, released or vouched for stays.
    `kept` are ids that a person released before bullets recorded it.
    """

    op: Literal["rescreen"] = "rescreen"
    kept: tuple[BulletRef, ...] = ()


class Pin(Frozen):
    """Make a bullet part of the core: in every prompt, exempt from decay and cap."""

    op: Literal["pin"] = "pin"
    bullet_id: BulletRef


class Unpin(Frozen):
    """Undo a pin."""

    op: Literal["unpin"] = "unpin"
    bullet_id: BulletRef


class Touch(Frozen):
    """Stamp bullets as used, which changes the access part only."""

    op: Literal["touch"] = "touch"
    bullet_ids: tuple[BulletRef, ...]


class Reflect(Frozen):
    """Add a turn's insight to the last three."""

    op: Literal["reflect"] = "reflect"
    insight: Text
    topic: Text | None = None


class Analyze(Frozen):
    """Count trajectories that a reflector has read, which changes the access part only. Each counts once."""

    op: Literal["analyze"] = "analyze"
    turn_ids: tuple[Text, ...]


class Reset(Frozen):
    """Replace all bullets, and delete votes, insights, aliases and tombstones (clear, replacing import).

    `confirmed`: the learner asked to forget everything and confirmed it. Ids are still never reused.
    """

    op: Literal["reset"] = "reset"
    bullets: tuple[Bullet, ...] = ()
    confirmed: bool = False


class Rollback(Frozen):
    """Return to the state of an earlier version, which the caller reads from the history (`rollback_to`).

    This restores the bullets in their order, aliases and tombstones, insights, votes, the count of
    consolidations, and the stamps of use. The id counter never goes back.
    """

    op: Literal["rollback"] = "rollback"
    version: Increment
    bullets: tuple[Bullet, ...] = ()
    aliases: dict[str, str] = Field(default_factory=dict)
    tombstones: dict[str, str] = Field(default_factory=dict)
    reflections: tuple[RecentInsight, ...] = ()
    votes: dict[str, dict[EvidenceSource, Vote]] = Field(default_factory=dict)
    base_votes: dict[str, BaseVotes] = Field(default_factory=dict)
    consolidations: Consolidations = Consolidations()
    uses: Uses = Uses()


Operation = Annotated[
    Add
    | Update
    | Tag
    | Judge
    | Merge
    | Consolidate
    | Distinguish
    | Undo
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
    | Analyze
    | Reset
    | Rollback,
    Field(discriminator="op"),
]


class Delta(Frozen):
    """Operations that are committed together, once.

    `op_id` makes the commit idempotent: the same id is applied once per learner. `source` names the turn or
    the evidence behind it. `now` is the time of all of its changes. `origin`: a delta of a turn is limited
    (`TurnLimits` in votes.py), that of a host is not. `keeps_label`: the version after it has the label of
    the one before. With `expected_etag` it applies to that content only. What it adds is never merged into
    `apart`.
    """

    op_id: Annotated[Text, Field(min_length=1, max_length=128)]
    now: Moment
    operations: tuple[Operation, ...] = ()
    author: Annotated[Text, Field(max_length=128)] = ""
    reason: Annotated[Text, Field(max_length=500)] = ""
    source: Annotated[Text, Field(max_length=256)] = ""
    origin: Literal["host", "turn"] = "host"
    keeps_label: bool = False
    expected_etag: str | None = None
    apart: frozenset[str] = frozenset()
