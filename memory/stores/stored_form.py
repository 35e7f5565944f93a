"""The stored form of a state: a base and effects, the small access part, stamps and touches.

Effects are in `memory.serialization`, as the rest is for files. What is stored has formats of its own: a
program from before there were bases reads these texts as newer ones, and refuses, instead of taking a base
for the present content.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from types import MappingProxyType
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.asked import Asked
from ace_graph.memory.delta.stamps import Stamps, Touches
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import (
    dump_access,
    dump_playbook,
    load_access,
    load_playbook,
    read_stored,
)
from ace_graph.memory.snapshot import Access

__all__ = [
    "dump_base",
    "dump_small_access",
    "dump_stamps",
    "dump_touches",
    "load_base",
    "load_small_access",
    "load_stamps",
    "load_touches",
]

_CONTENT, _BASE = '{"format":2,', '{"format":3,'
_ACCESS, _SMALL_ACCESS = '{"format":3,', '{"format":4,'
_Number = Annotated[int, Field(ge=0)]


def dump_base(playbook: Playbook) -> str:
    """Return the canonical JSON of a base."""
    return _marked(dump_playbook(playbook), _CONTENT, _BASE)


def load_base(text: str, known: Playbook | None = None) -> Playbook:
    """Return the playbook of a base; see `load_playbook`. Raises NewerFormat, CorruptPayload."""
    return load_playbook(_marked(text, _BASE, _CONTENT), known)


def dump_small_access(access: Access) -> str:
    """Return the canonical JSON of the access part without what grows with the memory."""
    none: dict[str, int] = {}
    small = replace(access, stamps=none, earlier=none, days=(), asked=Asked())
    return _marked(dump_access(small), _ACCESS, _SMALL_ACCESS)


def load_small_access(text: str, grown: Stamps, mark: str) -> Access:
    """Return the access part with what grew, under its mark. Raises NewerFormat, CorruptPayload."""
    small = load_access(_marked(text, _SMALL_ACCESS, _ACCESS))
    return replace(
        small, stamps=grown.stamps, earlier=grown.earlier, days=grown.days, asked=grown.asked, mark=mark
    )


def _marked(text: str, old: str, new: str) -> str:
    return f"{new}{text[len(old) :]}" if text.startswith(old) else text


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _StoredStamps(_Form):
    format: Literal[1] = 1
    stamps: dict[str, _Number]
    earlier: dict[str, _Number]
    days: list[tuple[_Number, date]]
    questions: Annotated[_Number, Field(exclude_if=lambda value: not value)] = 0
    asked: Annotated[dict[str, _Number], Field(exclude_if=lambda value: not value)] = Field(
        default_factory=dict
    )


class _StoredTouches(_Form):
    format: Literal[1] = 1
    clock: _Number
    moved: dict[str, _Number]
    content_changed: bool
    day: Annotated[date | None, Field(exclude_if=lambda value: value is None)] = None
    asked: Annotated[tuple[str, ...], Field(exclude_if=lambda value: not value)] = ()


_NEWEST: Final = 1


def dump_stamps(grown: Stamps) -> str:
    """Return the canonical JSON of what grows in the access part."""
    return _StoredStamps(
        stamps=dict(grown.stamps),
        earlier=dict(grown.earlier),
        days=list(grown.days),
        questions=grown.asked.questions,
        asked=dict(grown.asked.counts),
    ).model_dump_json()


def load_stamps(text: str) -> Stamps:
    """Return what grows in the access part. Raises NewerFormat, CorruptPayload."""
    stored = read_stored(_StoredStamps, text, "stamps", _NEWEST)
    stamps, earlier = MappingProxyType(stored.stamps), MappingProxyType(stored.earlier)
    asked = Asked(stored.questions, MappingProxyType(stored.asked))
    return Stamps(stamps, earlier, tuple(stored.days), asked)


def dump_touches(touches: Touches) -> str:
    """Return the canonical JSON of what one commit moved."""
    return _StoredTouches(**touches.model_dump()).model_dump_json()


def load_touches(text: str) -> Touches:
    """Return what one commit moved. Raises NewerFormat, CorruptPayload."""
    stored = read_stored(_StoredTouches, text, "touches", _NEWEST)
    return Touches(
        clock=stored.clock,
        moved=stored.moved,
        content_changed=stored.content_changed,
        day=stored.day,
        asked=stored.asked,
    )
