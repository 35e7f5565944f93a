"""The nine kinds of memory (document 004, 2.1), as a view of the fields of a bullet.

Seven are kinds of bullets, and every bullet has exactly one. A trajectory is the record of a turn, and a
reflection is a part of it; both are stored by their own calls.

    consolidated    merged from several bullets
    preference      in the section `preferences`
    fact            any other statement of the learner about themselves: a profile slot, the section `profile`
    anti_pattern    what to avoid, by its polarity
    observation     what was seen, by its polarity
    experience      memory type episodic
    strategy        memory type procedural
    fact            any other
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeGuard, get_args

from ace_graph.errors import UnknownKind, UsageError
from ace_graph.memory.bullet import Bullet, MemoryType, Polarity

__all__ = [
    "BULLET_KINDS",
    "KINDS",
    "BulletKind",
    "Kind",
    "KindFields",
    "checked_kind",
    "fields_of",
    "is_bullet_kind",
    "kind_of",
]

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
    for kind in KINDS:
        if kind == name:
            return kind
    raise UnknownKind(f"{name[:40]!r} is no kind of memory: use one of {', '.join(KINDS)}")


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
