"""Bullets that a learner reads and does not own: those of the base playbook and of attached playbooks.

Their ids name where they are from, as `base:1f8e...` and `ada/api_client:gen-00001`; in owner, name and id,
characters that could end a part or a line are percent-encoded. Votes on them are kept with the reader
(`Playbook.base_votes`), and no turn changes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.playbook import Playbook

BASE_PREFIX = "base:"
_PLAIN = frozenset("-_.@")


def is_foreign(bullet_id: str) -> bool:
    """Whether an id is one of a bullet that the learner does not own."""
    if bullet_id.startswith(BASE_PREFIX):
        return True
    source, colon, name = bullet_id.partition(":")
    owner, slash, playbook = source.partition("/")
    return bool(colon and slash and owner and playbook and name) and _is_plain(playbook) and _is_plain(owner)


def source_of(bullet_id: str) -> str | None:
    """Return `owner/name` of the attached playbook that a bullet is from, None for any other bullet."""
    if bullet_id.startswith(BASE_PREFIX) or not is_foreign(bullet_id):
        return None
    return bullet_id.partition(":")[0]


def foreign_prefix(owner: str, name: str) -> str:
    """Return what the ids of a playbook's bullets begin with for a reader."""
    return f"{_encoded(owner)}/{_encoded(name)}:"


def local_id(prefix: str, bullet_id: str) -> str | None:
    """Return a bullet's id in its own playbook, None where it is of another playbook than the prefix says."""
    return unquote(bullet_id.removeprefix(prefix)) if bullet_id.startswith(prefix) else None


def as_foreign(prefix: str, bullets: Iterable[Bullet]) -> list[Bullet]:
    """Return the active bullets as a reader sees them: under ids with the prefix, none of them core."""
    return [
        bullet.model_copy(
            update={"id": prefix + _encoded(bullet.id), **_NOT_CORE, "section": _section(bullet)}
        )
        for bullet in bullets
        if bullet.status == "active"
    ]


_NOT_CORE = {"pinned": False, "slot": None}


def read_only_bullets(playbook: Playbook) -> list[Bullet]:
    """Return the bullets of a base playbook, under ids made from their content."""
    bullets = {bullet.content_hash: bullet for bullet in playbook.bullets() if bullet.status == "active"}
    return [
        bullet.model_copy(update={"id": BASE_PREFIX + name, **_NOT_CORE, "section": _section(bullet)})
        for name, bullet in bullets.items()
    ]


def united(playbooks: Iterable[Playbook]) -> Playbook:
    """Return the bullets of several playbooks, whose ids differ, as one."""
    return Playbook.of(bullet for playbook in playbooks for bullet in playbook.bullets())


def _section(bullet: Bullet) -> str:
    return "lessons" if bullet.core else bullet.section


def _encoded(text: str) -> str:
    return "".join(
        ch if ch.isalnum() or ch in _PLAIN else "".join(f"%{byte:02X}" for byte in ch.encode()) for ch in text
    )


def _is_plain(text: str) -> bool:
    return all(ch.isalnum() or ch in _PLAIN or ch == "%" for ch in text)
