"""Named playbooks: names, entries of the catalogue, version labels, and attaching playbooks to a run."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args

from ace_graph.base.errors import InvalidPlaybook, unknown
from ace_graph.memory.search.tokenize import normal_form
from ace_graph.memory.snapshot import Snapshot, Version

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from ace_graph.memory.playbook import Playbook
    from ace_graph.memory.sharing import Grant

# Names of playbooks: which are allowed, and when two are the same.
#
# A name is stored in Unicode's normal form C. Two names are the same when they differ in upper and lower
# case or in the normal form only (canonical caseless matching, Unicode 3.13, D145). `owner/name` names a
# playbook among those of all owners; a name holds no slash, so the last one ends the owner.


DEFAULT = "default"
"""The name of a learner's own memory."""
MAX_NAME_CHARS = 255
_JOINERS = "\u200c\u200d"
"""Invisible, but part of how some scripts are written."""
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})


class PlaybookRef(NamedTuple):
    """Whose playbook, and its name. Without an owner it belongs to the host application."""

    owner: str | None
    name: str

    @classmethod
    def parse(cls, text: object, reader: str | None) -> PlaybookRef:
        """Return what `name` or `owner/name` stands for; a bare name is one of the reader's own.

        Raises InvalidPlaybook.
        """
        owner, slash, name = text.rpartition("/") if isinstance(text, str) else ("", "", text)
        if slash and not owner:
            raise InvalidPlaybook("a playbook is named by its name or by owner/name: the owner is missing")
        return cls(owner if slash else reader, checked_name(name))

    @property
    def key(self) -> str:
        """The name as names are compared."""
        return name_key(self.name)

    @property
    def is_default(self) -> bool:
        """Whether this is the owner's own memory."""
        return self.key == DEFAULT

    def is_memory_of(self, learner: str) -> bool:
        """Whether this is the own memory of that learner."""
        return self.is_default and self.owner == learner


def wanted_refs(names: Iterable[str], reader: str | None) -> tuple[PlaybookRef, ...]:
    """Return the playbooks that a run reads beside the reader's own memory.

    Raises InvalidPlaybook for a name that can't be one, for `default`, and for a playbook named twice.
    """
    found: dict[tuple[str | None, str], PlaybookRef] = {}
    for name in names:
        ref = PlaybookRef.parse(name, reader)
        if ref.is_default:
            raise InvalidPlaybook("the learner's memory is always read: leave `default` out of the playbooks")
        if (ref.owner, ref.key) in found:
            raise InvalidPlaybook(f"the playbook {ref.name} is named twice: name it once")
        found[ref.owner, ref.key] = ref
    return tuple(found.values())


def checked_name(name: object) -> str:
    """Return the name in normal form C. Raises InvalidPlaybook for one that can't be used."""
    if not isinstance(name, str):
        raise InvalidPlaybook(f"a playbook's name must be text, not {type(name).__name__}")
    if len(name) > 4 * MAX_NAME_CHARS:  # no text gets shorter than a quarter by composing it
        raise InvalidPlaybook(f"a playbook's name can have at most {MAX_NAME_CHARS} characters: shorten it")
    composed = normal_form("NFC", name)
    if not 1 <= len(composed) <= MAX_NAME_CHARS:
        raise InvalidPlaybook(
            f"a playbook's name must have 1 to {MAX_NAME_CHARS} characters: this one has {len(composed)}"
        )
    if "/" in composed:
        raise InvalidPlaybook("a playbook's name can't have a slash: owner/name is another owner's")
    if composed != composed.strip():
        raise InvalidPlaybook("a playbook's name can't begin or end with a space: remove it")
    if any(unicodedata.category(ch) in _UNPRINTABLE and ch not in _JOINERS for ch in composed):
        raise InvalidPlaybook("a playbook's name can't have control or invisible characters: remove them")
    return composed


def name_key(name: str) -> str:
    """Return the form in which names are compared and kept unique."""
    return normal_form("NFC", normal_form("NFD", name).casefold())


# The catalogue's entry of a named playbook: whose it is, its name, who it is for; and its version.


Scope = Literal["agent", "user", "tenant", "global"]
Visibility = Literal["private", "shared"]
Lessons = Literal["written", "judged", "proposed", "off"]
"""What becomes of lessons that runs have for a playbook.

They are written where the learner may write, and proposed where they may propose. `judged`: only those of
runs that evidence has judged. `proposed`: always proposed, those of owners and editors, too. `off`: none is
taken.
"""
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
    lessons: Lessons = "written"
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
    lessons: str = "written",
) -> PlaybookEntry:
    """Return the entry of a new playbook. Raises InvalidPlaybook for a field that can't be used."""
    name = checked_name(ref.name)
    if ref.is_default:
        raise InvalidPlaybook(
            "`default` is the learner's own memory, which is there from the first thing learned: "
            "choose another name"
        )
    if len(description) > MAX_DESCRIPTION_CHARS or "\x00" in description:
        raise InvalidPlaybook(f"a description has at most {MAX_DESCRIPTION_CHARS} characters, without NUL")
    for what, given, known in (
        ("scope", scope, get_args(Scope)),
        ("visibility", visibility, get_args(Visibility)),
        ("rule for lessons", lessons, get_args(Lessons)),
    ):
        if given not in known:
            raise InvalidPlaybook(unknown(what, given, known))
    fields = cast("Scope", scope), cast("Visibility", visibility), cast("Lessons", lessons)
    return PlaybookEntry(playbook_id, ref.owner, name, now, now, description, *fields)


# Playbooks that a run reads beside the learner's memory: what a store is asked for, and what it returns.


@dataclass(frozen=True)
class WantedPlaybook:
    """A playbook to read; its content only where it is not that of `known`.

    With it the grants to `subjects` are read, written as `user:bob` and `team:ops`.
    """

    ref: PlaybookRef
    known: Version = Version()  # noqa: RUF009  a named tuple
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True)
class AttachedPlaybook:
    """A playbook that was read, with its name as it is stored; `playbook` is None where it is known.

    A store reads what is asked for: whether it may be read follows from the owner and the grants.
    """

    playbook_id: str
    name: str
    version: Version
    playbook: Playbook | None
    owner: str | None = None
    grants: tuple[Grant, ...] = ()


@dataclass(frozen=True)
class Loaded:
    """A learner's snapshot, and for each playbook that was wanted what was read, None for an unknown one."""

    snapshot: Snapshot
    attached: tuple[AttachedPlaybook | None, ...] = ()
