"""Names of playbooks: which are allowed, and when two are the same.

A name is stored in Unicode's normal form C. Two names are the same when they differ in upper and lower case
or in the normal form only (canonical caseless matching, Unicode 3.13, D145). `owner/name` names a playbook
among those of all owners; a name holds no slash, so the last one ends the owner.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from ace_graph.errors import InvalidPlaybook
from ace_graph.memory.search.normal_form import normal_form

__all__ = ["DEFAULT", "MAX_NAME_CHARS", "PlaybookRef", "checked_name", "name_key", "wanted_refs"]

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


def wanted_refs(names: Iterable[str], reader: str | None) -> tuple[PlaybookRef, ...]:
    """Return the playbooks that a run reads beside the reader's own memory.

    Raises InvalidPlaybook for a name that can't be one, for `default`, and for a playbook named twice.
    """
    found: dict[tuple[str | None, str], PlaybookRef] = {}
    for name in names:
        ref = PlaybookRef.parse(name, reader)
        if ref.is_default:
            raise InvalidPlaybook("the own memory is always read: leave `default` out of the playbooks")
        if (ref.owner, ref.key) in found:
            raise InvalidPlaybook(f"the playbook {ref.name} is named twice: name it once")
        found[ref.owner, ref.key] = ref
    return tuple(found.values())


def checked_name(name: object) -> str:
    """Return the name in normal form C. Raises InvalidPlaybook for one that can't be used."""
    if not isinstance(name, str):
        raise InvalidPlaybook(f"a playbook's name is text: it is a {type(name).__name__}")
    if len(name) > 4 * MAX_NAME_CHARS:  # no text gets shorter than a quarter by composing it
        raise InvalidPlaybook(f"a playbook's name has 1 to {MAX_NAME_CHARS} characters: this one is longer")
    composed = normal_form("NFC", name)
    if not 1 <= len(composed) <= MAX_NAME_CHARS:
        raise InvalidPlaybook(
            f"a playbook's name has 1 to {MAX_NAME_CHARS} characters: this one has {len(composed)}"
        )
    if "/" in composed:
        raise InvalidPlaybook("a playbook's name has no slash: owner/name stands for another owner's")
    if composed != composed.strip():
        raise InvalidPlaybook("a playbook's name begins and ends with a visible character: strip the spaces")
    if any(unicodedata.category(ch) in _UNPRINTABLE and ch not in _JOINERS for ch in composed):
        raise InvalidPlaybook(
            "a playbook's name has no control characters and no invisible ones: leave them out"
        )
    return composed


def name_key(name: str) -> str:
    """Return the form in which names are compared and kept unique."""
    return normal_form("NFC", normal_form("NFD", name).casefold())
