"""What of a playbook leaves its owner: the bullets and the fields that others may see.

Never the core (what is pinned, the profile, preferences, misconceptions), what the owner said about
themselves, bullets in quarantine, episodes, or texts that only somebody's word lets through the screen. The
rest is screened again. Examples go out as bare ids; sources, search words of merged bullets and of the turns
that bullets came from, these turns, votes on turns and insights stay.
"""

from __future__ import annotations

from dataclasses import replace

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta.screening import screen_bullet
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.screening.screen import screen
from ace_graph.memory.snapshot import Access, Snapshot
from ace_graph.off_loop import Steps

__all__ = ["leaves_owner", "outgoing", "outgoing_bullet", "outgoing_snapshot", "outgoing_text"]

_SAID = "learner says"
_LEARNER = "learner"
"""The source of a learner's own statements."""


def leaves_owner(bullet: Bullet) -> bool:
    """Whether others may see a bullet at all."""
    return not (
        bullet.status != "active"
        or bullet.core
        or bullet.memory_type == "episodic"
        or bullet.vouched
        or _LEARNER in bullet.sources
        or _SAID in bullet.content.casefold()
        or screen_bullet(bullet) is not None
    )


def outgoing_bullet(bullet: Bullet) -> Bullet:
    """Return a bullet as others see it: without what is not the advice itself."""
    turn = {"turn_id": None, "conversation_id": None, "source_words": ()}
    return bullet.model_copy(update={"sources": (), "keywords": (), "consolidated_from": (), **turn})


def outgoing(playbook: Playbook) -> Steps[Playbook]:
    """Return in steps a playbook as others see it; its ids and the id counter are the same."""
    seen = dict[str, Bullet]()
    for key, each in playbook.entries.items():
        if leaves_owner(each):
            seen[key] = outgoing_bullet(each)
        yield
    return Playbook(entries=seen, next_id=playbook.next_id)


def outgoing_snapshot(snapshot: Snapshot) -> Steps[Snapshot]:
    """Return a snapshot as others see it, under its own version. Never commit onto it: it is not whole."""
    return replace(snapshot, playbook=(yield from outgoing(snapshot.playbook)), access=Access())


def outgoing_text(text: str) -> str:
    """Return a description as others see it: empty where the screen refuses it."""
    return text if screen(text) is None else ""
