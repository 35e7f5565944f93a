"""A caller who asks for somebody's playbook, and the check that a store makes in its own transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ace_graph.errors import PlaybookForbidden, PlaybookNotFound
from ace_graph.memory.sharing.grant import Grant
from ace_graph.memory.sharing.right import Owned, Right, right, subjects_of

__all__ = ["Asked", "Caller", "OnDenial", "forbidden", "not_found"]


@dataclass(frozen=True)
class Caller:
    """A user with the teams that the user is in now. Without a user it is the host application."""

    user: str | None
    teams: frozenset[str] = frozenset()

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects whose grants are the caller's, as texts, in order."""
        return tuple(sorted(map(str, subjects_of(self.user, self.teams))))

    def right(self, playbook: Owned, grants: Iterable[Grant]) -> Right:
        """Return what the caller may do with a playbook."""
        return right(self.user, self.teams, playbook, grants)


OnDenial = Callable[[Caller, str, Right], None]
"""Called with who was refused, the playbook's id, and the right that was needed."""


def _ignored(_caller: Caller, _playbook_id: str, _needed: Right) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Asked:
    """One caller and one playbook, under the name that the caller gave it.

    `denied` is told about each refusal.
    """

    playbook_id: str
    caller: Caller
    name: str
    denied: OnDenial = _ignored

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


def not_found(name: str) -> PlaybookNotFound:
    """Return the error for a playbook that does not exist or may not be read: they are alike."""
    hint = "it is there once something was learned" if name == "default" else "playbook list shows yours"
    return PlaybookNotFound(f"there is no playbook {_shown(name)!r}: {hint}")


def _shown(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:60]}…"
