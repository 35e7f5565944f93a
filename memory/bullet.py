"""The bullet: one remembered strategy, fact or experience, as a frozen value.

Its text is one clean line: control characters, line breaks and lone surrogates are replaced, so that no
bullet can look like two, or like a section header.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field

from ace_graph.base.clock import utc_now
from ace_graph.base.frozen import Frozen
from ace_graph.base.text import clean_line, encodable
from ace_graph.memory.search.source_words import MAX_SOURCE_WORDS, MAX_WORD_CHARS
from ace_graph.memory.search.tokenize import is_within, normal_form

MemoryType = Literal["semantic", "episodic", "procedural"]
Polarity = Literal["strategy", "anti_pattern", "observation"]
BulletTag = Literal["helpful", "harmful", "neutral"]
Barred = Literal["quarantined", "expired", "harmful"]
"""Why no prompt may show a bullet; harmful: it did harm more often than good."""

Danger = Literal["instruction", "secret", "link", "answers"]
"""What the screen finds in texts (memory/screening); answers: what learners may wish of all answers."""


class BulletSource(StrEnum):
    """Who added a bullet, as its `sources` say; turns, proposals and kinds of evidence stand there, too."""

    LEARNER = "learner"
    """A learner, in a message."""
    COMMAND_LINE = "cli"
    """A person, by a command."""
    HTTP = "http"
    """A person, over HTTP or on the page."""
    HOST = "host"
    """The program that embeds the memory, by a call."""
    AGENT = "mcp"
    """An agent, by a tool of the MCP server: on trial like a lesson."""
    EDITOR = "editor"
    """Somebody who may write another's playbook: on trial there, and named nowhere."""


GIVEN = frozenset({BulletSource.LEARNER, BulletSource.COMMAND_LINE, BulletSource.HTTP, BulletSource.HOST})
"""Sources of bullets that a person or the host added: they need no proof."""

STATED_BY_A_PERSON = 0.8
"""The importance of what a person states, where they say none (document 004, 3.1)."""

MEMORY_TYPES: tuple[MemoryType, ...] = ("semantic", "episodic", "procedural")

AVOID = "AVOID: "
"""The prefix of an anti-pattern's text wherever a model reads it."""

MAX_CONTENT_CHARS = 2_000
MAX_CONTEXT_CHARS = 500
MAX_KEYWORDS = 32
MAX_TAGS = 256
MAX_EXAMPLES = 64
"""The most trajectories that a bullet names, the newest; `evidence_count` counts the others too."""
MAX_DISTINCT = 64
"""The most bullets that a bullet names as distinct from itself, the newest."""
PROFILE_SLOTS = frozenset({"name", "age", "grade", "home", "language", "native_language", "persona"})
"""Slots of what a learner says about themselves."""
DATED_SLOTS = PROFILE_SLOTS - {"language", "persona"}
"""Slots of facts: a newer value names those that it replaced. Of a wish only the newest is known."""
MAX_BEFORE = 8
"""So many earlier values of a slot are known, the newest."""
PROFILE_SECTIONS = frozenset({"profile", "preferences", "misconceptions"})
"""Sections whose bullets are core. They hold only explicit statements of the learner or the host."""

EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)


def _bounded(text: str | None) -> str | None:
    if text is not None and not is_within(MAX_CONTENT_CHARS, text):
        raise ValueError(f"may have at most {MAX_CONTENT_CHARS} characters, ligatures counted in letters")
    return text


@lru_cache(maxsize=4_096)  # a plan compares each text with all that are alike
def content_hash(text: str) -> str:
    """Return the hash two texts share when they differ in case, spacing or Unicode form only.

    16 hexadecimal digits of SHA-256 over the NFKC, case-folded, space-collapsed text.
    """
    normalised = " ".join(normal_form("NFKC", clean_line(text)).casefold().split())
    return hashlib.sha256(normalised.encode()).hexdigest()[:16]


def _utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("must be a time between the years 1 and 9999 in UTC, too") from error


def _cleaned(value: object) -> object:
    return clean_line(value) if isinstance(value, str) else value


def _day(value: object) -> object:
    """Return the calendar day of a text or a moment, as its own zone has it. Numbers are no days."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            value = None
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    raise ValueError("must be a day such as 2026-11-26")


def _without_types(tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(tag for tag in tags if tag.casefold() not in MEMORY_TYPES)


Text = Annotated[str, BeforeValidator(encodable)]
"""Any text that can be stored."""
# Limits stand before the cleaning, where pydantic checks them itself: after it, each is a call of Python.
Bounded = AfterValidator(_bounded)
"""For a text that is to become a bullet's: what counts is its length in NFKC, as it is compared."""
ShortLine = Annotated[str, Field(max_length=256), BeforeValidator(_cleaned)]
Tags = Annotated[tuple[ShortLine, ...], AfterValidator(_without_types)]
"""No tag names a memory type: what a bullet's type is, `memory_type` says (document 003)."""
Context = Annotated[str, Field(max_length=MAX_CONTEXT_CHARS), BeforeValidator(_cleaned)]
Moment = Annotated[AwareDatetime, AfterValidator(_utc)]
Day = Annotated[date, BeforeValidator(_day)]
"""A calendar day where the speaker is; of a moment its day."""
Count = Annotated[int, Field(ge=0)]
Days = Annotated[float, Field(gt=0, le=1_000_000)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A number in [0, 1], not NaN."""
TrajectoryId = Annotated[Text, Field(min_length=1, max_length=256)]
SourceWord = Annotated[str, Field(max_length=MAX_WORD_CHARS), BeforeValidator(_cleaned)]
LEFT_OUT = Field(exclude_if=lambda value: not value)
"""A field that is stored only where it holds something, so that most bullets stay as short as they were."""


class Stated(Frozen):
    """A confidence that a file or a host stated, with the count of the evidence behind it, and when.

    It is the prior of the bullet's confidence: evidence from before `at` is part of the statement.
    """

    confidence: Share
    count: Count
    at: Moment


class StatedClaim(Frozen):
    """What a text states, as a reflector read it: the `value` of a `relation` of its `subject`."""

    subject: Annotated[ShortLine, Field(min_length=1)]
    relation: Annotated[ShortLine, Field(min_length=1)]
    value: Annotated[ShortLine, Field(min_length=1)]


class PastValue(Frozen):
    """A value of a slot that a newer one replaced, as its text says it, and the days on which it was true."""

    content: Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_CHARS), BeforeValidator(_cleaned)]
    valid_from: Annotated[Day | None, LEFT_OUT] = None
    valid_until: Annotated[Day | None, LEFT_OUT] = None


class Bullet(Frozen):
    """A remembered strategy, fact or experience (document 000, extended by 003 and 004).

    `helpful`, `harmful` and `neutral` move on evidence only; `setbacks` counts the failures since the last
    success: a bullet that fails repeatedly is not shown any more, whatever its other votes. `seen` counts how
    often the same lesson was added; it has no weight. `importance` is in [0, 1]. `ttl_days` counts from
    `updated_at`. `keywords` are words of bullets that were merged into this one: searches use them, prompts
    never show them. `slot` names a profile value of which there is one at a time (name, persona, ...),
    `before` the values that it replaced, the newest first. `quarantine_reason` is None while the bullet is
    active. `vouched` are dangers that its writer, or a person who released it, vouches for: the screen allows
    them until the text changes. `sources` say in words where it comes from, `examples` are the ids of
    trajectories that support it (the newest 64), `evidence_count` is the number of all that ever did.
    `context` says when it applies. `stated` is what a file or a host claimed about it.
    `consolidation_version` is 0 for a bullet that was never consolidated, else one more than the highest of
    its sources. `distinct_from` are bullets of which somebody said that they say something else: these never
    merge. `turn_id` and `conversation_id` name the turn that it came from, `source_words` are words of that
    turn which the bullet's own text lacks: searches use them, prompts never show them. `valid_from` and
    `valid_until` are the first and the last day on which what it says is true, as far as somebody said so;
    when it was learned, the versions say. `claim` is what the text states where no form of the tables tells
    (`languages.relations`). What confidence follows from all of these is in `memory.views.confidence`.

    Raises `pydantic.ValidationError` for an unknown field, an empty text or a value out of range.
    """

    id: Annotated[str, Field(min_length=1, max_length=128), BeforeValidator(_cleaned)]
    section: Annotated[str, Field(min_length=1, max_length=100), BeforeValidator(_cleaned)]
    content: Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_CHARS), BeforeValidator(_cleaned)]
    helpful: Count = 0
    harmful: Count = 0
    neutral: Count = 0
    setbacks: Count = 0
    seen: Count = 1
    memory_type: MemoryType = "semantic"
    polarity: Polarity = "strategy"
    topic: ShortLine | None = None
    concept: ShortLine | None = None
    tags: Tags = ()
    keywords: tuple[ShortLine, ...] = ()
    importance: Annotated[float, Field(ge=0, le=1)] = 0.5
    pinned: bool = False
    slot: ShortLine | None = None
    status: Literal["active", "quarantined"] = "active"
    quarantine_reason: ShortLine | None = None
    vouched: Annotated[tuple[Danger, ...], LEFT_OUT] = ()
    created_at: Moment = EPOCH_START
    updated_at: Moment = EPOCH_START
    ttl_days: Days | None = None
    sources: tuple[ShortLine, ...] = ()
    consolidated_from: tuple[ShortLine, ...] = ()
    consolidation_version: Annotated[Count, LEFT_OUT] = 0
    distinct_from: Annotated[tuple[ShortLine, ...], Field(max_length=MAX_DISTINCT), LEFT_OUT] = ()
    context: Annotated[Context | None, LEFT_OUT] = None
    examples: Annotated[tuple[TrajectoryId, ...], Field(max_length=MAX_EXAMPLES), LEFT_OUT] = ()
    evidence_count: Annotated[Count, LEFT_OUT] = 0
    stated: Annotated[Stated | None, LEFT_OUT] = None
    turn_id: Annotated[TrajectoryId | None, LEFT_OUT] = None
    conversation_id: Annotated[TrajectoryId | None, LEFT_OUT] = None
    source_words: Annotated[tuple[SourceWord, ...], Field(max_length=MAX_SOURCE_WORDS), LEFT_OUT] = ()
    valid_from: Annotated[Day | None, LEFT_OUT] = None
    valid_until: Annotated[Day | None, LEFT_OUT] = None
    claim: Annotated[StatedClaim | None, LEFT_OUT] = None
    before: Annotated[tuple[PastValue, ...], Field(max_length=MAX_BEFORE), LEFT_OUT] = ()

    @property
    def content_hash(self) -> str:
        """The hash of the normalised text; see the function of this name."""
        return content_hash(self.content)

    @property
    def advice(self) -> str:
        """The text as prompts show it: an anti-pattern has a prefix."""
        return f"{AVOID}{self.content}" if self.polarity == "anti_pattern" else self.content

    @property
    def labels(self) -> tuple[str, ...]:
        """The tags for a search by tag: its own tags and its memory type."""
        return (*self.tags, self.memory_type)

    @property
    def core(self) -> bool:
        """Whether it is always a candidate for the prompt: pinned, or part of the learner's profile."""
        return self.pinned or self.slot is not None or self.section in PROFILE_SECTIONS

    @property
    def profile(self) -> bool:
        """Whether it is the learner's own statement, which is no advice and gets no votes."""
        return self.slot is not None or self.section in PROFILE_SECTIONS

    @property
    def reliability(self) -> float:
        """helpful / (helpful + harmful), 0.5 without votes (document 003, the baseline score)."""
        votes = self.helpful + self.harmful
        return self.helpful / votes if votes else 0.5

    def expired(self, now: datetime) -> bool:
        """Whether its time to live has passed at `now`."""
        return self.ttl_days is not None and now - self.updated_at >= timedelta(days=self.ttl_days)

    def true_on(self, day: date) -> bool:
        """Whether what it says is true on this day, as far as it says when; else it counts as true."""
        begun = self.valid_from is None or self.valid_from <= day
        return begun and not self.past(day)

    def past(self, day: date) -> bool:
        """Whether what it says was true before this day, and no longer: it is past, not false."""
        return self.valid_until is not None and self.valid_until < day

    def on(self, day: date) -> Bullet:
        """Return the bullet with the value of its slot on this day, where that is one in `before`."""
        then = [each for each in self.before if each.valid_until is not None and each.valid_until >= day]
        if not then:
            return self
        value = then[-1]
        own = PastValue(content=self.content, valid_from=self.valid_from, valid_until=self.valid_until)
        others = (own, *(each for each in self.before if each is not value))
        changed = {name: getattr(value, name) for name in ("content", "valid_from", "valid_until")}
        return self.model_copy(update={**changed, "before": others})

    @property
    def other_values(self) -> tuple[Bullet, ...]:
        """The other values of its slot, each as a bullet."""
        return tuple(self.model_copy(update={**each.model_dump(), "before": ()}) for each in self.before)

    def injectable(self, now: datetime) -> bool:
        """Whether prompts may show it: active, not expired, not more harmful than helpful."""
        return self.barred(now) is None

    def barred(self, now: datetime) -> Barred | None:
        """Why no prompt may show it, whatever the question; None where prompts may."""
        if self.status != "active":
            return self.status
        if self.ttl_days is not None and self.expired(now):
            return "expired"
        return "harmful" if self.harmful > self.helpful else None

    def tag(self, tag: str, now: datetime | None = None) -> Bullet:
        """Return a copy with the counter named by `tag` one higher, and `updated_at` at `now`.

        `now` defaults to the system's clock.

        Raises ValueError for a tag other than helpful, harmful, neutral.
        """
        if tag not in get_args(BulletTag):
            raise ValueError(f"unknown tag {tag!r}: use helpful, harmful or neutral")
        return self.model_copy(update={tag: getattr(self, tag) + 1, "updated_at": _utc(now or utc_now())})


Hidden = Literal["quarantined", "sensitive"]
Hides = Callable[[Bullet], Hidden | None]
"""Says why a bullet's text stays out of what people look at (graph, audit), None where it does not."""
