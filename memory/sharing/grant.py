"""Who a playbook is shared with: subjects, relations, grants (document 004, 5.5 and 6.4).

A subject is written `user:bob` or `team:ops`. Names are compared exactly, character by character: `user:Bob`
is somebody else than `user:bob`. A prefix never stands for what begins with it.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, cast, get_args

from ace_graph.errors import InvalidGrant
from ace_graph.memory.search.normal_form import normal_form

__all__ = [
    "MAX_TEAM_CHARS",
    "Grant",
    "Granted",
    "Relation",
    "Subject",
    "checked_relation",
    "checked_team",
    "is_team",
    "stored_relation",
    "team_key",
]

Granted = Literal["viewer", "contributor", "editor", "owner"]
Declined = Literal["declined"]
Relation = Granted | Declined
"""What a subject has: something granted, or that the user has declined what was."""

SubjectKind = Literal["user", "team"]

MAX_TEAM_CHARS = 256
MAX_USER_CHARS = 256
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})


class Subject(NamedTuple):
    """A user, who is a learner, or a team."""

    kind: SubjectKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: object) -> Subject:
        """Return the subject of `user:NAME` or `team:NAME`. Raises InvalidGrant."""
        kind, colon, name = str(text).partition(":")
        if not isinstance(text, str) or not colon or kind not in get_args(SubjectKind):
            raise InvalidGrant("a subject is written user:NAME or team:NAME")
        if kind == "team":
            return cls("team", checked_team(name))
        if not 1 <= len(name) <= MAX_USER_CHARS or any(
            ch == "\x00" or "\ud800" <= ch <= "\udfff" for ch in name
        ):
            raise InvalidGrant(f"user: takes the id of a learner, 1 to {MAX_USER_CHARS} characters")
        return cls("user", name)


@dataclass(frozen=True)
class Grant:
    """One subject's relation to one playbook. A subject has one relation; a new grant replaces it.

    A user who has declined has no right by grants that were made before, to teams too. `by` is the user who
    made it; it is '' once that user was forgotten.
    """

    subject: Subject
    relation: Relation
    playbook_id: str
    by: str
    at: datetime


def checked_relation(text: object) -> Granted:
    """Return the relation to grant. Raises InvalidGrant, naming the four."""
    if text not in get_args(Granted):
        raise InvalidGrant(f"a relation is one of {', '.join(get_args(Granted))}")
    return cast("Granted", text)


def stored_relation(text: str) -> Relation:
    """Return the relation that a store holds. Raises InvalidGrant."""
    return "declined" if text == "declined" else checked_relation(text)


def is_team(name: object) -> bool:
    """Whether a text can be the name of a team."""
    return (
        isinstance(name, str)
        and 1 <= len(name) <= MAX_TEAM_CHARS
        and name == name.strip()
        and not any(unicodedata.category(ch) in _UNPRINTABLE for ch in name)
        and normal_form("NFC", name) == name
    )


def checked_team(name: object) -> str:
    """Return the name of a team. Raises InvalidGrant."""
    if not isinstance(name, str) or not is_team(name):
        raise InvalidGrant(
            f"a team's name has 1 to {MAX_TEAM_CHARS} visible characters, in Unicode's normal form C, and no "
            "space at its ends"
        )
    return name


def team_key(name: str) -> str:
    """Return the form in which names of teams must differ, so that no two can be taken for each other."""
    return normal_form("NFC", normal_form("NFKD", name).casefold())
