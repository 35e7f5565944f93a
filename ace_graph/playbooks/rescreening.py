"""Screening the bullets of a playbook again, by the rules as they are now."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ace_graph.memory.commit import Commit, History
from ace_graph.memory.delta.effect import Report, apply
from ace_graph.memory.delta.operations import Rescreen
from ace_graph.memory.delta.resolve import resolving
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.off_loop import in_slices
from ace_graph.playbooks.manage import Change

__all__ = ["Rescreened", "rescreen", "rescreened"]

REASON = "playbook rescreen"


@dataclass(frozen=True)
class Rescreened:
    """What screening again has changed, in ids with the reasons of those kept back; the version after it."""

    kept_back: dict[str, str]
    released: tuple[str, ...]
    version: int


async def rescreen(
    store: Store, key: str, base: Snapshot, change: Change, *, dry_run: bool = False
) -> Rescreened:
    """Screen all bullets again; what a person released, kept back or vouched for stays.

    With `dry_run`, or where nothing changes, nothing is written. Raises what the store raises.
    """
    operation = Rescreen(kept=_released_by_people(await store.history(key)))
    delta = replace(change, reason=REASON).delta(operation)
    effect = await in_slices(resolving(base, delta, store.policy), key)
    if dry_run or not effect.changes:
        return _result_of(effect.report, apply(base.playbook, effect), base.version.n)
    return rescreened(await store.commit(key, delta, base))


def rescreened(done: Commit) -> Rescreened:
    """Return what a commit of `rescreen` has changed."""
    return _result_of(done.report, done.snapshot.playbook, done.version.n)


def _result_of(report: Report, after: Playbook, version: int) -> Rescreened:
    bullets = (after.get_bullet(bullet_id) for bullet_id in report.quarantined)
    reasons = {bullet.id: bullet.quarantine_reason or "" for bullet in bullets if bullet is not None}
    return Rescreened(reasons, report.released, version)


def _released_by_people(kept: History) -> tuple[str, ...]:
    """The ids whose last move was a person's release, as far back as the history goes.

    Bullets say so themselves since they have `vouched`; those that were released before do not.
    """
    released: dict[str, None] = {}
    for entry in kept.entries:
        for bullet_id in entry.report.quarantined:
            released.pop(bullet_id, None)
        if entry.reason != REASON:
            released.update(dict.fromkeys(entry.report.released))
    return tuple(released)
