"""The part of the write protocol that all stores share, without I/O.

A store plans from the state that it has read, and writes the `CommitPlan` under its lock while that state is
still the present one. Where it is not, which is a conflict, the same delta is planned again from the newer
state, so no update is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import NAMESPACE_URL, uuid5

from pydantic import Field

from ace_graph.base.errors import CommitTooOld, HistoryTooShort, LearnerForgotten, PlaybookChanged
from ace_graph.base.frozen import Frozen
from ace_graph.base.off_loop import Steps, finish
from ace_graph.base.text import shorten
from ace_graph.memory.bullet import Moment, Text
from ace_graph.memory.delta.effect import Cleared, Effect, Report, Rewound, apply
from ace_graph.memory.delta.operations import Add, Delta, Update
from ace_graph.memory.evidence import Evidence, Verdict, verdict_of
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Label, Snapshot, Version, touched, touches_of
from ace_graph.memory.turn import TurnRecord
from ace_graph.memory.use_stamps import Touches, mark_after

# Pending work: what a turn's commit stores for later, and what a worker claims.
#
# An item's id is the op id of the commit that completes it, so it takes effect once, however often workers
# process it. A lease names the worker and ends at a set time; an item with an expired lease can be claimed
# again. The items of one learner are processed one after the other, those of different learners in
# parallel. The store does not interpret an item's `body`.


MAX_BODY_CHARS = 250_000
MAX_ERROR_CHARS = 500
PendingState = Literal["pending", "dead"]
"""`dead`: a dead letter; it failed too often and waits for a person."""


class Pending(Frozen):
    """New work, stored atomically with the commit that creates it.

    `pending_id` is the op id of the commit that will complete it; `turn_id` names its turn. Of one learner's
    items the highest priority is next, then the oldest.
    """

    pending_id: Text
    turn_id: Text
    body: Annotated[Text, Field(max_length=MAX_BODY_CHARS)]
    priority: Annotated[float, Field(allow_inf_nan=False)] = 0.0


class PendingItem(Pending):
    """Work as it is stored. `attempts` counts the claims, including the present one.

    It can be claimed from `free_at` on: while it is leased that is the end of the lease, after a failure the
    time of the retry. `lease` is the token of the newest claim, `error` the reason of the last failure.
    """

    learner_id: Text
    state: PendingState = "pending"
    attempts: Annotated[int, Field(ge=0)] = 0
    created_at: Moment
    free_at: Moment
    lease: Text | None = None
    owner: Text | None = None
    error: Text | None = None

    def leased(self, now: datetime) -> bool:
        """Whether a worker holds its lease at `now`."""
        return self.state == "pending" and self.lease is not None and self.free_at > now


@dataclass(frozen=True)
class PendingCounts:
    """How many items are waiting or leased (`pending`), and how many are dead letters."""

    pending: int = 0
    dead: int = 0


@dataclass(frozen=True)
class Amend:
    """Change the stored record of a turn, under the learner's lock.

    `change` is pure and may be called more than once; what it raises is raised to the caller, and nothing is
    written. Of several attempts at the turn the newest is changed. Without such a turn the store raises
    TrajectoryNotFound, or does nothing with `missing_ok`.
    """

    turn_id: str
    change: Callable[[TurnRecord], TurnRecord]
    missing_ok: bool = False


def bounded_error(error: str) -> str:
    """Return an error as it is stored with an item: at most 500 characters."""
    return shorten(error.replace("\x00", " "), MAX_ERROR_CHARS)


NewToken = Callable[[], str]
"""Returns a random token, never the same twice, for etags and epochs."""


@dataclass(frozen=True)
class Commit:
    """The result of a commit. `repeated`: this op id had been applied before, nothing was written.

    `scheduled` is the id of the consolidation that the commit made due and stored as pending work. `changed`:
    it made a version.
    """

    status: Literal["applied", "repeated"]
    version: Version
    report: Report
    snapshot: Snapshot
    scheduled: str | None = None
    changed: bool = False


@dataclass(frozen=True)
class CommitPlan:
    """What to write: the effect, the state after it, and the work that it makes due.

    `parent` is the version that it was made from, `parent_clock` and `parent_mark` those of the access part
    there. `touches` is None where the access part starts anew.
    """

    effect: Effect
    snapshot: Snapshot
    content_changed: bool
    parent: Version
    parent_clock: int = 0
    parent_mark: str = ""
    touches: Touches | None = None
    scheduled: Pending | None = None

    def effects_kept(self, policy: Policy) -> int:
        """Return how many effects the store keeps once this plan is written."""
        return policy.effects_kept(self.snapshot.playbook.consolidations.last_at, self.effect.now)

    def commit(self) -> Commit:
        """Return the result of the commit that wrote this plan."""
        scheduled = None if self.scheduled is None else self.scheduled.pending_id
        version, report = self.snapshot.version, self.effect.report
        return Commit("applied", version, report, self.snapshot, scheduled, self.content_changed)


@dataclass(frozen=True)
class HistoryEntry:
    """One committed delta. `effect` is None where the history was compacted."""

    n: int
    op_id: str
    at: datetime
    author: str
    reason: str
    source: str
    report: Report
    effect: Effect | None
    label: Label = Label()  # noqa: RUF009  a named tuple


@dataclass(frozen=True)
class History:
    """Content changes in order. `base` is the playbook at version `base_n`, from which effects are kept."""

    base_n: int
    base: Playbook
    entries: tuple[HistoryEntry, ...]


def commit_key(learner_id: str, op_id: str) -> str:
    """Return the key under which it is recorded that the operation was applied to the learner.

    Colons of the op id are escaped, so that no two pairs have the same key.
    """
    return f"{learner_id}:{op_id.replace('%', '%25').replace(':', '%3A')}"


def operation_id(*parts: str) -> str:
    """Return the op id that follows from these parts: the same parts always give the same id.

    So a step that is repeated, as by a resumed run, has the id that it had before, and is applied once.
    """
    return str(uuid5(NAMESPACE_URL, ":".join(("ace-graph", *parts))))


def check_not_forgotten(base: Version, current: Version) -> None:
    """Raise LearnerForgotten when the learner was forgotten after `base` was loaded.

    So a late commit never brings a learner back; only a base of an absent learner creates one.
    """
    if base.epoch is not None and base.epoch != current.epoch:
        raise LearnerForgotten("the learner was forgotten since this memory was loaded: load it again")


def check_expected(etag: str | None, current: Version) -> None:
    """Raise PlaybookChanged where a change is for the content with another etag than the present one."""
    if etag not in (None, current.etag):
        raise PlaybookChanged("the playbook was changed since it was read: read it again, then change that")


def begun_at(delta: Delta, record: TurnRecord | None) -> datetime:
    """Return the earliest moment in a commit.

    It is the same in a repeated commit: a turn that is resumed has a new `now`, but the same start.
    """
    return delta.now if record is None else min(delta.now, record.started_at)


def check_age(begun: datetime, keys_from: float | None) -> None:
    """Raise CommitTooOld where keys of the learner were removed up to a later moment (seconds since 1970)."""
    if keys_from is None or begun.timestamp() >= keys_from:
        return
    kept = datetime.fromtimestamp(keys_from, UTC)
    raise CommitTooOld(
        f"this commit is from {begun:%Y-%m-%d %H:%M}; what was applied before {kept:%Y-%m-%d %H:%M} is no "
        "longer known, so it may be a repeat and is not applied: if it is not, commit it with a new date"
    )


def references(delta: Delta, current: Snapshot, record: TurnRecord | None) -> frozenset[str]:
    """Return the trajectories that the delta names and that only the store can know.

    The turn of this commit and the recent turns are known to be there, so a turn needs no look-up.
    """
    naming = (operation for operation in delta.operations if isinstance(operation, Add | Update))
    named = {name for operation in naming for name in operation.examples}
    if not named:
        return frozenset()
    known = {turn.turn_id for turn in current.access.recent_turns}
    return frozenset(named - known - ({record.turn_id} if record else set()))


def plan(
    current: Snapshot,
    delta: Delta,
    policy: Policy,
    record: TurnRecord | None,
    new_token: NewToken,
    unknown: Collection[str] = (),
) -> CommitPlan:
    """Resolve `delta` against `current` and return what to write; `unknown` are trajectories not stored.

    `n` and the etag change with the content only, the access clock with every commit (a clear sets it to 0).
    Raises PlaybookChanged when the delta is for another version than `current`.
    """
    return finish(planning(current, delta, policy, record, new_token, unknown))


def planning(
    current: Snapshot,
    delta: Delta,
    policy: Policy,
    record: TurnRecord | None,
    new_token: NewToken,
    unknown: Collection[str] = (),
) -> Steps[CommitPlan]:
    """Do what `plan` does, in steps."""
    from ace_graph.memory.delta.resolve import resolving

    check_expected(delta.expected_etag, current.version)
    effect = yield from resolving(current, delta, policy, unknown)
    changed = bool(effect.changes)
    playbook = apply(current.playbook, effect)
    today = delta.now.astimezone(UTC).date()
    before = current.access
    # Turns whose judgement names a bullet
    followed = frozenset(each.turn_id for each in delta.operations if each.op == "judge" and each.bullet_ids)
    verdicts = _verdicts_of(delta, playbook)
    moved = None if effect.access_reset else touches_of(before, effect, record, on=today)
    access = touched(before, effect, record, verdicts, followed=followed, on=today, moved=moved)
    access = replace(access, mark=mark_after(before.mark, effect.op_id))
    old = current.version
    version = Version(
        epoch=old.epoch or new_token(),
        n=old.n + changed,
        etag=new_token() if changed or not old.etag else old.etag,
        label=_label_after(old, effect, kept=delta.keeps_label),
    )
    after = Snapshot(playbook, access, version)
    return CommitPlan(effect, after, changed, old, before.access_clock, before.mark, moved)


def _label_after(old: Version, effect: Effect, *, kept: bool) -> Label:
    if not effect.changes or (kept and old.n):
        return old.label
    return old.label.after(replaced=any(isinstance(each, Cleared | Rewound) for each in effect.changes))


def _verdicts_of(delta: Delta, playbook: Playbook) -> dict[str, Verdict]:
    """Return the verdicts of the turns that this delta judges, by the strongest source of each.

    A judgement without bullets is no vote, but counts here; one that only refines an earlier one does not.
    """
    judged: dict[str, list[Evidence]] = {}
    for operation in delta.operations:
        if operation.op == "judge" and not operation.refines:
            evidence = Evidence(source=operation.source, verdict=operation.verdict)
            judged.setdefault(operation.turn_id, []).append(evidence)
    return {turn: verdict_of((*_standing(playbook, turn), *now)) for turn, now in judged.items()}


def _standing(playbook: Playbook, turn: str) -> list[Evidence]:
    votes = playbook.votes.get(turn, {})
    return [Evidence(source=source, verdict=vote.verdict) for source, vote in votes.items()]


def playbook_at(history: History, n: int) -> Playbook:
    """Return the content as it was at version `n`, by folding the effects kept.

    Raises HistoryTooShort for a version before the compacted base or after the newest.
    """
    newest = max((entry.n for entry in history.entries), default=history.base_n)
    if not history.base_n <= n <= newest:
        raise HistoryTooShort(f"version {n} is not kept: choose one from {history.base_n} to {newest}")
    effects = (entry.effect for entry in history.entries if history.base_n < entry.n <= n)
    return apply(history.base, *(effect for effect in effects if effect is not None))
