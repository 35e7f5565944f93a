"""Taking back a run of a consolidation: everything of it, or nothing."""

from __future__ import annotations

from datetime import datetime

from ace_graph.consolidation.report import Undone
from ace_graph.errors import ChangeRefused
from ace_graph.memory.catalogue.name import DEFAULT
from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import History, HistoryEntry, operation_id
from ace_graph.memory.consolidation.schedule import RUN
from ace_graph.memory.consolidation.undo_operation import undo_of
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.change import commit_checked
from ace_graph.playbooks.handle import open_owned

__all__ = ["undo"]

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
        raise ChangeRefused(f"the run {run_id} was taken back already")
    if not left or (run_id is not None and run_id not in runs):
        raise ChangeRefused("there is no such consolidation to take back: playbook history lists the changes")
    name = left[-1] if run_id is None else run_id
    return name, [entry for entry in runs[name] if entry.effect is None or entry.effect.changes]


def _refused(rejection: Rejection) -> ChangeRefused:
    return ChangeRefused(f"the consolidation can't be taken back: {rejection.why}")
