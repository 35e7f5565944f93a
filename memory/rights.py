"""Rights: what a user may do with a playbook, decided by the one function that every path asks.

    none < read < propose < write < own

The owner owns. Others have the highest right that a grant to them, to one of their teams, or to the agent
that acts for them gives; nothing takes a right away but revoking the grant, leaving the team, or declining
what was granted until then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Protocol

from ace_graph.base.errors import PlaybookForbidden, PlaybookNotFound
from ace_graph.memory.sharing import Grant, Relation, Subject


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
        "shows": Right.NONE,
    }
)


class Owned(Protocol):
    """A playbook, as far as rights are concerned."""

    @property
    def playbook_id(self) -> str: ...
    @property
    def owner(self) -> str | None: ...


def subjects_of(user: str | None, teams: Iterable[str], agent: str | None = None) -> frozenset[Subject]:
    """Return the subjects whose grants are a user's. The host application, without a user, has none."""
    if user is None:
        return frozenset()
    agents = () if agent is None else (Subject("agent", agent),)
    return frozenset({Subject("user", user), *(Subject("team", team) for team in teams), *agents})


def right(
    user: str | None,
    teams: Collection[str],
    playbook: Owned,
    grants: Iterable[Grant],
    agent: str | None = None,
) -> Right:
    """Return what a user with these teams, for whom an agent acts, may do with a playbook.

    Without a user it is the host application that asks, which owns the playbooks without an owner. Grants on
    other playbooks and to others count nothing.
    """
    if user == playbook.owner:
        return Right.OWN
    subjects = subjects_of(user, teams, agent)
    own = [each for each in grants if each.playbook_id == playbook.playbook_id and each.subject in subjects]
    declined = max((each.at for each in own if each.relation == "declined"), default=None)
    given = (each for each in own if declined is None or each.at > declined)
    return max((RIGHTS[each.relation] for each in given), default=Right.NONE)


@dataclass(frozen=True)
class Caller:
    """A user with the teams that the user is in now. Without a user it is the host application.

    `agent` acts for the user, as the host says; no user may say so.
    """

    user: str | None
    teams: frozenset[str] = frozenset()
    agent: str | None = None

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects whose grants are the caller's, as texts, in order."""
        return tuple(sorted(map(str, subjects_of(self.user, self.teams, self.agent))))

    def right(self, playbook: Owned, grants: Iterable[Grant]) -> Right:
        """Return what the caller may do with a playbook."""
        return right(self.user, self.teams, playbook, grants, self.agent)


OnDenial = Callable[[Caller, str, Right], None]
"""Called with who was refused, the playbook's id, and the right that was needed."""


@dataclass(frozen=True)
class PlaybookAccess:
    """One caller and one playbook, under the name that the caller gave it.

    `denied` is told about each refusal.
    """

    playbook_id: str
    caller: Caller
    name: str
    denied: OnDenial = lambda _caller, _playbook_id, _needed: None

    def check(self, needed: Right, playbook: Owned | None, grants: Iterable[Grant]) -> None:
        """Check that the caller has a right to the playbook as it is stored now.

        Raises PlaybookNotFound for one that is unknown or unreadable, PlaybookForbidden for one that the
        caller may read, but not use like this.
        """
        if playbook is None:
            raise not_found(self.name)
        held = self.caller.right(playbook, grants)
        if held >= needed:
            return
        self.denied(self.caller, self.playbook_id, needed)
        raise forbidden(self.name, needed) if held >= Right.READ else not_found(self.name)


_NEEDS = {
    Right.PROPOSE: "propose changes of it: ask its owner for a grant as contributor",
    Right.WRITE: "change it: ask its owner for a grant as editor, or propose the change",
    Right.OWN: "do this with it: only its owners can",
}


def forbidden(name: str, needed: Right) -> PlaybookForbidden:
    """Return the error for a playbook that the caller may read, but lacks a right to."""
    return PlaybookForbidden(f"you may read the playbook {_shown(name)!r}, and not {_NEEDS[needed]}")


def not_yours(name: str) -> PlaybookForbidden:
    """Return the error for what only the learner may do whose playbook it is: no grant gives it."""
    return PlaybookForbidden(
        f"you may read the playbook {_shown(name)!r}, and not do this with it: "
        "only the learner whose it is can, and no grant gives it"
    )


def not_found(name: str) -> PlaybookNotFound:
    """Return the error for a playbook that does not exist or may not be read: they are alike."""
    hint = "it is there once something was learned" if name == "default" else "playbook list shows yours"
    return PlaybookNotFound(f"there is no playbook {_shown(name)!r}: {hint}")


def _shown(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:60]}…"
