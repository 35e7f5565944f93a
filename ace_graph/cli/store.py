"""The commands `ace-graph store ...`: copy a store, back it up, check it, clean it, draw it."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import ConfigurationError, StoreUnavailable, StoreUrlError, UsageError
from ace_graph.cli.command import STORE, Call, CommandGroup, Everybody, command
from ace_graph.cli.terminal import counted, picked, print_notice, progress_bar
from ace_graph.learning.cleaning import CleaningResult, clean_learners
from ace_graph.memory.stores.base import DrawsGraph
from ace_graph.memory.stores.store import Store
from ace_graph.stores import open_store, redacted_url
from ace_graph.stores.check import CheckResult, check_all
from ace_graph.stores.copy_store import CopyProblem, CopyProgress, CopyResult, Mode, copy_store

commands = typer.Typer(cls=CommandGroup, no_args_is_help=True)

_SHOWN = 20
"""Problems that are printed; --json has all."""


@command(commands, "as_json")
def copy(
    call: Call,
    source: Annotated[str, "FROM", "The store to read, as in --store."],
    target: Annotated[str, "TO", "The store to write."],
    learner: Annotated[str | None, "--learner -l ID", "Only this learner and their playbooks."] = None,
    dry_run: Annotated[bool, "Show what would be copied; write nothing."] = False,
    verify_only: Annotated[bool, "Compare both stores; write nothing."] = False,
) -> int:
    """Copy all learners, playbooks and teams into another store, in any direction; FROM stays as it is.

    \b
    ace-graph store copy sqlite:///ace.db postgresql://ace@db/ace
    ace-graph store copy sqlite:///ace.db postgresql://ace@db/ace --verify-only

    Stop what writes to either store. Each memory is written in one transaction, read back and
    compared. Run the same command again after an interruption, or to copy later changes. If TO has
    another memory of a learner, nothing is written. Exit code 1: something is missing or different.
    """
    if dry_run and verify_only:
        raise UsageError("--dry-run and --verify-only exclude each other: use one")
    mode: Mode = "dry run" if dry_run else "verify" if verify_only else "copy"
    settings, file = call.settings(), _file_of(target)
    reads_nothing = mode != "copy" and file is not None and not file.exists()  # opening would make the file

    async def work() -> CopyResult:
        async with (
            open_store(source, settings=settings) as here,
            open_store("memory://" if reads_nothing else target, settings=settings) as there,
        ):
            for url in (source, target):
                _check_stays(url)
            _check_places(source, target)
            with _bars() as on_step:
                return await copy_store(here, there, learner=learner, mode=mode, on_step=on_step)

    result = asyncio.run(work())
    complete = not result.problems and not result.changed
    if call.as_json:
        call.answer(_copy_json(result, mode, complete=complete), ())
    else:
        _print_copy(result, mode, redacted_url(target))
    return int(not complete)


def _check_stays(url: str) -> None:
    if url.startswith("memory://"):
        raise StoreUrlError(f"{url} is lost when this process ends: choose another store")


def _check_places(source: str, target: str) -> None:
    """Refuse a source that is no file, which opening would create, and a copy onto itself."""
    _check_file(source)
    files = [file.absolute() for file in (_file_of(source), _file_of(target)) if file is not None]
    if source == target or (len(files) == 2 and files[0] == files[1]):
        raise UsageError("FROM and TO are the same store: choose another")


def _check_file(url: str) -> None:
    """Refuse a store that is no file, which opening would create."""
    file = _file_of(url)
    if file is not None and not file.is_file():
        raise ConfigurationError(f"there is no file {file}: check the path")


def _file_of(url: str) -> Path | None:
    return Path(url.removeprefix("sqlite:///")).expanduser() if url.startswith("sqlite:///") else None


@contextmanager
def _bars() -> Generator[Callable[[CopyProgress], None]]:
    with progress_bar() as bar:
        yield lambda step: bar(step.phase, step.done, step.of)


def _copy_json(result: CopyResult, mode: Mode, *, complete: bool) -> dict[str, object]:
    counts = ("learners", "playbooks", "same", "missing", "outdated", "copied", "memberships", "turns")
    return {
        "mode": mode.replace(" ", "_"),
        "complete": complete,
        **picked(result, *counts, "deltas", "pending", "only_in_target"),
        "changed": [key._asdict() for key in result.changed],
        "problems": _problems_json(result.problems),
    }


def _print_copy(result: CopyResult, mode: Mode, target: str) -> None:
    number, already = result.learners + result.playbooks, f"{result.same} were the same there already"
    held = _held(result)
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
    _print_problems(_sentences(result.problems))
    if result.problems and mode == "copy" and not result.copied:
        print_notice("nothing was copied")
    if result.changed:
        changed = len(result.changed)
        what = "1 memory" if changed == 1 else f"{changed} memories"
        print_notice(f"{what} of the source changed meanwhile: stop what writes there, and copy again")


def _problems_json(problems: Sequence[CopyProblem]) -> list[dict[str, str]]:
    return [{**each.key._asdict(), "why": each.why} for each in problems]


def _sentences(problems: Sequence[CopyProblem]) -> list[str]:
    return [f"{each.key} {each.why}" for each in problems]


def _print_problems(problems: Sequence[str]) -> None:
    for problem in problems[:_SHOWN]:
        print_notice(problem)
    if len(problems) > _SHOWN:
        print_notice(f"and {len(problems) - _SHOWN} more: --json has them all")


def _held(result: CopyResult | CheckResult) -> str:
    held = (
        f"{counted(result.learners, 'learner')}, {counted(result.playbooks, 'named playbook')}, "
        f"{counted(result.turns, 'turn')}, {counted(result.deltas, 'commit')} of the history, "
        f"{counted(result.pending, 'pending item')}"
    )
    if isinstance(result, CopyResult):
        held += f", {counted(result.memberships, 'membership')} in teams"
    return held


@command(commands, *STORE)
def backup(
    call: Call,
    file: Annotated[Path, "FILE", "The SQLite file to make; it must not exist."],
) -> int:
    """Copy all learners, playbooks and teams into a new SQLite file, and check it.

    \b
    ace-graph store backup ace-2026-08-01.db
    ace-graph store check --store sqlite:///ace-2026-08-01.db

    Servers may keep running. Only its owner can read the file. It is itself a store: `store copy
    sqlite:///FILE URL` restores it. Conversations with the web backend are separate (`store
    copy-conversations`). Exit code 1: the file lacks what is named.
    """
    settings = call.settings()
    if os.path.lexists(file):
        raise ConfigurationError(f"{file} already exists and is not overwritten: choose another name")
    if not file.absolute().parent.is_dir():
        raise ConfigurationError(f"there is no folder {file.absolute().parent}: make it first")

    async def work(made: Path) -> tuple[CopyResult, CheckResult]:
        async with (
            open_store(settings=settings) as here,
            open_store(f"sqlite:///{made}", settings=settings) as there,
        ):
            _check_stays(settings.store_url)
            _check_file(settings.store_url)
            with _bars() as on_step:
                copied = await copy_store(here, there, on_step=on_step)
        async with open_store(f"sqlite:///{made}", settings=settings) as written:
            with _bars() as on_step:
                return copied, await check_all(written, on_step)

    # The file appears at the end, whole: until then it is in a folder beside it.
    with tempfile.TemporaryDirectory(dir=file.absolute().parent, prefix=f".{file.name}.") as folder:
        made = Path(folder, "backup.db")
        copied, checked = asyncio.run(work(made))
        if copied.copied or not copied.problems:
            _put_in_place(made, file)
    problems = (*copied.problems, *checked.problems)
    if call.as_json:
        told = _copy_json(replace(copied, problems=problems), "copy", complete=not problems)
        call.answer({**told, "file": str(file)}, ())
        return int(bool(problems))
    number = copied.learners + copied.playbooks
    print(f"Backed up {copied.copied} of {number} to {file}, and read it again: {_held(checked)}.")
    if copied.changed:
        count = len(copied.changed)
        print(f"{count} changed meanwhile; the backup has them as they were when each was read.")
    _print_problems(_sentences(problems))
    return int(bool(problems))


def _put_in_place(made: Path, file: Path) -> None:
    """Give a finished database its name, unless that was taken meanwhile."""
    if made.with_name(f"{made.name}-wal").exists():
        raise StoreUnavailable(f"{file.absolute().parent} has no room for the backup: free some space")
    with made.open("rb") as data:
        os.fsync(data.fileno())
    try:
        os.link(made, file)
    except OSError as error:
        if os.path.lexists(file):
            raise ConfigurationError(f"{file} was created meanwhile: choose another name") from error
        made.rename(file)  # the file system has no hard links


@command(commands, *STORE)
def check(call: Call) -> int:
    """Read everything in a store, and name what is damaged; nothing is written.

    \b
    ace-graph store check
    ace-graph store check --store sqlite:///backup.db

    Exit code 1: something can't be read. The rest can still be used.
    """
    settings = call.settings()

    async def work(store: Store) -> CheckResult:
        _check_stays(settings.store_url)
        _check_file(settings.store_url)
        with _bars() as on_step:
            return await check_all(store, on_step)

    result = call.on_store(work, settings)
    counts = picked(result, "learners", "playbooks", "turns", "deltas", "pending")
    lines = [f"Read {redacted_url(settings.store_url)}: {_held(result)}."]
    if not result.problems:
        lines.append("Nothing is damaged.")
    call.answer({"ok": not result.problems, **counts, "problems": _problems_json(result.problems)}, lines)
    if not call.as_json:
        _print_problems(_sentences(result.problems))
    return int(bool(result.problems))


@command(commands, "as_json", name="copy-conversations")
def copy_conversations(
    call: Call,
    source: Annotated[str, "FROM", "The place to read: a file, or postgresql://..."],
    target: Annotated[str, "TO", "The place to write; both as in ACE_CONVERSATIONS."],
    verify_only: Annotated[bool, "Compare both places; write nothing."] = False,
) -> int:
    """Copy the conversations with the web backend from SQLite to PostgreSQL, or back; FROM stays as it is.

    \b
    ace-graph store copy-conversations ace-conversations.db postgresql://ace@db/ace

    Stop the servers first. Each conversation is read back and compared. Run the same command again
    after an interruption, or to copy later changes. A conversation that was used in TO since stays
    as it is there. Exit code 1: something is missing or different.
    """
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    from ace_graph.cli.terminal import console
    from ace_graph.server.conversations.open import ConversationsCopied, open_database
    from ace_graph.server.conversations.open import copy_conversations as copy_all

    if source == target:
        raise UsageError("FROM and TO are the same place: choose another")
    settings = call.settings()

    async def work() -> ConversationsCopied:
        async with (
            open_database(source, settings, exists=True) as here,
            open_database(target, settings, exists=verify_only) as there,
        ):
            columns = (TextColumn("{task.completed} conversations"), TimeElapsedColumn())
            with Progress(*columns, console=console(error=True), disable=not sys.stderr.isatty()) as bar:
                task = bar.add_task("conversations", total=None)
                return await copy_all(
                    *(here, there, utc_now()),
                    verify_only=verify_only,
                    on_conversation=lambda done: bar.update(task, completed=done),
                )

    result = asyncio.run(work())
    place, number = redacted_url(target), counted(result.conversations, "conversation")
    told = f"Copied {result.copied} of {number} to {place}; {result.same} were the same there already."
    call.answer(
        {
            "mode": "verify" if verify_only else "copy",
            "complete": not result.problems,
            **picked(result, "conversations", "same", "copied"),
            "problems": [each._asdict() for each in result.problems],
        },
        f"{result.same} of {number} are the same in {place}." if verify_only else told,
    )
    if not call.as_json:
        _print_problems(
            [f"conversation {name} of learner {learner} {why}" for learner, name, why in result.problems]
        )
    return int(bool(result.problems))


@command(commands, *STORE)
def clean(
    call: Call,
    dry_run: Annotated[bool, "Count what would be deleted; delete nothing."] = False,
    learner: Annotated[str | None, "--learner -l ID", "Only the memory of this learner."] = None,
) -> int:
    """Delete what is older than the settings allow; servers and workers do it by themselves.

    \b
    ace-graph store clean --dry-run

    Steps of turns are deleted after ACE_TRACE_DAYS (30) once reflected on, records of turns and
    keys of commits after ACE_RECORD_DAYS (90). Failures stay unless ACE_TRACE_FAILURES=false, and
    so do records that are referred to. Conversations are deleted if ACE_CONVERSATION_DAYS or
    ACE_CONVERSATIONS_KEPT is set. More: docs/background.md.
    """
    settings, now = call.settings(), utc_now()

    async def work(store: Store) -> CleaningResult:
        total = 1 if learner is not None else (await store.sizes()).learners
        with progress_bar() as bar:
            return await clean_learners(
                *(store, settings.retention, now),
                learner_id=learner,
                dry_run=dry_run,
                on_learner=lambda done: bar("learners", done, total),
            )

    result = call.on_store(work, settings)
    gone = 0
    if learner is None and (settings.conversation_days or settings.conversations_kept):
        from ace_graph.server.conversations.open import clean_conversations_of

        gone = asyncio.run(clean_conversations_of(settings, now, dry_run=dry_run))
    cleaned = result.cleaned
    looked = f"{counted(result.learners, 'learner')} looked at"
    lines = [
        f"{'Would delete' if dry_run else 'Deleted'} the steps of {counted(cleaned.steps, 'turn')}, "
        f"{counted(cleaned.turns, 'record')} of turns, {counted(cleaned.deltas, 'old delta')}, "
        f"{counted(result.versions, 'old version')} of playbooks, {counted(gone, 'conversation')}; {looked}."
    ]
    if cleaned.unreflected:
        turns = counted(cleaned.unreflected, "old turn")
        lines.append(f"Kept the steps of {turns} that nobody has reflected on: they go with the record.")
    call.answer(
        {
            "dry_run": dry_run,
            **picked(result, "learners", "failed"),
            **picked(cleaned, "steps", "turns", "deltas", "unreflected"),
            "versions": result.versions,
            "conversations": gone,
        },
        lines,
    )
    if result.failed and not call.as_json:
        print_notice(f"{counted(result.failed, 'learner')} could not be cleaned: the log says why")
    return int(result.failed > 0)


@command(commands, "learner", "store")
def project(call: Call, everybody: Everybody = False) -> None:
    """Draw a learner's memory and playbooks again as a graph for Neo4j Browser; --all: everybody's.

    \b
    ace-graph store project --learner ada
    MATCH (:User {id: "ada"})-[:HAS_ACE_MEMORY]->()-[:HAS_BULLET]->(b) RETURN b

    Servers and workers draw changes by themselves; docs/neo4j.md has queries.
    """
    from ace_graph.learning.graph_drawing import draw_afresh

    settings = call.settings()
    if not settings.neo4j_graph:
        raise ConfigurationError("no graph is drawn, because ACE_NEO4J_GRAPH is false: set it to true")

    async def draw(store: Store) -> tuple[int, int]:
        if not isinstance(store, DrawsGraph):
            raise StoreUrlError(
                f"a graph is drawn in Neo4j only, and the store is {store.name}: "
                "set NEO4J_URI, or pass --store neo4j://host:7687"
            )
        return await draw_afresh(store, None if everybody else call.learner)

    drawn, bullets = call.on_store(draw, settings)
    kept = "1 memory or playbook" if drawn == 1 else f"{drawn} memories and playbooks"
    print(f"{counted(bullets, 'bullet')} drawn as nodes, of {kept}: look at them in Neo4j Browser.")
