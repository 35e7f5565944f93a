"""Playbooks that a run reads beside the learner's memory: what a store is asked for, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass

from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.sharing.grant import Grant
from ace_graph.memory.snapshot import Snapshot, Version

__all__ = ["AttachedPlaybook", "Loaded", "Wanted"]


@dataclass(frozen=True)
class Wanted:
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
