"""What a user may do with a playbook: the one function that every path asks.

    none < read < propose < write < own

The owner owns. Others have the highest right that a grant to them or to one of their teams gives; nothing
takes a right away but revoking the grant, leaving the team, or declining what was granted until then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Protocol

from ace_graph.memory.sharing.grant import Grant, Relation, Subject

__all__ = ["RIGHTS", "Owned", "Right", "right", "subjects_of"]


class Right(IntEnum):
    """In order: each holds those before it."""

    NONE = 0
    READ = 1
    PROPOSE = 2
    WRITE = 3
    OWN = 4


RIGHTS: Mapping[Relation, Right] = MappingProxyType(
    {
        "viewer": Right.READ,
        "contributor": Right.PROPOSE,
        "editor": Right.WRITE,
        "owner": Right.OWN,
        "declined": Right.NONE,
    }
)


class Owned(Protocol):
    """A playbook, as far as rights are concerned."""

    @property
    def playbook_id(self) -> str: ...
    @property
    def owner(self) -> str | None: ...


def subjects_of(user: str | None, teams: Iterable[str]) -> frozenset[Subject]:
    """Return the subjects whose grants are a user's. The host application, without a user, has none."""
    if user is None:
        return frozenset()
    return frozenset({Subject("user", user), *(Subject("team", team) for team in teams)})


def right(user: str | None, teams: Collection[str], playbook: Owned, grants: Iterable[Grant]) -> Right:
    """Return what a user with these teams may do with a playbook.

    Without a user it is the host application that asks, which owns the playbooks without an owner. Grants on
    other playbooks and to others count nothing.
    """
    if user == playbook.owner:
        return Right.OWN
    subjects = subjects_of(user, teams)
    own = [each for each in grants if each.playbook_id == playbook.playbook_id and each.subject in subjects]
    declined = max((each.at for each in own if each.relation == "declined"), default=None)
    given = (each for each in own if declined is None or each.at > declined)
    return max((RIGHTS[each.relation] for each in given), default=Right.NONE)
