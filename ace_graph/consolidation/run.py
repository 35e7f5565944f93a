"""Consolidating a playbook: plan it, commit it batch by batch, take it back.

Every batch is a commit whose op id follows from the id of the run, and whose source names the run. So a run
that was stopped can be called again under its id: what it has done is not done again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from ace_graph.consolidation.outlook import read_outlook
from ace_graph.consolidation.report import Consolidation, planned_report
from ace_graph.consolidation.writer import Writer, write_texts
from ace_graph.errors import ChangeRefused
from ace_graph.memory.catalogue.name import DEFAULT
from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import Commit, History, check_expected, operation_id
from ace_graph.memory.consolidation.groups import Group, similar_groups
from ace_graph.memory.consolidation.plan import (
    Options,
    Outlook,
    Plan,
    PlannedGroup,
    RefusedGroup,
    make_plan,
    planned_group,
)
from ace_graph.memory.consolidation.schedule import RUN
from ace_graph.memory.delta.operations import Delta, Distinguish, Operation
from ace_graph.memory.serialization import dump_playbook
from ace_graph.memory.similarity.losses import items_of
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.change import commit_checked
from ace_graph.playbooks.handle import PlaybookHandle, open_owned

__all__ = ["consolidate", "distinguish", "identify_similar_memories", "merge_memories"]

_AUTHOR = "ace-graph consolidate"


async def consolidate(
    store: Store,
    name: str = DEFAULT,
    owner: str | None = None,
    options: Options | None = None,
    *,
    writer: Writer | None = None,
    dry_run: bool = False,
    run_id: str | None = None,
    now: datetime | None = None,
    expected_etag: str | None = None,
) -> Consolidation:
    """Merge what says the same in an owner's playbook, and return the report; `default` is the own memory.

    Rules judge what says the same; with a `writer` a model also writes the text of bullets that are alike.
    With `dry_run` nothing is stored, and the report says what a run would do. A run that was stopped goes on
    under its `run_id`. With `expected_etag` the first commit is onto the version with that etag only, else it
    raises PlaybookChanged. Raises PlaybookNotFound, InvalidPlaybook, UsageError, and what the store raises.
    """
    options, moment, run_id = options or Options(), now or utc_now(), run_id or uuid4().hex
    target = await open_owned(store, name, owner)
    outlook = await read_outlook(store, target, moment)
    if expected_etag is not None and _batches_of(await target.store.history(target.key), run_id):
        expected_etag = None  # what has changed it is this run
    check_expected(expected_etag, outlook.snapshot.version)
    plan, distinct = await _planned(outlook, options, writer)
    report = planned_report(plan, run_id, outlook.snapshot, distinct, dry_run=dry_run)
    if dry_run:
        return report
    run = _Run(target, run_id, moment, expected_etag)
    base = await run.record_distinct(distinct, outlook.snapshot)
    commits = await run.commit(plan.batches, base)
    await target.drop_old_versions(moment)
    return _done(report, commits, outlook.snapshot, base)


async def identify_similar_memories(
    store: Store, name: str = DEFAULT, owner: str | None = None
) -> tuple[tuple[str, ...], ...]:
    """Return the ids of bullets that could be one, group by group. Raises as `consolidate` does."""
    target = await open_owned(store, name, owner)
    outlook = await read_outlook(store, target, utc_now())
    return await asyncio.to_thread(similar_groups, outlook.snapshot.playbook, outlook.policy.similarity)


async def merge_memories(
    store: Store,
    ids: Sequence[str],
    content: str | None = None,
    *,
    name: str = DEFAULT,
    owner: str | None = None,
    keep_above: float = 0.8,
    now: datetime | None = None,
) -> str:
    """Make one bullet of the bullets with these ids, and return its id; they are archived and lead to it.

    `content` is its text, by default that of the most informative one. `undo` takes it back. Raises
    PlaybookNotFound, and ChangeRefused where one is unknown or protected, or the text would lose something.
    """
    moment, run_id = now or utc_now(), uuid4().hex
    target = await open_owned(store, name, owner)
    outlook = await read_outlook(store, target, moment)
    found = [outlook.snapshot.playbook.get_bullet(each) for each in dict.fromkeys(ids)]
    bullets = tuple(bullet for bullet in found if bullet is not None)
    if len(bullets) < len(found) or len(bullets) < 2:
        raise ChangeRefused("a merge takes the ids of two bullets or more: playbook show lists the ids")
    richest = max(bullets, key=lambda bullet: (len(items_of(bullet.content)), len(bullet.content)))
    planned = planned_group(outlook, Group(bullets), content or richest.content, keep_above)
    if isinstance(planned, RefusedGroup):
        raise ChangeRefused(f"{' '.join(planned.ids)}: {planned.why}")
    (commit,) = await _Run(target, run_id, moment).commit([(planned,)], outlook.snapshot)
    if commit.report.rejected:
        raise ChangeRefused(f"{commit.report.rejected[0].id}: {commit.report.rejected[0].why}")
    await target.drop_old_versions(moment)
    return commit.report.merged[0].kept


async def distinguish(
    store: Store,
    ids: Sequence[str],
    *,
    name: str = DEFAULT,
    owner: str | None = None,
    now: datetime | None = None,
) -> Commit:
    """Record that bullets say different things: they are never merged, and never proposed for it again.

    Raises PlaybookNotFound, and ChangeRefused where one is unknown.
    """
    target = await open_owned(store, name, owner)
    delta = Delta(
        op_id=uuid4().hex,
        now=now or utc_now(),
        operations=(Distinguish(bullet_ids=tuple(ids)),),
        author=_AUTHOR,
        reason="these are distinct",
    )
    base = await target.load()
    return await commit_checked(
        target.store, target.key, delta, base, lambda refused: ChangeRefused(f"{refused.id}: {refused.why}")
    )


class _Run:
    """The commits of one run on one playbook."""

    def __init__(
        self, target: PlaybookHandle, run_id: str, now: datetime, expected_etag: str | None = None
    ) -> None:
        self._target = target
        self._run_id = run_id
        self._now = now
        self._expected_etag = expected_etag

    async def record_distinct(self, groups: Sequence[tuple[str, ...]], base: Snapshot) -> Snapshot:
        """Record the groups that say different things, apart from what can be undone; return the state."""
        if not groups:
            return base
        operations = tuple(Distinguish(bullet_ids=ids) for ids in groups)
        delta = self._delta("distinct", operations, "these are distinct", source="")
        return (await self._target.store.commit(self._target.key, delta, base)).snapshot

    async def commit(self, batches: Sequence[Sequence[PlannedGroup]], base: Snapshot) -> list[Commit]:
        """Commit the batches that are left of this run, each on the state after the one before."""
        applied = _batches_of(await self._target.store.history(self._target.key), self._run_id)
        commits: list[Commit] = []
        for number, batch in enumerate(batches, applied + 1):
            operations = tuple(group.operation for group in batch)
            delta = self._delta(str(number), operations, f"consolidate, batch {number}", source=self._run_id)
            done = await self._target.store.commit(self._target.key, delta, base)
            commits.append(done)
            base = done.snapshot
        return commits

    def _delta(self, step: str, operations: tuple[Operation, ...], reason: str, *, source: str) -> Delta:
        expected, self._expected_etag = self._expected_etag, None  # what follows is onto our own commit
        return Delta(
            op_id=operation_id("consolidation", self._target.key, self._run_id, step),
            now=self._now,
            operations=operations,
            author=_AUTHOR,
            reason=reason,
            source=f"{RUN}{source}" if source else "",
            expected_etag=expected,
        )


async def _planned(
    outlook: Outlook, options: Options, writer: Writer | None
) -> tuple[Plan, tuple[tuple[str, ...], ...]]:
    """The plan, and the groups that a model calls distinct."""
    plan = await asyncio.to_thread(make_plan, outlook, options)
    if writer is None or not plan.for_model:
        return plan, ()
    texts, distinct = await write_texts(outlook, plan, options, writer)
    return await asyncio.to_thread(make_plan, outlook, options, texts), tuple(distinct)


def _batches_of(history: History, run_id: str) -> int:
    """How many batches of a run were committed."""
    return sum(1 for entry in history.entries if entry.source == f"{RUN}{run_id}")


def _done(
    report: Consolidation, commits: Sequence[Commit], before: Snapshot, base: Snapshot
) -> Consolidation:
    """The report of what the commits really changed, which is the plan unless others were faster."""
    last = commits[-1].snapshot if commits else base
    made: dict[str, list[str]] = {}
    for pair in (pair for commit in commits for pair in commit.report.merged):
        made.setdefault(pair.kept, []).append(pair.gone)
    new_ids = {tuple(ids): new for new, ids in made.items()}
    reasons = [each.why for commit in commits for each in commit.report.rejected]
    moved = [group.ids for group in report.groups if group.ids not in new_ids]
    groups = [replace(group, new_id=new_ids[group.ids]) for group in report.groups if group.ids in new_ids]
    refused = [RefusedGroup(ids, why) for ids, why in zip(moved, reasons, strict=False)]
    sizes = [len(dump_playbook(state.playbook).encode()) for state in (before, last)]
    return replace(
        report,
        version=last.version.n,
        groups=tuple(groups),
        refused=(*report.refused, *refused),
        space_saved_bytes=sizes[0] - sizes[1],
        commits=len(commits),
    )
