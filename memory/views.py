"""How people see a bullet, computed from its fields on read: its kind, the confidence in it, strategies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Literal, NamedTuple, TypeGuard, get_args

from pydantic import Field

from ace_graph.base.errors import UnknownKind, UsageError, unknown
from ace_graph.base.frozen import Frozen
from ace_graph.memory.bullet import (
    MAX_CONTEXT_CHARS,
    Bullet,
    Count,
    MemoryType,
    Moment,
    Polarity,
    Share,
    Text,
)
from ace_graph.memory.confidence import EvidenceIndex
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.tokenize import normal_form
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import TurnRecord

# The nine kinds of memory (document 004, 2.1), as a view of the fields of a bullet.
#
# Seven are kinds of bullets, and every bullet has exactly one. A trajectory is the record of a turn, and a
# reflection is a part of it; both are stored by their own calls.
#
#     consolidated    merged from several bullets
#     preference      in the section `preferences`
#     fact            any other statement of the learner about themselves: a slot, the section `profile`
#     anti_pattern    what to avoid, by its polarity
#     observation     what was seen, by its polarity
#     experience      memory type episodic
#     strategy        memory type procedural
#     fact            any other


BulletKind = Literal[
    "fact", "preference", "experience", "strategy", "anti_pattern", "observation", "consolidated"
]
Kind = Literal[BulletKind, "trajectory", "reflection"]
BULLET_KINDS: tuple[BulletKind, ...] = get_args(BulletKind)
KINDS: tuple[Kind, ...] = get_args(Kind)
_ELSEWHERE: Mapping[str, str] = {
    "trajectory": "a trajectory is stored by start_trajectory, or by every turn",
    "reflection": "a reflection is made of a trajectory: call ace-graph reflect",
    "consolidated": "consolidated memories are made by merging bullets: call ace-graph playbook merge",
}


class KindFields(NamedTuple):
    """The fields that make a new bullet one of a kind. `section` is None where any section will do."""

    memory_type: MemoryType
    polarity: Polarity = "strategy"
    section: str | None = None


_FIELDS: Mapping[str, KindFields] = {
    "fact": KindFields("semantic"),
    "preference": KindFields("semantic", section="preferences"),
    "experience": KindFields("episodic"),
    "strategy": KindFields("procedural"),
    "anti_pattern": KindFields("procedural", "anti_pattern"),
    "observation": KindFields("semantic", "observation"),
}


def kind_of(bullet: Bullet) -> BulletKind:
    """Return the one kind of a bullet: the first that fits, in the order of the module's table."""
    if bullet.consolidated_from:
        return "consolidated"
    if bullet.section == "preferences":
        return "preference"
    if bullet.section == "profile" or bullet.slot is not None:
        return "fact"
    if bullet.polarity != "strategy":
        return bullet.polarity
    if bullet.memory_type == "episodic":
        return "experience"
    return "strategy" if bullet.memory_type == "procedural" else "fact"


def checked_kind(name: str) -> Kind:
    """Return the kind of this name. Raises UnknownKind, which names all nine."""
    if name not in KINDS:
        raise UnknownKind(unknown("kind", name, KINDS))
    return name


def is_bullet_kind(kind: Kind) -> TypeGuard[BulletKind]:
    """Whether memories of this kind are bullets."""
    return kind in BULLET_KINDS


def fields_of(name: str) -> KindFields:
    """Return the fields of a new bullet of a kind.

    Raises UnknownKind; UsageError for the kinds that are stored in another way, which it names.
    """
    kind = checked_kind(name)
    if kind in _ELSEWHERE:
        raise UsageError(_ELSEWHERE[kind])
    return _FIELDS[kind]


# A playbook as strategies in three categories (document 004, 2.3): a projection that is computed on read.
#
#     Bullet               StrategyEntry
#     polarity             category: strategy = helpful, anti_pattern = harmful, observation = neutral
#     content, context     pattern, context
#     votes and turns      confidence (memory.views.confidence)
#     examples             examples, and evidence_count with those that are no longer named
#
# `add_of` is the way back: the operation that stores an entry, after which all of its fields read as given.


Category = Literal["helpful", "harmful", "neutral"]
CATEGORIES: Mapping[Polarity, Category] = {
    "strategy": "helpful",
    "anti_pattern": "harmful",
    "observation": "neutral",
}
_POLARITIES: Mapping[str, Polarity] = {category: polarity for polarity, category in CATEGORIES.items()}


class StrategyEntry(Frozen):
    """One strategy. `id` is that of its bullet, None before it is stored.

    `confidence` None: it follows from the evidence alone. `examples` are ids of trajectories.
    """

    id: Text | None = None
    category: Category = "helpful"
    pattern: Text
    context: Annotated[Text, Field(max_length=MAX_CONTEXT_CHARS)] | None = None
    confidence: Share | None = None
    evidence_count: Count = 0
    examples: tuple[Text, ...] = ()
    created_at: Moment | None = None
    updated_at: Moment | None = None


class PlaybookContent(Frozen):
    """The active bullets of a playbook as strategies, in order; each is in one of three categories."""

    strategies: tuple[StrategyEntry, ...] = ()

    @property
    def helpful(self) -> tuple[StrategyEntry, ...]:
        """What to do."""
        return self._of("helpful")

    @property
    def harmful(self) -> tuple[StrategyEntry, ...]:
        """What to avoid."""
        return self._of("harmful")

    @property
    def neutral(self) -> tuple[StrategyEntry, ...]:
        """What was seen."""
        return self._of("neutral")

    def _of(self, category: Category) -> tuple[StrategyEntry, ...]:
        return tuple(entry for entry in self.strategies if entry.category == category)


def entry_of(bullet: Bullet, evidence: EvidenceIndex, now: datetime) -> StrategyEntry:
    """Return a bullet as a strategy; `evidence` is that of its snapshot."""
    return StrategyEntry(
        id=bullet.id,
        category=CATEGORIES[bullet.polarity],
        pattern=bullet.content,
        context=bullet.context,
        confidence=evidence.confidence(bullet, now),
        evidence_count=bullet.evidence_count,
        examples=bullet.examples,
        created_at=bullet.created_at,
        updated_at=bullet.updated_at,
    )


def content_of(snapshot: Snapshot, turns: Iterable[TurnRecord], now: datetime) -> PlaybookContent:
    """Return the active bullets of the snapshot as strategies. `turns` are those behind them."""
    evidence = EvidenceIndex(snapshot, turns)
    active = (bullet for bullet in snapshot.playbook.bullets() if bullet.status == "active")
    return PlaybookContent(strategies=tuple(entry_of(bullet, evidence, now) for bullet in active))


def add_of(entry: StrategyEntry, now: datetime) -> Add:
    """Return the operation that stores the entry; its `id` is requested, and its confidence stated at `now`.

    A count of evidence below the number of examples becomes that number.
    """
    count = max(entry.evidence_count, len(set(entry.examples)))
    return Add.model_validate(strategy_fields({**entry.model_dump(), "evidence_count": count}, now))


def strategy_fields(strategy: Mapping[str, object], now: datetime) -> dict[str, object]:
    """Return what a bullet's fields are for those of a strategy, checked or not; `now`: see `add_of`."""
    category, confidence = strategy.get("category", "helpful"), strategy.get("confidence")
    renamed = {"category", "pattern", "confidence"}
    fields = {key: value for key, value in strategy.items() if key not in renamed}
    fields |= {"content": strategy.get("pattern"), "section": "strategies", "memory_type": "procedural"}
    fields["polarity"] = _POLARITIES.get(category, category) if isinstance(category, str) else category
    if confidence is not None:
        count = strategy.get("evidence_count", 0)
        fields["stated"] = {"confidence": confidence, "count": count, "at": now.isoformat()}
    return fields


# The filter of lists and searches for people: by status, tag, memory type, and words of the text.


BulletStatus = Literal["active", "quarantined"]


@dataclass(frozen=True)
class BulletFilter:
    """A bullet passes with one of each of `statuses`, `memory_types` and `kinds`, all `tags` and all `words`.

    An empty set of types or kinds means any. Case and compatibility forms of letters are ignored. Tags must
    be equal; words are substrings of the text. The memory type counts as a tag. With `valid_on` a bullet must
    be true on that day, as far as it says when it is.
    """

    statuses: frozenset[BulletStatus] = frozenset({"active"})
    tags: tuple[str, ...] = ()
    memory_types: frozenset[MemoryType] = frozenset()
    words: str = ""
    kinds: frozenset[BulletKind] = frozenset()
    valid_on: date | None = None

    def passes(self, bullet: Bullet) -> bool:
        """Whether the filter shows the bullet."""
        if bullet.status not in self.statuses:
            return False
        if self.memory_types and bullet.memory_type not in self.memory_types:
            return False
        if self.kinds and kind_of(bullet) not in self.kinds:
            return False
        if self.valid_on is not None and not bullet.true_on(self.valid_on):
            return False
        if not {_folded(tag) for tag in self.tags} <= {_folded(tag) for tag in bullet.labels}:
            return False
        content = _folded(bullet.content)
        return all(word in content for word in _folded(self.words).split())


def _folded(text: str) -> str:
    return normal_form("NFKC", text).casefold()


# The difference between two versions of a playbook: which bullets came, went and changed.


@dataclass(frozen=True)
class BulletChange:
    """A bullet that is in both versions, with other fields."""

    before: Bullet
    after: Bullet


@dataclass(frozen=True)
class PlaybookDiff:
    """What only the newer version has, what changed, and what only the older one has."""

    added: tuple[Bullet, ...] = ()
    updated: tuple[BulletChange, ...] = ()
    removed: tuple[Bullet, ...] = ()


def diff(before: Playbook, after: Playbook) -> PlaybookDiff:
    """Return what differs between two playbooks, bullet by bullet, in their order."""
    return PlaybookDiff(
        added=_missing(after, before),
        updated=tuple(
            BulletChange(was, now)
            for was in before.bullets()
            if (now := after.get_bullet(was.id)) is not None and now != was
        ),
        removed=_missing(before, after),
    )


def _missing(here: Playbook, there: Playbook) -> tuple[Bullet, ...]:
    return tuple(bullet for bullet in here.bullets() if there.get_bullet(bullet.id) is None)
