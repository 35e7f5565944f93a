"""What `playbook rescreen` does: read stored bullets again under the rules of the screen as they are now.

One learner after the other, each in a commit of its own, so that it may be stopped and begun again.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ace_graph.cleaning.clean_memory import learner_ids
from ace_graph.cli.options import DEFAULT_NAME, Which
from ace_graph.cli.store_access import commit, on_playbook, on_store, preview
from ace_graph.cli.terminal import console, counted, print_json, printable
from ace_graph.errors import ChangeRefused, UsageError
from ace_graph.memory.commit import History
from ace_graph.memory.delta.effect import Report, apply
from ace_graph.memory.delta.operations import Rescreen
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.base import Store, can_clean
from ace_graph.memory.stores.playbooks import PlaybookStore, keeps_playbooks

__all__ = ["rescreen", "rescreen_all"]

_REASON = "playbook rescreen"


@dataclass(frozen=True)
class _Rescreened:
    """What screening one learner's bullets changed: ids, with the reasons of those kept back."""

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


def rescreen(url: str | None, which: Which, *, dry_run: bool, as_json: bool) -> None:
    """Screen the bullets of one playbook."""

    async def job(store: Store, key: str) -> list[_Rescreened]:
        if (await store.load(key)).absent:
            raise ChangeRefused(f"nothing is stored for learner {which.learner}: check --learner")
        name = which.learner if which.name == DEFAULT_NAME else f"{which.learner}/{which.name}"
        return [await _rescreen(store, key, name, dry_run=dry_run)]

    _print_result(on_playbook(url, which, job), screened=1, dry_run=dry_run, as_json=as_json)


def rescreen_all(url: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Screen the bullets of every learner and of every named playbook, with a progress bar on stderr."""

    async def job(store: Store) -> tuple[list[_Rescreened], int]:
        if not can_clean(store):
            raise UsageError(f"{store.name} can't list its learners: name one with --learner")
        moved, screened = list[_Rescreened](), 0
        bar = Progress(
            TextColumn("screening"),
            BarColumn(),
            MofNCompleteColumn(),
            console=console(error=True),
            disable=not sys.stderr.isatty(),
        )
        with bar:
            task = bar.add_task("screening", total=(await store.sizes()).learners)
            async for learner in learner_ids(store):
                moved.append(await _rescreen(store, learner, learner, dry_run=dry_run))
                screened += 1
                bar.advance(task)
            if keeps_playbooks(store):
                moved += [each async for each in _rescreen_named(store.playbooks, dry_run=dry_run)]
        return [each for each in moved if each.kept_back or each.released], screened

    moved, screened = on_store(url, job)
    _print_result(moved, screened=screened, dry_run=dry_run, as_json=as_json)


async def _rescreen_named(named: PlaybookStore, *, dry_run: bool) -> AsyncIterator[_Rescreened]:
    async for playbook_id in learner_ids(named):
        entry = await named.entry(playbook_id)
        if entry is not None:
            name = f"{entry.owner or ''}/{entry.name}"
            yield await _rescreen(named, playbook_id, name, dry_run=dry_run)


async def _rescreen(store: Store, key: str, name: str, *, dry_run: bool) -> _Rescreened:
    base = await store.load(key)
    operation = Rescreen(kept=_released_by_people(await store.history(key)))
    effect = preview(store, base, [operation], _REASON)
    if dry_run or not effect.changes:
        after = apply(base.playbook, effect)
        return _result_of(name, effect.report, after, base.version.n)
    done = await commit(store, key, base, [operation], _REASON)
    return _result_of(name, done.report, done.snapshot.playbook, done.version.n)


def _result_of(learner: str, report: Report, after: Playbook, version: int) -> _Rescreened:
    bullets = (after.get_bullet(bullet_id) for bullet_id in report.quarantined)
    reasons = {bullet.id: bullet.quarantine_reason or "" for bullet in bullets if bullet is not None}
    return _Rescreened(learner, reasons, report.released, version)


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


def _print_result(moved: list[_Rescreened], *, screened: int, dry_run: bool, as_json: bool) -> None:
    if as_json:
        changed = [each.json() for each in moved if each.kept_back or each.released]
        print_json({"learners": screened, "dry_run": dry_run, "changed": changed})
        return
    out = console()
    for each in moved:
        for bullet_id, why in each.kept_back.items():
            out.print(printable(f"{each.learner}: {bullet_id} kept back ({why})"), soft_wrap=True)
        for bullet_id in each.released:
            out.print(printable(f"{each.learner}: {bullet_id} released"), soft_wrap=True)
    kept_back, released = sum(len(e.kept_back) for e in moved), sum(len(e.released) for e in moved)
    would = "would be " if dry_run else ""
    of = f"{counted(screened, 'learner')} looked at"
    out.print(f"{of}: {would}kept back {kept_back}, {would}released {released}", soft_wrap=True)
