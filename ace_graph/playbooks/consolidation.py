"""Consolidation: bullets that say the same become one, nothing is lost, and all of it can be taken back.

from ace_graph import open_store
from ace_graph.playbooks.consolidation import consolidate, undo

async with open_store() as store:
    planned = await consolidate(store, owner="ada", dry_run=True)
    for group in planned.groups:
        print(group.ids, group.text)
    done = await consolidate(store, owner="ada")
    await undo(store, owner="ada", run_id=done.run_id)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from types import MappingProxyType
from typing import Literal
from uuid import uuid4

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import ChangeRefused, CorruptPayload
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.catalogue import DEFAULT, name_key
from ace_graph.memory.commit import Commit, History, HistoryEntry, PendingItem, check_expected, operation_id
from ace_graph.memory.consolidation import (
    RUN,
    ConsolidationPlan,
    ConsolidationWork,
    Figures,
    Group,
    Options,
    Outlook,
    PlannedGroup,
    RefusedGroup,
    ended_run,
    make_plan,
    planned_group,
    questions_of,
    read_consolidation,
    similar_groups,
)
from ace_graph.memory.delta.consolidate import merged_away
from ace_graph.memory.delta.effect import Put, Rejection
from ace_graph.memory.delta.operations import Delta, Distinguish, Operation
from ace_graph.memory.delta.rollback import archived, undo_of
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.rights import not_found
from ace_graph.memory.serialization import dump_playbook
from ace_graph.memory.similarity.losses import items_of
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.memories import commit_checked
from ace_graph.memory.stores.store import Store
from ace_graph.playbooks.handle import PlaybookHandle, open_owned


@dataclass(frozen=True)
class MergedGroup:
    """Bullets that became one, its text, and its id; in a dry run there is no id yet."""

    ids: tuple[str, ...]
    text: str
    new_id: str | None = None
    figures: Figures = Figures()  # noqa: RUF009  a named tuple

    def json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "ids": list(self.ids),
            "text": self.text,
            "new_id": self.new_id,
            "questions": self.figures._asdict(),
        }


@dataclass(frozen=True)
class Consolidation:
    """The report of one run. `merged` + `preserved` + `untouched` is `total`, all in bullets.

    `version` is the one after the run. `preserved` are protected bullets with the reasons, `refused` groups
    that stay and why, `distinct` bullets that the model calls distinct, `for_model` groups that only a model
    can judge, `left` how many groups wait for the next run. `space_saved_bytes` is how much shorter the
    stored playbook is; it may be negative, because a merged bullet names its sources. `figures` are what the
    questions of all bullets find before and after. `texts` are those of the bullets in any of these groups,
    by id.
    """

    run_id: str
    version: int
    total: int
    groups: tuple[MergedGroup, ...] = ()
    preserved: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    refused: tuple[RefusedGroup, ...] = ()
    distinct: tuple[tuple[str, ...], ...] = ()
    for_model: tuple[tuple[str, ...], ...] = ()
    left: int = 0
    figures: Figures = Figures()  # noqa: RUF009  a named tuple
    space_saved_bytes: int = 0
    commits: int = 0
    dry_run: bool = False
    texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def merged(self) -> int:
        """How many bullets became part of another one."""
        return sum(len(group.ids) for group in self.groups)

    @property
    def untouched(self) -> int:
        """How many bullets are neither merged nor protected."""
        return self.total - self.merged - len(self.preserved)

    def json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "run_id": None if self.dry_run else self.run_id,
            "dry_run": self.dry_run,
            "version": self.version,
            "total": self.total,
            "merged": self.merged,
            "preserved": len(self.preserved),
            "untouched": self.untouched,
            "space_saved_bytes": self.space_saved_bytes,
            "commits": self.commits,
            "groups": [group.json() for group in self.groups],
            "protected": dict(self.preserved),
            "refused": [{"ids": list(group.ids), "why": group.why} for group in self.refused],
            "distinct": [list(ids) for ids in self.distinct],
            "for_model": [list(ids) for ids in self.for_model],
            "left": self.left,
            "questions": self.figures._asdict(),
            "texts": dict(self.texts),
        }


@dataclass(frozen=True)
class Undone:
    """A run that was taken back: its id, the version after it, and the bullets that are back and gone."""

    run_id: str
    version: int
    restored: tuple[str, ...]
    removed: tuple[str, ...]


def planned_report(
    plan: ConsolidationPlan,
    run_id: str,
    before: Snapshot,
    distinct: tuple[tuple[str, ...], ...],
    *,
    dry_run: bool,
) -> Consolidation:
    """Return the report of a run that does what the plan says to the state `before`."""
    for_model = tuple(group.ids for group in plan.for_model if group.ids not in distinct)
    merged, refused = (each.group.ids for each in plan.groups), (each.ids for each in plan.refused)
    named = chain.from_iterable((*merged, *refused, *distinct, *for_model))
    return Consolidation(
        run_id=run_id,
        version=before.version.n,
        total=plan.total,
        groups=tuple(MergedGroup(each.group.ids, each.text, None, each.figures) for each in plan.groups),
        preserved=plan.preserved,
        refused=plan.refused,
        distinct=distinct,
        for_model=for_model,
        left=plan.left,
        figures=plan.figures,
        space_saved_bytes=plan.space_saved_bytes,
        dry_run=dry_run,
        texts=MappingProxyType({name: before.playbook.entries[name].content for name in named}),
    )


@dataclass(frozen=True)
class RunState:
    """What became of a run that was left to a worker.

    pending  nobody works on it; `error` says why the last attempt failed, if there was one
    running  a worker has claimed it; `groups` are merged already
    failed   it failed too often, and waits for a person: `ace-graph reflect RUN` tries it again
    done     `groups` is all that it merged
    """

    run_id: str
    status: Literal["pending", "running", "failed", "done"]
    groups: tuple[MergedGroup, ...] = ()
    error: str | None = None


async def enqueue(
    store: Store,
    owner: str,
    work: ConsolidationWork | None = None,
    *,
    run_id: str | None = None,
    now: datetime | None = None,
) -> str:
    """Leave a consolidation of one of the owner's playbooks to a worker, and return the id of the run.

    Raises PlaybookNotFound, and what the store raises.
    """
    work, run = work or ConsolidationWork(), run_id or uuid4().hex
    target = await open_owned(store, work.name, owner)
    if target.named is None and (await target.load()).absent:
        raise not_found(work.name)
    delta = Delta(
        op_id=operation_id("consolidation", owner, run, "asked"),
        now=now or utc_now(),
        operations=(),
        author="ace-graph consolidate",
        reason="a consolidation was asked for",
    )
    await store.commit(owner, delta, await store.load(owner), None, work.as_pending(run))
    return run


async def run_state(
    store: Store, owner: str, run_id: str, name: str = DEFAULT, *, now: datetime | None = None
) -> RunState | None:
    """Return what became of a run on one of the owner's playbooks; None for one that is not known.

    A run that merged nothing is known until the next one ends; one that merged something as long as the
    history holds it. Raises PlaybookNotFound, and what the store raises.
    """
    target = await open_owned(store, name, owner)
    items = await store.list_pending(owner, limit=1_000_000)
    item = next((each for each in items if each.pending_id == run_id and _is_for(each, target)), None)
    history = await target.store.history(target.key)
    groups = _merged(entry for entry in history.entries if entry.source == f"{RUN}{run_id}")
    if item is None:
        ended = (await store.load(owner)).access.consolidation.ended
        known = groups or ended == ended_run(run_id, target.ref.name)
        return RunState(run_id, "done", groups) if known else None
    if item.state == "dead":
        return RunState(run_id, "failed", groups, item.error)
    running = item.leased(now or utc_now())
    return RunState(run_id, "running" if running else "pending", groups, item.error)


def _is_for(item: PendingItem, target: PlaybookHandle) -> bool:
    """Whether an item is a consolidation of the playbook at a target."""
    try:
        work = read_consolidation(item)
    except CorruptPayload:
        return target.ref.is_default  # a dead letter that nobody can read: its learner may still ask for it
    return work is not None and name_key(work.name) == target.ref.key


def _merged(entries: Iterable[HistoryEntry]) -> tuple[MergedGroup, ...]:
    groups: list[MergedGroup] = []
    for entry in entries:
        sources: dict[str, list[str]] = {}
        for pair in entry.report.merged:
            sources.setdefault(pair.kept, []).append(pair.gone)
        changes = () if entry.effect is None else entry.effect.changes
        texts = {each.bullet.id: each.bullet.content for each in changes if isinstance(each, Put)}
        groups += [MergedGroup(tuple(ids), texts.get(kept, ""), kept) for kept, ids in sources.items()]
    return tuple(groups)


TURNS_READ = 200
"""How many of the newest turns the questions are taken from."""


async def read_outlook(store: Store, target: PlaybookHandle, now: datetime) -> Outlook:
    """Return the outlook on the playbook at a target. Raises PlaybookNotFound where nothing is stored."""
    snapshot = await target.load()
    if snapshot.absent:
        raise not_found(target.ref.name)
    originals: dict[str, Bullet] = {}
    if any(merged_away(bullet) for bullet in snapshot.playbook.entries.values()):
        originals = _archived_bullets(await target.store.history(target.key), snapshot.playbook)
    owner = target.ref.owner
    turns = () if owner is None else await store.turns(owner, TURNS_READ)
    return Outlook(
        snapshot,
        target.store.policy,
        now,
        originals.get,
        questions_of(turns, snapshot.playbook),
    )


def _archived_bullets(history: History, playbook: Playbook) -> dict[str, Bullet]:
    return {left.bullet.id: left.bullet for left in archived(history, playbook)}


MOST_ASKED = 20
"""The most groups that a model is asked about in one run."""


@dataclass(frozen=True)
class WriterReply:
    """What a model replied about a group: a text, or that the bullets say different things."""

    text: str = ""
    distinct: bool = False


Writer = Callable[[Group, str], Awaitable[WriterReply | None]]
"""Writes the text of a group, given what was wrong with its last one; None where it has nothing to say."""


async def write_texts(
    outlook: Outlook, plan: ConsolidationPlan, options: Options, writer: Writer
) -> tuple[Mapping[tuple[str, ...], str], Sequence[tuple[str, ...]]]:
    """Ask about the groups of the plan that no rule can judge; return texts by group, and distinct groups.

    A text that the operation would refuse is asked for once more, with the reason. The second one is returned
    whatever it is: the plan that is made with it refuses the group with the reason.
    """
    texts: dict[tuple[str, ...], str] = {}
    distinct: list[tuple[str, ...]] = []
    for group in plan.for_model[:MOST_ASKED]:
        written = await writer(group, "")
        if written is not None and not written.distinct:
            found = planned_group(outlook, group, written.text, options.keep_above)
            if isinstance(found, RefusedGroup):
                written = await writer(group, found.why) or written
        if written is None:
            continue
        if written.distinct:
            distinct.append(group.ids)
        else:
            texts[group.ids] = written.text
    return texts, distinct


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
    # The report of what the commits really changed, which is the plan unless others were faster
    last = commits[-1].snapshot if commits else base
    made: dict[str, list[str]] = {}
    for pair in (pair for commit in commits for pair in commit.report.merged):
        made.setdefault(pair.kept, []).append(pair.gone)
    new_ids = {tuple(ids): new for new, ids in made.items()}
    reasons = [each.why for commit in commits for each in commit.report.rejected]
    moved = [group.ids for group in report.groups if group.ids not in new_ids]
    groups = [replace(group, new_id=new_ids[group.ids]) for group in report.groups if group.ids in new_ids]
    refused = [RefusedGroup(ids, why) for ids, why in zip(moved, reasons, strict=False)]
    sizes = [len(dump_playbook(state.playbook).encode()) for state in (outlook.snapshot, last)]
    return replace(
        report,
        version=last.version.n,
        groups=tuple(groups),
        refused=(*report.refused, *refused),
        space_saved_bytes=sizes[0] - sizes[1],
        commits=len(commits),
    )


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
    keep_above: float | None = 0.8,
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
        raise ChangeRefused("a merge needs the ids of two bullets or more: playbook show lists the ids")
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
    """The commits of one run on one playbook: what a run that was stopped has done is not done again.

    The op id of each follows from the run's id, and its source names the run.
    """

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
) -> tuple[ConsolidationPlan, tuple[tuple[str, ...], ...]]:
    """The plan, and the groups that a model calls distinct."""
    plan = await asyncio.to_thread(make_plan, outlook, options)
    if writer is None or not plan.for_model:
        return plan, ()
    texts, distinct = await write_texts(outlook, plan, options, writer)
    return await asyncio.to_thread(make_plan, outlook, options, texts), tuple(distinct)


def _batches_of(history: History, run_id: str) -> int:
    """How many batches of a run were committed."""
    return sum(1 for entry in history.entries if entry.source == f"{RUN}{run_id}")


_UNDONE = "undo of consolidation "


async def undo(
    store: Store,
    name: str = DEFAULT,
    owner: str | None = None,
    *,
    run_id: str | None = None,
    now: datetime | None = None,
    expected_etag: str | None = None,
) -> Undone:
    """Take back a run, by default the newest that was not taken back yet, in one commit.

    All is as before it, but for the id counter, and what came later stays. Raises PlaybookNotFound,
    PlaybookChanged for a version with another etag than `expected_etag`, and ChangeRefused where there is no
    such run, or a bullet of it has changed since, which it names.
    """
    moment = now or utc_now()
    target = await open_owned(store, name, owner)
    base = await target.load()
    history = await target.store.history(target.key)
    found, entries = _run_of(history, run_id)
    delta = Delta(
        op_id=operation_id("undo", target.key, found),
        now=moment,
        operations=tuple(undo_of(history, entry.op_id) for entry in reversed(entries)),
        author="ace-graph consolidate undo",
        reason=f"undo of {len(entries)} commits" if len(entries) > 1 else "undo",
        source=f"{_UNDONE}{found}",
        expected_etag=expected_etag,
    )
    done = await commit_checked(target.store, target.key, delta, base, _refused)
    await target.drop_old_versions(moment)
    return Undone(found, done.version.n, done.report.restored, done.report.removed)


def _run_of(history: History, run_id: str | None) -> tuple[str, list[HistoryEntry]]:
    """The id of the run and its commits, the oldest first."""
    sources = [entry.source for entry in history.entries]
    undone = {source.removeprefix(_UNDONE) for source in sources if source.startswith(_UNDONE)}
    runs: dict[str, list[HistoryEntry]] = {}
    for entry in history.entries:
        if entry.source.startswith(RUN):
            runs.setdefault(entry.source.removeprefix(RUN), []).append(entry)
    left = [name for name in runs if name not in undone]
    if run_id in undone:
        raise ChangeRefused(f"the run {run_id} was undone already")
    if not left or (run_id is not None and run_id not in runs):
        raise ChangeRefused("there is no such consolidation to undo: playbook history lists the changes")
    name = left[-1] if run_id is None else run_id
    return name, [entry for entry in runs[name] if entry.effect is None or entry.effect.changes]


def _refused(rejection: Rejection) -> ChangeRefused:
    return ChangeRefused(f"the consolidation can't be taken back: {rejection.why}")
