"""The catalogue's entry of a named playbook: whose it is, its name, who it is for; and its version."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, cast, get_args

from ace_graph.errors import InvalidPlaybook
from ace_graph.memory.catalogue.name import PlaybookRef, checked_name, name_key
from ace_graph.memory.snapshot import Version

__all__ = ["MAX_DESCRIPTION_CHARS", "PlaybookEntry", "Scope", "Visibility", "checked_entry"]

Scope = Literal["agent", "user", "tenant", "global"]
Visibility = Literal["private", "shared"]

MAX_DESCRIPTION_CHARS = 2_000


@dataclass(frozen=True)
class PlaybookEntry:
    """A named playbook without its content. Without an owner it belongs to the host application."""

    playbook_id: str
    owner: str | None
    name: str
    created_at: datetime
    updated_at: datetime
    description: str = ""
    scope: Scope = "agent"
    visibility: Visibility = "private"
    version: Version = field(default_factory=Version)

    @property
    def name_key(self) -> str:
        """The name as names are compared."""
        return name_key(self.name)

    @property
    def ref(self) -> PlaybookRef:
        """What names it."""
        return PlaybookRef(self.owner, self.name)


def checked_entry(
    playbook_id: str,
    ref: PlaybookRef,
    now: datetime,
    *,
    description: str = "",
    scope: str = "agent",
    visibility: str = "private",
) -> PlaybookEntry:
    """Return the entry of a new playbook. Raises InvalidPlaybook for a field that can't be used."""
    name = checked_name(ref.name)
    if ref.is_default:
        raise InvalidPlaybook(
            "`default` is the learner's own memory, which is there from the first thing learned: "
            "choose another name"
        )
    if len(description) > MAX_DESCRIPTION_CHARS or "\x00" in description:
        raise InvalidPlaybook(f"a description has at most {MAX_DESCRIPTION_CHARS} characters, and no NUL")
    if scope not in get_args(Scope):
        raise InvalidPlaybook(f"{scope[:40]!r} is no scope: use one of {', '.join(get_args(Scope))}")
    if visibility not in get_args(Visibility):
        raise InvalidPlaybook(
            f"{visibility[:40]!r} is no visibility: use one of {', '.join(get_args(Visibility))}"
        )
    return PlaybookEntry(
        playbook_id,
        ref.owner,
        name,
        now,
        now,
        description,
        cast("Scope", scope),
        cast("Visibility", visibility),
    )
