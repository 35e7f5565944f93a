"""What a commit does, decided without I/O: the part of the write protocol that all stores share.

A store reads the state under its lock, asks `meets` whether the base still holds, and writes the
`Plan`. On a conflict it plans the same delta again from the newer state, so no update is ever lost.

Does not: lock, read or write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Literal

from ace_graph.errors import CommitTooOld, HistoryTooShort, LearnerForgotten
from ace_graph.memory.delta.effect import Effect, Report, apply
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.evidence import Evidence, Verdict, verdict_of
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Access, Snapshot, Version, touch
from ace_graph.memory.turn import TurnRecord

__all__ = [
    "Commit",
    "History",
    "HistoryEntry",
    "NewToken",
    "Plan",
    "begun_at",
    "check_age",
    "commit_key",
    "meets",
    "plan",
    "playbook_at",
    "touched",
]

NewToken = Callable[[], str]
"""Gives a random token, never the same twice: etags and epochs."""


@dataclass(frozen=True)
class Commit:
    """The outcome of a commit. `repeated`: this op id had been applied before, nothing was written now."""

    status: Literal["applied", "repeated"]
    version: Version
    report: Report
    snapshot: Snapshot


@dataclass(frozen=True)
class Plan:
    """What is to be written: the effect, and the state after it."""

    effect: Effect
    snapshot: Snapshot
    content_changed: bool

    def commit(self) -> Commit:
        return Commit("applied", self.snapshot.version, self.effect.report, self.snapshot)


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


@dataclass(frozen=True)
class History:
    """Content changes in order. `base` is the playbook at version `base_n`, from which effects are kept."""

    base_n: int
    base: Playbook
    entries: tuple[HistoryEntry, ...]


def commit_key(learner_id: str, op_id: str) -> str:
    """Return the key that is unique per learner and operation: the record of what was applied.

    The op id's own colons are escaped, so that no other pair joins to the same key.
    """
    return f"{learner_id}:{op_id.replace('%', '%25').replace(':', '%3A')}"


def meets(base: Version, current: Version, *, base_clock: int, clock: int) -> bool:
    """Whether a plan made from `base` may be written onto `current`; False is a conflict.

    Raises LearnerForgotten when the base's life of the learner has ended, so that nothing late brings
    a learner back. Only a base of an absent learner creates one.
    """
    if base.epoch is not None and base.epoch != current.epoch:
        raise LearnerForgotten("the learner was forgotten since this memory was loaded: load it again")
    return (base.epoch, base.etag, base_clock) == (current.epoch, current.etag, clock)


def begun_at(delta: Delta, record: TurnRecord | None) -> datetime:
    """Return the earliest moment that a commit speaks of.

    A repeat speaks of the same one: a turn that is resumed has a new `now`, but began when it began.
    """
    return delta.now if record is None else min(delta.now, record.started_at)


def check_age(begun: datetime, keys_from: float | None) -> None:
    """Raise CommitTooOld where keys of the learner were removed up to a later moment (seconds since 1970)."""
    if keys_from is None or begun.timestamp() >= keys_from:
        return
    kept = datetime.fromtimestamp(keys_from, UTC)
    raise CommitTooOld(
        f"this commit is from {begun:%Y-%m-%d %H:%M}; what was applied before {kept:%Y-%m-%d %H:%M} is no "
        "longer known, so it may be a repeat and is not applied: if it is none, make one with a new date"
    )


def plan(
    current: Snapshot, delta: Delta, policy: Policy, record: TurnRecord | None, new_token: NewToken
) -> Plan:
    """Resolve `delta` against `current` and return what to write.

    `n` and the etag move with content only, the access clock with every commit (a clear sets it to 0).
    """
    effect = resolve(current, delta, policy)
    changed = bool(effect.changes)
    playbook = apply(current.playbook, effect)
    today = delta.now.astimezone(UTC).date()
    access = touched(current.access, effect, record, _judged_now(delta, playbook), on=today)
    old = current.version
    version = Version(
        epoch=old.epoch or new_token(),
        n=old.n + changed,
        etag=new_token() if changed or not old.etag else old.etag,
    )
    return Plan(effect, Snapshot(playbook, access, version), changed)


def touched(
    access: Access,
    effect: Effect,
    record: TurnRecord | None = None,
    verdicts: Mapping[str, Verdict] = MappingProxyType({}),
    *,
    on: date | None = None,
) -> Access:
    """Return the access part after the commit of `effect`, which has the turn's `record`; see `touch`."""
    return touch(
        access,
        effect.touched,
        record,
        gone=effect.gone,
        reset=effect.access_reset,
        restamped=effect.restamped,
        content_changed=bool(effect.changes),
        verdicts=verdicts,
        on=on,
    )


def _judged_now(delta: Delta, playbook: Playbook) -> dict[str, Verdict]:
    """Return the verdicts of the turns that this delta judges, by the strongest source of each.

    A judgement that names no bullet is no vote, but it counts here; one that refines says nothing new.
    """
    judged: dict[str, list[Evidence]] = {}
    for operation in delta.operations:
        if operation.op == "judge" and not operation.refines:
            told = Evidence(source=operation.source, verdict=operation.verdict)
            judged.setdefault(operation.turn_id, []).append(told)
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
