"""What `playbook rescreen` does: read stored bullets again under the rules of the screen as they are now.

One learner after the other, each in a commit of its own, so that it may be stopped and begun again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ace_graph.cleaning.clean_memory import learner_ids
from ace_graph.cli.options import DEFAULT_NAME, Which
from ace_graph.cli.passes import all_learners, run_pass, settings_with
from ace_graph.cli.store_access import by_command, on_playbook
from ace_graph.cli.terminal import console, counted, print_json, printable
from ace_graph.errors import ChangeRefused
from ace_graph.memory.stores.base import PendingStore, Store
from ace_graph.memory.stores.playbooks import keeps_playbooks
from ace_graph.playbooks.content import Rescreened
from ace_graph.playbooks.content import rescreen as again
from ace_graph.playbooks.handle import PlaybookHandle

__all__ = ["rescreen", "rescreen_all"]


@dataclass(frozen=True)
class _Named:
    """What screening one playbook has changed, and the learner it belongs to."""

    learner: str
    done: Rescreened
    of_named: bool = False

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

    async def job(_: Store, target: PlaybookHandle) -> list[_Named]:
        target.check_owner()
        base = await target.load()
        if base.absent:
            raise ChangeRefused(f"nothing is stored for learner {which.learner}: check --learner")
        name = which.learner if which.name == DEFAULT_NAME else f"{which.learner}/{which.name}"
        return [_Named(name, await again(target.store, target.key, base, by_command(""), dry_run=dry_run))]

    _print_result(on_playbook(url, which, job), 1, dry_run=dry_run, as_json=as_json)


def rescreen_all(url: str | None, *, on: str | None, dry_run: bool, as_json: bool) -> None:
    """Screen the bullets of every learner and of every named playbook, here or on Ray."""
    act = partial(_rescreen, dry_run=dry_run)
    moved = run_pass(settings_with(url), _listed, act, on=on, what="screening")
    screened = sum(not each.of_named for each in moved)
    _print_result([each for each in moved if each.changed], screened, dry_run=dry_run, as_json=as_json)


class _Listed(NamedTuple):
    """A playbook to screen: its key, and whether it is a named one."""

    key: str
    of_named: bool


async def _listed(store: PendingStore) -> AsyncIterator[_Listed]:
    async for learner in all_learners(store):
        yield _Listed(learner, of_named=False)
    if keeps_playbooks(store):
        async for playbook_id in learner_ids(store.playbooks):
            yield _Listed(playbook_id, of_named=True)


async def _rescreen(store: PendingStore, listed: _Listed, *, dry_run: bool) -> _Named:
    where, name = store, listed.key
    if listed.of_named and keeps_playbooks(store):
        where, entry = store.playbooks, await store.playbooks.entry(listed.key)
        name = f"{entry.owner or ''}/{entry.name}" if entry is not None else listed.key
    base = await where.load(listed.key)
    done = await again(where, listed.key, base, by_command(""), dry_run=dry_run)
    return _Named(name, done, of_named=listed.of_named)


def _print_result(moved: list[_Named], screened: int, *, dry_run: bool, as_json: bool) -> None:
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
