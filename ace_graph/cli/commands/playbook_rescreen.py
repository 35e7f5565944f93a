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
from ace_graph.cli.store_access import by_command, on_playbook, on_store
from ace_graph.cli.terminal import console, counted, print_json, printable
from ace_graph.errors import ChangeRefused, UsageError
from ace_graph.memory.stores.base import Store, can_clean
from ace_graph.memory.stores.playbooks import PlaybookStore, keeps_playbooks
from ace_graph.playbooks.rescreening import Rescreened
from ace_graph.playbooks.rescreening import rescreen as again
from ace_graph.playbooks.target import Target, check_owner

__all__ = ["rescreen", "rescreen_all"]


@dataclass(frozen=True)
class _Named:
    """What screening one playbook has changed, and the learner it belongs to."""

    learner: str
    done: Rescreened

    @property
    def changed(self) -> bool:
        return bool(self.done.kept_back or self.done.released)

    def json(self) -> dict[str, object]:
        return {
            "learner": self.learner,
            "version": self.done.version,
            "quarantined": self.done.kept_back,
            "released": list(self.done.released),
        }


def rescreen(url: str | None, which: Which, *, dry_run: bool, as_json: bool) -> None:
    """Screen the bullets of one playbook."""

    async def job(_: Store, target: Target) -> list[_Named]:
        check_owner(target)
        base = await target.store.load(target.key)
        if base.absent:
            raise ChangeRefused(f"nothing is stored for learner {which.learner}: check --learner")
        name = which.learner if which.name == DEFAULT_NAME else f"{which.learner}/{which.name}"
        return [_Named(name, await again(target.store, target.key, base, by_command(""), dry_run=dry_run))]

    _print_result(on_playbook(url, which, job), screened=1, dry_run=dry_run, as_json=as_json)


def rescreen_all(url: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Screen the bullets of every learner and of every named playbook, with a progress bar on stderr."""

    async def job(store: Store) -> tuple[list[_Named], int]:
        if not can_clean(store):
            raise UsageError(f"{store.name} can't list its learners: name one with --learner")
        moved, screened = list[_Named](), 0
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
        return [each for each in moved if each.changed], screened

    moved, screened = on_store(url, job)
    _print_result(moved, screened=screened, dry_run=dry_run, as_json=as_json)


async def _rescreen_named(named: PlaybookStore, *, dry_run: bool) -> AsyncIterator[_Named]:
    async for playbook_id in learner_ids(named):
        entry = await named.entry(playbook_id)
        if entry is not None:
            name = f"{entry.owner or ''}/{entry.name}"
            yield await _rescreen(named, playbook_id, name, dry_run=dry_run)


async def _rescreen(store: Store, key: str, name: str, *, dry_run: bool) -> _Named:
    return _Named(name, await again(store, key, await store.load(key), by_command(""), dry_run=dry_run))


def _print_result(moved: list[_Named], *, screened: int, dry_run: bool, as_json: bool) -> None:
    if as_json:
        changed = [each.json() for each in moved if each.changed]
        print_json({"learners": screened, "dry_run": dry_run, "changed": changed})
        return
    out = console()
    for each in moved:
        for bullet_id, why in each.done.kept_back.items():
            out.print(printable(f"{each.learner}: {bullet_id} kept back ({why})"), soft_wrap=True)
        for bullet_id in each.done.released:
            out.print(printable(f"{each.learner}: {bullet_id} released"), soft_wrap=True)
    kept_back = sum(len(each.done.kept_back) for each in moved)
    released = sum(len(each.done.released) for each in moved)
    would = "would be " if dry_run else ""
    of = f"{counted(screened, 'learner')} looked at"
    out.print(f"{of}: {would}kept back {kept_back}, {would}released {released}", soft_wrap=True)
