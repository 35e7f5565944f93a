"""What `ace-graph store copy` does: open both stores, copy or compare, and tell how it went."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ace_graph.cli.app import print_notice
from ace_graph.cli.environment import load_settings
from ace_graph.cli.terminal import console, counted, print_json
from ace_graph.copying.copy_store import CopyResult, Mode, Step, copy_store
from ace_graph.errors import ConfigurationError, StoreUrlError, UsageError
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.in_memory.store import InMemoryStore
from ace_graph.memory.stores.sqlite.store import SQLiteStore
from ace_graph.memory.stores.whole import CopyableStore, can_copy
from ace_graph.stores import open_store, redacted_url

__all__ = ["run_copy"]

_SHOWN = 20
"""Problems that are printed; --json has all."""


def run_copy(source: str, target: str, learner: str | None, mode: Mode, *, as_json: bool) -> int:
    """Copy or compare. Return 1 where something was not copied, or is not the same."""
    settings = load_settings()

    async def work() -> CopyResult:
        async with (
            open_store(source, settings=settings) as here,
            open_store(target, settings=settings) as there,
        ):
            opened, other = _checked(here, source), _checked(there, target)
            _check_places(here, there, source, target)
            if mode != "copy" and isinstance(there, SQLiteStore) and not there.path.exists():
                other = InMemoryStore()  # opening would make the file
            with _bars() as on_step:
                return await copy_store(opened, other, learner=learner, mode=mode, on_step=on_step)

    result = asyncio.run(work())
    complete = not result.problems and not result.changed
    if as_json:
        print_json(_json(result, mode, complete=complete))
    else:
        _print(result, mode, redacted_url(target))
    return int(not complete)


def _checked(store: Store, url: str) -> CopyableStore:
    if isinstance(store, InMemoryStore):
        raise StoreUrlError(f"{url} ends with this process: name a store that stays")
    if not can_copy(store):
        raise ConfigurationError(f"the store {store.name} can't be copied")
    return store


def _check_places(here: Store, there: Store, source: str, target: str) -> None:
    """Refuse a source that is no file, which opening would create, and a copy onto itself."""
    if isinstance(here, SQLiteStore) and not here.path.is_file():
        raise ConfigurationError(f"there is no file {here.path}: name the store to copy from first")
    same_file = isinstance(here, SQLiteStore) and isinstance(there, SQLiteStore) and here.path == there.path
    if same_file or source == target:
        raise UsageError("FROM and TO are the same store: name another one")


@contextmanager
def _bars() -> Generator[Callable[[Step], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks = dict[str, TaskID]()
    with Progress(*columns, console=console(error=True), disable=not sys.stderr.isatty()) as bar:

        def show(step: Step) -> None:
            if step.phase not in tasks:
                tasks[step.phase] = bar.add_task(step.phase, total=step.of)
            bar.update(tasks[step.phase], completed=step.done)

        yield show


def _json(result: CopyResult, mode: Mode, *, complete: bool) -> dict[str, object]:
    counts = ("learners", "playbooks", "same", "missing", "outdated", "copied", "memberships", "turns")
    numbers: dict[str, object] = {
        name: getattr(result, name) for name in (*counts, "deltas", "pending", "only_in_target")
    }
    return {
        "mode": mode.replace(" ", "_"),
        "complete": complete,
        **numbers,
        "changed": [key._asdict() for key in result.changed],
        "problems": [{**each.key._asdict(), "why": each.why} for each in result.problems],
    }


def _print(result: CopyResult, mode: Mode, target: str) -> None:
    number = result.learners + result.playbooks
    held = ", ".join(
        (
            counted(result.learners, "learner"),
            counted(result.playbooks, "named playbook"),
            counted(result.turns, "turn"),
            counted(result.deltas, "commit") + " of the history",
            counted(result.pending, "pending item"),
            counted(result.memberships, "membership") + " in teams",
        )
    )
    already = f"{result.same} were the same there already"
    match mode:
        case "copy":
            print(f"Copied {result.copied} of {number} to {target}; {already}: {held}.")
        case "dry run":
            waiting = f"{result.missing} missing there, {result.outdated} older there"
            print(
                f"Would copy {result.missing + result.outdated} of {number} ({waiting}); {already}: {held}."
            )
        case "verify":
            print(f"{result.same} of {number} are the same in {target}: {held}.")
    if result.only_in_target:
        print(f"{target} also has {result.only_in_target} that are not in the source; they stay.")
    for key, why in result.problems[:_SHOWN]:
        print_notice(f"{key} {why}")
    if len(result.problems) > _SHOWN:
        print_notice(f"and {len(result.problems) - _SHOWN} more: --json has them all")
    if result.problems and mode == "copy" and not result.copied:
        print_notice("nothing was copied")
    if result.changed:
        changed = len(result.changed)
        what = "1 memory" if changed == 1 else f"{changed} memories"
        print_notice(f"{what} of the source changed meanwhile: stop what writes there, and copy again")
