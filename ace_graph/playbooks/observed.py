"""How runs with each version of a named playbook ended, from the records of a learner's turns.

This is an observation, no experiment: versions were not assigned to questions at random, and a later version
met later questions. `ace-graph playbook diff --data` asks two versions the same questions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ace_graph.memory.evidence import Verdict
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.statistics import Z_95, Interval, wilson_interval
from ace_graph.memory.stores.base import PendingStore
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.memory.views.confidence import present_verdict

__all__ = ["MAX_TURNS", "VersionOutcome", "observe_versions", "outcomes_by_version"]

MAX_TURNS = 5_000
"""So many of the newest turns are read."""

_PAGE = 500
_JUDGED: tuple[Verdict, ...] = ("success", "failure", "partial")


@dataclass(frozen=True)
class VersionOutcome:
    """The turns that read one version, those of them with a verdict, and those that succeeded."""

    label: str
    turns: int = 0
    judged: int = 0
    succeeded: int = 0

    @property
    def success_rate(self) -> float | None:
        """succeeded / judged; None while no turn was judged."""
        return self.succeeded / self.judged if self.judged else None

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the success rate (Wilson's)."""
        return wilson_interval(self.succeeded, self.judged, Z_95)


async def observe_versions(
    store: PendingStore, learner_id: str, playbook_id: str
) -> tuple[VersionOutcome, ...]:
    """Return how the learner's turns with each version ended, by label, the oldest first.

    The newest 5,000 turns are read. Raises what the store raises.
    """
    snapshot = await store.load(learner_id)
    turns: dict[str, TurnRecord] = {}
    for skip in range(0, MAX_TURNS, _PAGE):
        page = await store.find_turns(learner_id, TrajectoryFilter(), limit=_PAGE, skip=skip)
        for turn in page:
            turns.setdefault(turn.turn_id, turn)
        if len(page) < _PAGE:
            break
    return outcomes_by_version(turns.values(), playbook_id, snapshot)


def outcomes_by_version(
    turns: Iterable[TurnRecord], playbook_id: str, snapshot: Snapshot
) -> tuple[VersionOutcome, ...]:
    """Return how these turns ended by the version that they read, with the verdicts that stand now."""
    recent: dict[str, Verdict] = {turn.turn_id: turn.verdict for turn in snapshot.access.recent_turns}
    found: dict[str, VersionOutcome] = {}
    for turn in turns:
        label = next((read.label for read in turn.playbooks if read.playbook_id == playbook_id), None)
        if label is not None:
            known = found.get(label, VersionOutcome(label))
            found[label] = _with_turn(known, turn, snapshot.playbook, recent)
    return tuple(found[label] for label in sorted(found, key=_numbers))


def _with_turn(
    known: VersionOutcome, turn: TurnRecord, playbook: Playbook, recent: dict[str, Verdict]
) -> VersionOutcome:
    verdict = present_verdict(turn, playbook, recent)
    return VersionOutcome(
        known.label,
        known.turns + 1,
        known.judged + (verdict in _JUDGED),
        known.succeeded + (verdict == "success"),
    )


def _numbers(label: str) -> tuple[int, ...]:
    return tuple(int(part) for part in label.split("."))
