"""What a learner's playbook has been worth (document 004, 2.2 and 2.3): its use, and the work behind it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from ace_graph.memory.bullet import Moment
from ace_graph.memory.catalogue.usage import OWN_PLAYBOOK, PlaybookUsage
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.trust import lift

__all__ = ["Effectiveness", "Metadata", "effectiveness_of", "metadata_of"]


class Effectiveness(BaseModel):
    """How often turns were shown bullets of the playbook, and how these turns ended.

    `success_rate` is that of the turns with a verdict, None before the first. `avg_improvement` is the lift
    of the unproven bullets, the success rate with them less that without; None until both are known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    usage_count: int = 0
    success_rate: float | None = None
    avg_improvement: float | None = None
    last_used_at: Moment | None = None


class Metadata(BaseModel):
    """How many trajectories a reflector has read, and how many commits have merged bullets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    total_trajectories_analyzed: int = 0
    consolidation_count: int = 0
    last_consolidated: Moment | None = None


def effectiveness_of(snapshot: Snapshot, playbook: str = OWN_PLAYBOOK) -> Effectiveness:
    """Return how the learner of the snapshot used their own playbook, or another one by its name in ids.

    The lift is measured on all unproven bullets together, so it is that of the own playbook.
    """
    usage = snapshot.access.usage.get(playbook, PlaybookUsage())
    measured = lift(snapshot.access.trial) if playbook == OWN_PLAYBOOK else None
    return Effectiveness(
        usage_count=usage.turns,
        success_rate=usage.success_rate,
        avg_improvement=None if measured is None else measured.lift,
        last_used_at=usage.last_used_at,
    )


def metadata_of(snapshot: Snapshot) -> Metadata:
    """Return what was done to make the playbook what it is."""
    merged = snapshot.playbook.consolidations
    return Metadata(
        total_trajectories_analyzed=snapshot.access.analyzed,
        consolidation_count=merged.number,
        last_consolidated=merged.last_at,
    )
