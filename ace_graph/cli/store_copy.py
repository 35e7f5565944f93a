"""What `ace-graph store copy`, `backup` and `check` do: open the stores, work on them, tell how it went."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ace_graph.cli.app import print_notice
from ace_graph.cli.environment import load_settings
from ace_graph.cli.terminal import console, counted, print_json
from ace_graph.copying.check import CheckResult, check_all
from ace_graph.copying.copy_store import CopyResult, Mode, Problem, Step, copy_store
from ace_graph.errors import ConfigurationError, StoreUnavailable, StoreUrlError, UsageError
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.in_memory.store import InMemoryStore
from ace_graph.memory.stores.sqlite.store import SQLiteStore
from ace_graph.memory.stores.whole import CopyableStore, can_copy
from ace_graph.stores import open_store, redacted_url

__all__ = ["run_backup", "run_check", "run_copy"]

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


def run_backup(url: str | None, file: Path, *, as_json: bool) -> int:
    """Copy the store into a new file and read that once more. Return 1 where something is not in it.

    The file appears at the end, whole: until then it is in a folder beside it. Raises ConfigurationError
    where there is such a file already.
    """
    settings = load_settings()
    source = settings.store_url if url is None else url
    if os.path.lexists(file):
        raise ConfigurationError(f"{file} is there already: name another file, backups overwrite nothing")
    if not file.absolute().parent.is_dir():
        raise ConfigurationError(f"there is no folder {file.absolute().parent}: make it first")

    async def work(made: Path) -> tuple[CopyResult, CheckResult]:
        async with (
            open_store(url, settings=settings) as here,
            open_store(f"sqlite:///{made}", settings=settings) as there,
        ):
            opened, other = _checked(here, source), _checked(there, str(file))
            _check_places(here, there, source, str(file))
            with _bars() as on_step:
                copied = await copy_store(opened, other, on_step=on_step)
        async with open_store(f"sqlite:///{made}", settings=settings) as written:
            with _bars() as on_step:
                return copied, await check_all(_checked(written, str(file)), on_step)

    with tempfile.TemporaryDirectory(dir=file.absolute().parent, prefix=f".{file.name}.") as folder:
        made = Path(folder, "backup.db")
        copied, checked = asyncio.run(work(made))
        if copied.copied or not copied.problems:
            _put_in_place(made, file)
    problems = (*copied.problems, *checked.problems)
    if as_json:
        print_json(
            {**_json(replace(copied, problems=problems), "copy", complete=not problems), "file": str(file)}
        )
        return int(bool(problems))
    number = copied.learners + copied.playbooks
    print(f"Backed up {copied.copied} of {number} to {file}, and read it again: {_held(checked)}.")
    if copied.changed:
        count = len(copied.changed)
        print(f"{count} changed meanwhile; the backup has them as they were when each was read.")
    _print_problems(problems)
    return int(bool(problems))


def _put_in_place(made: Path, file: Path) -> None:
    """Give a finished database its name, unless that was taken meanwhile."""
    if made.with_name(f"{made.name}-wal").exists():
        raise StoreUnavailable(f"{file.absolute().parent} can't take the whole backup: make room on the disk")
    with made.open("rb") as data:
        os.fsync(data.fileno())
    try:
        os.link(made, file)
    except OSError as error:
        if os.path.lexists(file):
            raise ConfigurationError(f"{file} was made meanwhile and stays: name another file") from error
        made.rename(file)  # the file system has no hard links


def run_check(url: str | None, *, as_json: bool) -> int:
    """Read everything in a store. Return 1 where something is damaged."""
    settings = load_settings()
    source = settings.store_url if url is None else url

    async def work() -> CheckResult:
        async with open_store(url, settings=settings) as store:
            opened = _checked(store, source)
            _check_file(store)
            with _bars() as on_step:
                return await check_all(opened, on_step)

    result = asyncio.run(work())
    if as_json:
        counts = {
            name: getattr(result, name) for name in ("learners", "playbooks", "turns", "deltas", "pending")
        }
        print_json({"ok": not result.problems, **counts, "problems": _problems_json(result.problems)})
        return int(bool(result.problems))
    print(f"Read {redacted_url(source)}: {_held(result)}.")
    if result.problems:
        _print_problems(result.problems)
    else:
        print("Nothing is damaged.")
    return int(bool(result.problems))


def _checked(store: Store, url: str) -> CopyableStore:
    if isinstance(store, InMemoryStore):
        raise StoreUrlError(f"{url} ends with this process: name a store that stays")
    if not can_copy(store):
        raise ConfigurationError(f"the store {store.name} can't be copied")
    return store


def _check_places(here: Store, there: Store, source: str, target: str) -> None:
    """Refuse a source that is no file, which opening would create, and a copy onto itself."""
    _check_file(here)
    same_file = isinstance(here, SQLiteStore) and isinstance(there, SQLiteStore) and here.path == there.path
    if same_file or source == target:
        raise UsageError("FROM and TO are the same store: name another one")


def _check_file(store: Store) -> None:
    """Refuse a store that is no file, which opening would create."""
    if isinstance(store, SQLiteStore) and not store.path.is_file():
        raise ConfigurationError(f"there is no file {store.path}: name a store that is there")


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
        "problems": _problems_json(result.problems),
    }


def _problems_json(problems: Sequence[Problem]) -> list[dict[str, str]]:
    return [{**each.key._asdict(), "why": each.why} for each in problems]


def _held(result: CopyResult | CheckResult) -> str:
    """Say how much was read."""
    parts = [
        counted(result.learners, "learner"),
        counted(result.playbooks, "named playbook"),
        counted(result.turns, "turn"),
        counted(result.deltas, "commit") + " of the history",
        counted(result.pending, "pending item"),
    ]
    if isinstance(result, CopyResult):
        parts.append(counted(result.memberships, "membership") + " in teams")
    return ", ".join(parts)


def _print_problems(problems: Sequence[Problem]) -> None:
    for key, why in problems[:_SHOWN]:
        print_notice(f"{key} {why}")
    if len(problems) > _SHOWN:
        print_notice(f"and {len(problems) - _SHOWN} more: --json has them all")


def _print(result: CopyResult, mode: Mode, target: str) -> None:
    number = result.learners + result.playbooks
    held = _held(result)
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
    _print_problems(result.problems)
    if result.problems and mode == "copy" and not result.copied:
        print_notice("nothing was copied")
    if result.changed:
        changed = len(result.changed)
        what = "1 memory" if changed == 1 else f"{changed} memories"
        print_notice(f"{what} of the source changed meanwhile: stop what writes there, and copy again")
