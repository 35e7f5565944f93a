"""How long records are kept, and of which trajectories the steps are: two settings of a store."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Retention:
    """For how many days records are kept; None: for ever.

    `trace_days`: the steps of a turn that was reflected on. `record_days`: records of turns, keys of commits,
    deltas older than the history. With `keep_failures` records of failed turns are kept as a whole.
    """

    trace_days: float | None = 30.0
    record_days: float | None = 90.0
    keep_failures: bool = True

    def cutoffs(self, now: datetime) -> Cutoffs:
        """Return the times before which records may be deleted."""
        steps, records = (
            None if days is None else now - timedelta(days=days)
            for days in (self.trace_days, self.record_days)
        )
        return Cutoffs(steps, records, self.keep_failures)


@dataclass(frozen=True)
class Cutoffs:
    """Steps from before `steps`, and records, keys and old deltas from before `records`, may be deleted."""

    steps: datetime | None
    records: datetime | None
    keep_failures: bool = True


@dataclass(frozen=True)
class Tracing:
    """Sampling of steps: they are kept for a share of the successes, and for all failures by default.

    The choice depends on the trajectory's id and the seed only, so it is the same everywhere.
    """

    success_rate: float = 1.0
    always_failures: bool = True
    seed: str = ""

    def keeps(self, trajectory_id: str, status: str) -> bool:
        """Whether the steps of a completed trajectory are kept."""
        if self.always_failures and status != "success":
            return True
        drawn = hashlib.sha256(f"{self.seed}:{trajectory_id}".encode()).digest()[:8]
        return int.from_bytes(drawn, "big") / 2**64 < self.success_rate
