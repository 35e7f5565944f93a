"""How much is measured: everything in some minutes, or enough to see that it works."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.goals import Goal
from benchmarks.table import Table

__all__ = ["FULL", "QUICK", "Findings", "Plan"]


@dataclass(frozen=True)
class Plan:
    """Sizes of playbooks, and how often each thing is timed."""

    sizes: tuple[int, ...]
    turns: int
    questions: int
    repeats: int
    writers: int = 20
    writer_rounds: int = 5
    processes: tuple[int, ...] = (1, 4)
    starts: int = 7
    unit_turns: int = 300
    unit_runs: int = 5
    earlier_runs: int = 1
    import_lines: int = 20_000
    quick: bool = False


FULL = Plan(sizes=(200, 1_000, 10_000), turns=60, questions=300, repeats=30)
QUICK = Plan(
    sizes=(200, 1_000),
    turns=5,
    questions=50,
    repeats=5,
    writer_rounds=2,
    processes=(1,),
    starts=1,
    unit_turns=20,
    unit_runs=1,
    earlier_runs=1,
    import_lines=500,
    quick=True,
)


@dataclass
class Findings:
    """What came out: tables, and the goals beside what was measured."""

    tables: list[Table] = field(default_factory=list[Table])
    goals: list[Goal] = field(default_factory=list[Goal])
