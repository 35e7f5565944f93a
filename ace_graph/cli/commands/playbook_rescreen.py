"""What `playbook rescreen` does: read stored bullets again under the rules of the screen as they are now.

One learner after the other, each in a commit of its own, so that it may be stopped and begun again.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ace_graph.cli.store_access import commit, on_store, preview
from ace_graph.cli.terminal import console, counted, print_json, printable
from ace_graph.errors import ChangeRefused, UsageError
from ace_graph.memory.commit import History
from ace_graph.memory.delta.effect import Report, apply
from ace_graph.memory.delta.operations import Rescreen
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.base import CleanableStore, Store, can_clean

__all__ = ["rescreen", "rescreen_all"]

_REASON = "playbook rescreen"
_PAGE = 200


@dataclass(frozen=True)
class _Looked:
    """What a look at one learner's bullets came to: ids, with the reasons of those kept back."""

    learner: str
    kept_back: dict[str, str]
    released: tuple[str, ...]
    version: int

    def json(self) -> dict[str, object]:
        return {
            "learner": self.learner,
            "version": self.version,
            "quarantined": self.kept_back,
            "released": list(self.released),
        }


def rescreen(url: str | None, learner: str, *, dry_run: bool, as_json: bool) -> None:
    """Look at one learner's bullets."""

    async def job(store: Store) -> list[_Looked]:
        if (await store.load(learner)).absent:
            raise ChangeRefused(f"nothing is stored for learner {learner}: check --learner")
        return [await _look(store, learner, dry_run=dry_run)]

    _tell(on_store(url, job), looked_at=1, dry_run=dry_run, as_json=as_json)


def rescreen_all(url: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Look at the bullets of every learner, with a progress bar on stderr."""

    async def job(store: Store) -> tuple[list[_Looked], int]:
        if not can_clean(store):
            raise UsageError(f"{store.name} can't list its learners: name one with --learner")
        moved, looked_at = list[_Looked](), 0
        bar = Progress(
            TextColumn("screening"),
            BarColumn(),
            MofNCompleteColumn(),
            console=console(error=True),
            disable=not sys.stderr.isatty(),
        )
        with bar:
            task = bar.add_task("screening", total=(await store.sizes()).learners)
            async for learner in _learners(store):
                looked = await _look(store, learner, dry_run=dry_run)
                moved += [looked] if looked.kept_back or looked.released else []
                looked_at += 1
                bar.advance(task)
        return moved, looked_at

    moved, looked_at = on_store(url, job)
    _tell(moved, looked_at=looked_at, dry_run=dry_run, as_json=as_json)


async def _learners(store: CleanableStore) -> AsyncIterator[str]:
    after = ""
    while page := await store.learners(_PAGE, after):
        for summary in page:
            yield summary.learner_id
        after = page[-1].learner_id


async def _look(store: Store, learner: str, *, dry_run: bool) -> _Looked:
    base = await store.load(learner)
    operation = Rescreen(kept=_released_by_people(await store.history(learner)))
    effect = preview(store, base, [operation], _REASON)
    if dry_run or not effect.changes:
        after = apply(base.playbook, effect)
        return _looked(learner, effect.report, after, base.version.n)
    done = await commit(store, learner, base, [operation], _REASON)
    return _looked(learner, done.report, done.snapshot.playbook, done.version.n)


def _looked(learner: str, report: Report, after: Playbook, version: int) -> _Looked:
    bullets = (after.get_bullet(bullet_id) for bullet_id in report.quarantined)
    reasons = {bullet.id: bullet.quarantine_reason or "" for bullet in bullets if bullet is not None}
    return _Looked(learner, reasons, report.released, version)


def _released_by_people(kept: History) -> tuple[str, ...]:
    """The ids whose last move was a person's release, as far back as the history goes.

    Bullets say so themselves since they have `vouched`; those that were released before do not.
    """
    released: dict[str, None] = {}
    for entry in kept.entries:
        for bullet_id in entry.report.quarantined:
            released.pop(bullet_id, None)
        if entry.reason != _REASON:
            released.update(dict.fromkeys(entry.report.released))
    return tuple(released)


def _tell(moved: list[_Looked], *, looked_at: int, dry_run: bool, as_json: bool) -> None:
    if as_json:
        changed = [each.json() for each in moved if each.kept_back or each.released]
        print_json({"learners": looked_at, "dry_run": dry_run, "changed": changed})
        return
    out = console()
    for each in moved:
        for bullet_id, why in each.kept_back.items():
            out.print(printable(f"{each.learner}: {bullet_id} kept back ({why})"), soft_wrap=True)
        for bullet_id in each.released:
            out.print(printable(f"{each.learner}: {bullet_id} released"), soft_wrap=True)
    kept_back, released = sum(len(e.kept_back) for e in moved), sum(len(e.released) for e in moved)
    would = "would be " if dry_run else ""
    of = f"{counted(looked_at, 'learner')} looked at"
    out.print(f"{of}: {would}kept back {kept_back}, {would}released {released}", soft_wrap=True)
