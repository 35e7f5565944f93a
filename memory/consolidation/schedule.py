"""When a learner's memory is consolidated in the background, and the work that is stored for it. Pure.

A commit after which the memory has more than `Policy.consolidate_above` bullets stores an item of pending
work in its own transaction. The next one is stored after growth of 10 %: that many bullets were added since,
counted by the id counter, so that a memory at its cap, where each new bullet takes the place of another, is
consolidated again as well.

The id of the run follows from that of the last run that ended. So while one is pending, or a dead letter, the
same one becomes due again, and the store has it already.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ace_graph.errors import CorruptPayload
from ace_graph.memory.bullet import Text
from ace_graph.memory.catalogue.name import DEFAULT
from ace_graph.memory.commit import CommitPlan, operation_id
from ace_graph.memory.delta.effect import Consolidated
from ace_graph.memory.pending import Pending, PendingItem
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.views.kinds import BulletKind

__all__ = ["RUN", "ConsolidationWork", "ended_run", "is_run", "read_consolidation", "with_schedule"]

RUN = "consolidation "
"""What the source of each commit of a run and the `turn_id` of its item begin with; the run's id follows."""

_GROWTH = 0.1
_PRIORITY = -1.0
"""Learning goes first: a turn that was answered should count for the next one."""


class ConsolidationWork(BaseModel):
    """A consolidation to run later: of which playbook of the learner, and which bullets it selects.

    The field names are stored. With `expected_etag` it is for the version with that etag only. What is not
    selected here follows the policy of the store then.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    work: Literal["consolidate"] = "consolidate"
    name: Text = DEFAULT
    kind: BulletKind | None = None
    topic: Text | None = None
    section: Text | None = None
    below: Annotated[float, Field(ge=0, le=1)] = 0.5
    keep_above: Annotated[float, Field(ge=0, le=1)] = 0.8
    expected_etag: Annotated[Text | None, Field(exclude_if=lambda value: value is None)] = None

    def as_pending(self, run_id: str) -> Pending:
        """Return the item to store; the run has its id."""
        return Pending(
            pending_id=run_id, turn_id=f"{RUN}{run_id}", body=self.model_dump_json(), priority=_PRIORITY
        )


def is_run(item: Pending) -> bool:
    """Whether the item is a consolidation."""
    return item.turn_id == f"{RUN}{item.pending_id}"


def read_consolidation(item: Pending) -> ConsolidationWork | None:
    """Return the consolidation that an item asks for, None for other work.

    Raises CorruptPayload for one that can't be read.
    """
    if not is_run(item):
        return None
    try:
        return ConsolidationWork.model_validate_json(item.body)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise CorruptPayload(f"the consolidation can't be read ({where}: {first['msg']})") from error


def with_schedule(
    plan: CommitPlan, policy: Policy, learner: str, work: Pending | PendingItem | None = None
) -> CommitPlan:
    """Return the plan with the consolidation that it makes due, if it does, and the note of it.

    `work` is what the caller stores or completes with the commit. Growth counts from the last consolidation,
    however it came about: stored here, stored or completed by the caller, or made by this commit.
    """
    ran = work is not None and is_run(work)
    merged = any(isinstance(change, Consolidated) for change in plan.effect.changes)
    due = not ran and not merged and plan.content_changed and _is_due(plan.snapshot, policy)
    if not (ran or merged or due):
        return plan
    access, playbook = plan.snapshot.access, plan.snapshot.playbook
    note = access.consolidation
    if due or merged or (work is not None and _playbook_of(work) == DEFAULT):
        note = note._replace(next_id=playbook.next_id)
    if ran and isinstance(work, PendingItem):
        note = note._replace(ended=ended_run(work.pending_id, _playbook_of(work) or DEFAULT))
    snapshot = replace(plan.snapshot, access=replace(access, consolidation=note))
    if not due:
        return replace(plan, snapshot=snapshot)
    run_id = operation_id("consolidation", learner, snapshot.version.epoch or "", note.ended)
    return replace(plan, snapshot=snapshot, scheduled=ConsolidationWork().as_pending(run_id))


def ended_run(run_id: str, name: str) -> str:
    """Return what `ConsolidationNote.ended` says once a run on the playbook of this name has ended."""
    return run_id if name == DEFAULT else f"{run_id} {name}"


def _playbook_of(work: Pending) -> str | None:
    """The playbook that the work consolidates, by name; None for other work and for what can't be read."""
    try:
        asked = read_consolidation(work)
    except CorruptPayload:
        return None
    return None if asked is None else asked.name


def _is_due(snapshot: Snapshot, policy: Policy) -> bool:
    size = len(snapshot.playbook)
    if policy.consolidate_above is None or size <= policy.consolidate_above:
        return False
    return snapshot.playbook.next_id - snapshot.access.consolidation.next_id > _GROWTH * size
