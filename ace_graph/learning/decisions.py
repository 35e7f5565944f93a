"""What a model that curates may say, and what the rules make of it: one operation a lesson, few proposals.

A decision about a lesson is taken as it is, where it can be read, or the lesson is added by rule. Proposals
about bullets that are there are bounded here to those that the model was shown, none of the core, and few.
Whether they hold is decided where the delta is resolved: a merge passes the guards, a removal needs evidence.

Does not: call the model, or move a counter; a tag is a word on a vote that evidence has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from ace_graph.learning.lesson import BulletVerdict
from ace_graph.memory.bullet import Bullet, BulletTag
from ace_graph.memory.delta import Add, Merge, Operation, Remove, Touch, Update
from ace_graph.memory.text import terms
from ace_graph.run import logger

__all__ = ["MOST_PROPOSALS", "Curation", "Decided", "decide"]

MOST_PROPOSALS = 5
"""So many bullets that are there may be named in the proposals of one turn."""

KEPT_WORDS = 0.6
"""An item's new text must hold this share of the words that it had."""


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore")


class OnLesson(_Item):
    """What one lesson means for the playbook. `lesson` counts from 1."""

    type: Literal["ADD", "COVERED", "UPDATE"]
    lesson: int = Field(ge=1)
    bullet_id: str | None = None
    content: str | None = None


class TagOne(_Item):
    """What a bullet did for the answer."""

    type: Literal["TAG"]
    bullet_id: str
    tag: BulletTag


class MergeSome(_Item):
    """Bullets that say the same."""

    type: Literal["MERGE"]
    bullet_ids: Annotated[list[str], Field(min_length=2)]


class RemoveOne(_Item):
    """A bullet that did more harm than good."""

    type: Literal["REMOVE"]
    bullet_id: str


Item = Annotated[OnLesson | TagOne | MergeSome | RemoveOne, Field(discriminator="type")]
_ITEM: TypeAdapter[Item] = TypeAdapter(Item)


class Curation(BaseModel):
    """The curator's reply; items that can't be read are left out, never the good ones with them."""

    model_config = ConfigDict(extra="ignore")

    reasoning: str = ""
    operations: list[Item]

    @model_validator(mode="before")
    @classmethod
    def _keep_what_can_be_read(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        fields = cast("Mapping[str, object]", data)
        items = fields.get("operations")
        if not isinstance(items, list):
            return fields
        good = list[object]()
        for item in cast("list[object]", items):
            try:
                good.append(_ITEM.validate_python(item))
            except ValidationError:
                logger.warning("[ACE Curator] an operation could not be read; its lesson is curated by rule")
        return {**fields, "operations": good}


@dataclass(frozen=True)
class Decided:
    """One operation a lesson, the proposals, what was said of bullets, and what was left out and why."""

    lessons: tuple[Operation, ...]
    proposals: tuple[Operation, ...] = ()
    tags: tuple[BulletVerdict, ...] = ()
    problems: tuple[str, ...] = ()


def decide(adds: Sequence[Add], items: Sequence[Item], shown: Sequence[Bullet]) -> Decided:
    """Return what becomes of the items: for every lesson its first usable decision, else its own Add."""
    known = {bullet.id: bullet for bullet in shown if not bullet.core}
    first = {item.lesson: item for item in reversed(items) if isinstance(item, OnLesson)}
    lessons = tuple(_operation(add, first.get(number), known) for number, add in enumerate(adds, 1))
    proposals, tags, problems = list[Operation](), list[BulletVerdict](), list[str]()
    left = MOST_PROPOSALS
    for item in items:
        if isinstance(item, OnLesson):
            continue
        names = item.bullet_ids if isinstance(item, MergeSome) else [item.bullet_id]
        if not known.keys() >= {*names}:
            problems.append(f"the curator may not {item.type} {' '.join(names)[:128]}")
            continue
        if len(names) > left:
            problems.append(f"the curator proposed changes of more than {MOST_PROPOSALS} bullets")
            break
        left -= len(names)
        match item:
            case TagOne():
                tags.append(BulletVerdict(id=item.bullet_id, tag=item.tag))
            case MergeSome():
                proposals.append(Merge(bullet_ids=tuple(item.bullet_ids)))
            case RemoveOne():
                proposals.append(Remove(bullet_id=item.bullet_id))
    return Decided(lessons, tuple(proposals), tuple(tags), tuple(problems))


def _operation(add: Add, decision: OnLesson | None, known: Mapping[str, Bullet]) -> Operation:
    bullet = known.get(decision.bullet_id or "") if decision else None
    if decision is None or decision.type == "ADD" or bullet is None:
        return add
    if decision.type == "COVERED":
        return Touch(bullet_ids=(bullet.id,))
    if not decision.content or not _keeps(bullet.content, decision.content):
        return add
    return Update(bullet_id=bullet.id, content=decision.content)


def _keeps(old: str, new: str) -> bool:
    """Whether a new text says what the old one did, too; else it would remove that on an opinion."""
    said = set(terms(old))
    return len(said & set(terms(new))) >= KEPT_WORDS * len(said)
