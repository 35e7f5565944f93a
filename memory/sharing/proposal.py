"""A proposal: changes of a shared playbook that somebody asks for, to be accepted by who may write.

It holds what leaves the proposer's own memory, so neither profile nor episodes, and says where it is from
and how far that is trusted.
"""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.bullet import Bullet, Moment, Text
from ace_graph.memory.delta.operations import Add, Delta
from ace_graph.memory.trust import GIVEN, PROVEN_VOTES

__all__ = ["PROPOSED", "Proposal", "ProposalState", "Trust", "proposal_ids", "source_of", "trust_of"]

ProposalState = Literal["pending", "accepted", "refused"]

PROPOSED = "proposal:"
"""What the source of a bullet begins with that came by a proposal; its id follows."""


class Trust(IntEnum):
    """How far a bullet is trusted, in order."""

    UNPROVEN = 0
    GIVEN = 1
    PROVEN = 2


class Proposal(BaseModel):
    """Changes of one playbook that wait, or waited, for a decision.

    `delta` is what is committed, onto the newest version then. `targets` maps each bullet that it changes to
    the hash of the text that it is meant for. `lineage` names the bullets of the proposer that it is from, or
    says how many learners found it; `trust` is the lowest of theirs. `by` is the proposer, '' for the owner's
    rule. After `expires` it can't be accepted. `added` are the bullets that are new by it; other texts of it
    were known already. `through` are the subjects whose grants gave the right to propose it, `reason` says
    why it was refused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    proposal_id: Annotated[Text, Field(min_length=1, max_length=128)]
    playbook_id: Text
    delta: Delta
    targets: dict[str, str] = Field(default_factory=dict)
    lineage: tuple[Text, ...] = ()
    trust: Trust
    by: Text
    at: Moment
    expires: Moment
    state: ProposalState = "pending"
    decided_by: Text = ""
    decided_at: Moment | None = None
    added: tuple[Text, ...] = ()
    through: Annotated[tuple[Text, ...], Field(exclude_if=lambda value: not value)] = ()
    reason: Annotated[Text, Field(max_length=500, exclude_if=lambda value: not value)] = ""

    @property
    def adds(self) -> tuple[Add, ...]:
        """What it adds: each text with all that would come with it."""
        return tuple(each for each in self.delta.operations if isinstance(each, Add))

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that it adds."""
        return tuple(each.content for each in self.adds)

    def is_open(self, now: datetime) -> bool:
        """Whether it can be decided at this moment."""
        return self.state == "pending" and now < self.expires


def trust_of(bullet: Bullet) -> Trust:
    """Return how far a bullet is trusted: by its votes, else by who said it."""
    if bullet.helpful >= PROVEN_VOTES and bullet.harmful < bullet.helpful:
        return Trust.PROVEN
    return Trust.UNPROVEN if GIVEN.isdisjoint(bullet.sources) else Trust.GIVEN


def source_of(proposal_id: str) -> str:
    """Return the source of the bullets that came by a proposal."""
    return f"{PROPOSED}{proposal_id}"


def proposal_ids(bullet: Bullet) -> frozenset[str]:
    """Return the proposals that a bullet came by."""
    return frozenset(
        source.removeprefix(PROPOSED) for source in bullet.sources if source.startswith(PROPOSED)
    )
