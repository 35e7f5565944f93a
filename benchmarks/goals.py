"""What was to be reached, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.table import Table
from benchmarks.timing import number

__all__ = ["Goal", "goals_table"]


@dataclass(frozen=True)
class Goal:
    """`measured` should not be above `limit`; both in `unit`."""

    what: str
    measured: float
    limit: float
    unit: str = "ms"

    @property
    def reached(self) -> bool:
        return self.measured <= self.limit


def goals_table(goals: Sequence[Goal]) -> Table:
    """Return all goals as one table."""
    rows = [
        (
            goal.what,
            f"{number(goal.measured)} {goal.unit}",
            f"<= {number(goal.limit)} {goal.unit}",
            "reached" if goal.reached else "MISSED",
        )
        for goal in goals
    ]
    return Table("Goals (medians)", ("what", "measured", "goal", ""), rows)
