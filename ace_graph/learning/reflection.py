"""A lesson and a reflection: what the reflector gives, and what is refused on the way to the playbook."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.json_schema import SkipJsonSchema

from ace_graph.base.errors import ReflectionNotFound
from ace_graph.memory.bullet import BulletTag, MemoryType, Polarity
from ace_graph.memory.languages.detection import spoken_language
from ace_graph.memory.languages.tables import FIRST, SPACELESS, languages, platitude_words
from ace_graph.memory.search.tokenize import is_spaceless, terms, tokens
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord, TurnReflection

COPIED_WORDS = 12
"""A lesson with this many consecutive words of the conversation is a copy, not a lesson."""
MAX_LESSONS = 10
MAX_FACTS = 10
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")


class BulletVerdict(_Reply):
    """Whether a playbook item that was used helped or harmed."""

    id: str
    tag: BulletTag


class Told(_Reply):
    """A fact in parts, in words of the question: the `value` of a `relation` of its `subject`, and when."""

    subject: Text = ""
    relation: Text = ""
    value: Text = ""
    since: Text = ""
    until: Text = ""


class Lesson(Told):
    """What is worth knowing next time, in one sentence. `section` and `topic` are short words."""

    content: Annotated[str, Field(min_length=1)]
    section: Text = ""
    topic: str | None = None
    concept: str | None = None
    memory_type: MemoryType | None = None
    polarity: Polarity = "strategy"
    tags: list[str] = Field(default_factory=list[str])


class LearnerFact(Told):
    """What the learner says about themselves; `quote` is an exact part of the question."""

    quote: Annotated[str, Field(min_length=1)]
    kind: Text = ""


class Reflection(_Reply):
    """What the turn teaches, if anything."""

    # Source: document 000. The docstrings of these models are part of the JSON schema that the model sees.
    # A malformed item of a list is dropped, never the good ones. `lessons` has no default: a reply that was
    # cut must not pass for one without lessons. `dropped` says what was left out and is not in the schema.

    reasoning: Text = ""
    error_identification: Text = ""
    root_cause_analysis: Text = ""
    correct_approach: Text = ""
    key_insight: Text = ""
    bullet_tags: list[BulletVerdict] = Field(default_factory=list[BulletVerdict])
    lessons: list[Lesson]
    learner_facts: list[LearnerFact] = Field(default_factory=list[LearnerFact])
    dropped: SkipJsonSchema[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _keep_what_can_be_read(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        fields = dict(cast("Mapping[str, object]", data))
        dropped = list[str]()
        for name, model in _LISTS:
            items = fields.get(name)
            if isinstance(items, list):
                fields[name], bad = _read_items(cast("list[object]", items), model, name)
                dropped += bad
        fields["lessons"], over = _bounded(fields.get("lessons"), MAX_LESSONS, "lessons")
        fields["learner_facts"], more = _bounded(fields.get("learner_facts") or [], MAX_FACTS, "facts")
        fields["dropped"] = (*dropped, *over, *more)
        return fields if fields["lessons"] is not None else {**fields, "lessons": "missing"}


_LISTS: tuple[tuple[str, type[_Reply]], ...] = (
    ("bullet_tags", BulletVerdict),
    ("lessons", Lesson),
    ("learner_facts", LearnerFact),
)


def _read_items(items: Sequence[object], model: type[BaseModel], name: str) -> tuple[list[object], list[str]]:
    good, bad = list[object](), list[str]()
    for item in items:
        try:
            text = "quote" if model is LearnerFact else "content"
            good.append(model.model_validate({text: item} if isinstance(item, str) else item))
        except ValidationError as error:
            where = ".".join(map(str, error.errors(include_url=False)[0]["loc"])) or "value"
            bad.append(f"malformed item of {name}: {where}")
    return good, bad


def _bounded(listed: object, most: int, what: str) -> tuple[object, list[str]]:
    if not isinstance(listed, list):
        return listed, []
    items = cast("list[object]", listed)
    over = len(items) - most
    return items[:most], [f"more than {most} {what} in one turn"] * max(0, over)


def copies(text: str, conversation: Iterable[str]) -> bool:
    """Whether `text` is one of the conversation's texts, or has 12 or more consecutive words of one."""
    words = _words(text)
    if not words:
        return False
    runs = {tuple(words[n : n + COPIED_WORDS]) for n in _starts(words)}
    begins = {run[0] for run in runs}
    for spoken in map(_words, conversation):
        if words == spoken:
            return True
        if any(spoken[n] in begins and tuple(spoken[n : n + COPIED_WORDS]) in runs for n in _starts(spoken)):
            return True
    return False


def _starts(words: Sequence[str]) -> range:
    """Where the runs of so many words begin that a text may not have in common with another."""
    return range(len(words) - COPIED_WORDS + 1)


def says_nothing(text: str) -> bool:
    """Whether a text holds no word at all: spaces, signs, what can't be seen."""
    return not _words(text)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


# A platitude: a lesson without a subject, such as "check the result of questions like this in a second
# way".
#
# What a lesson is about stands in the words that are left when the words are taken away that fit any
# lesson: how to work carefully, what becomes of answers and questions, who takes part. A lesson of which
# none is left says nothing that a good assistant does not do anyway. The words are the tables `platitudes`
# of the languages.


_READ_CHARS = 1_000
"""A longer text in a script without spaces is no platitude."""


def is_platitude(text: str) -> bool:
    """Whether no word of `text` names a subject, so that it fits any question."""
    if all(token.casefold() in platitude_words(FIRST) for token in tokens(text)):
        return True
    spaceless = spoken_language(text)
    if spaceless in SPACELESS:
        return len(text) <= _READ_CHARS and not _is_about_something(text, spaceless)
    others = (each for each in languages("platitudes") if each != FIRST and each not in SPACELESS)
    return any(_generic_terms(each).issuperset(terms(text, each)) for each in others)


def _is_about_something(text: str, language: str) -> bool:
    left = text
    for word in _longest_first(language):
        left = left.replace(word, " ")
    return any(is_spaceless(token) or token.isalnum() for token in tokens(left))


@cache
def _longest_first(language: str) -> tuple[str, ...]:
    return tuple(sorted(platitude_words(language), key=lambda word: (-len(word), word)))


@cache
def _generic_terms(language: str) -> frozenset[str]:
    return frozenset(term for word in platitude_words(language) for term in terms(word, language))


# Stored reflections by their ids: where they are, and the lessons that a playbook can take from them.
#
# `ID` names all lessons of a reflection, `ID#2` the second one alone.


_PAGE, _DIGITS = 200, 4


@dataclass(frozen=True)
class StoredReflection:
    """A reflection, and the record that it is stored with; `chosen` are the numbers of lessons, None all."""

    reflection: TurnReflection
    turn: TurnRecord
    chosen: frozenset[int] | None = None

    @property
    def lessons(self) -> tuple[Lesson, ...]:
        """What it teaches, in the order of the reflection. Reflections of 0.1 name no lessons."""
        noted = [
            Lesson.model_validate(each, from_attributes=True)
            for number, each in enumerate(self.reflection.lessons, 1)
            if self.chosen is None or number in self.chosen
        ]
        return tuple(
            each for each in noted if not says_nothing(each.content) and not is_platitude(each.content)
        )


async def every_turn(store: Store, learner_id: str, wanted: TrajectoryFilter) -> AsyncIterator[TurnRecord]:
    """Yield all records that are wanted, the newest first, read a page at a time."""
    skip = 0
    while page := await store.find_turns(learner_id, wanted, limit=_PAGE, skip=skip):
        for turn in page:
            yield turn
        if len(page) < _PAGE:
            return
        skip += len(page)


async def find_reflections(
    store: Store, learner_id: str, reflection_ids: Collection[str]
) -> tuple[StoredReflection, ...]:
    """Return the learner's reflections with these ids, in the order of the ids, with the lessons chosen.

    The records are read from the newest on until all are found. Raises ReflectionNotFound for an id that no
    record holds, and for the number of a lesson that the reflection has not.
    """
    wanted, found = _chosen(reflection_ids), dict[str, StoredReflection]()
    async for turn in every_turn(store, learner_id, TrajectoryFilter()):
        for each in turn.reflections:
            if each.reflection_id in wanted:
                chosen = wanted[each.reflection_id]
                found.setdefault(each.reflection_id, StoredReflection(each, turn, chosen))
        if len(found) == len(wanted):
            break
    missing = [name for name in wanted if name not in found]
    if missing:
        shown = ", ".join(name[:60] for name in missing[:3])
        raise ReflectionNotFound(
            f"there is no reflection {shown}: trajectory show and reflect --batch give the ids; "
            "nothing was changed"
        )
    for name, stored in found.items():
        held = len(stored.reflection.lessons)
        if stored.chosen is not None and not stored.chosen <= set(range(1, held + 1)):
            raise ReflectionNotFound(
                f"the reflection {name[:60]} has {held} lessons: number one of them; nothing was changed"
            )
    return tuple(found[name] for name in wanted)


def _chosen(names: Iterable[str]) -> dict[str, frozenset[int] | None]:
    """Return the numbers of the lessons that are wanted of each reflection, None for all."""
    wanted = dict[str, frozenset[int] | None]()
    for name in names:
        reflection_id, _, number = name.rpartition("#")
        if reflection_id and number.isascii() and number.isdecimal() and len(number) <= _DIGITS:
            known = wanted.get(reflection_id, frozenset())
            wanted[reflection_id] = None if known is None else known | {int(number)}
        else:
            wanted[name] = None
    return wanted
