"""What a store hands out: the content, the access part, and the version they were read at.

Does not: read or write. Stores do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ace_graph.memory.access import Access
from ace_graph.memory.playbook import Playbook

__all__ = ["Snapshot", "Version"]


class Version(NamedTuple):
    """`n` is for people, the random `etag` names the content, the `epoch` lives from creation to forget.

    A learner without a state has no epoch.
    """

    epoch: str | None = None
    n: int = 0
    etag: str = ""

    def same_content(self, other: Version) -> bool:
        """Whether both name the same content of the same learner's life."""
        return self.epoch is not None and (self.epoch, self.etag) == (other.epoch, other.etag)


@dataclass(frozen=True)
class Snapshot:
    """A learner's memory at one version."""

    playbook: Playbook = field(default_factory=Playbook)
    access: Access = field(default_factory=Access)
    version: Version = field(default_factory=Version)

    @property
    def absent(self) -> bool:
        """Whether nothing is stored for this learner."""
        return self.version.epoch is None
