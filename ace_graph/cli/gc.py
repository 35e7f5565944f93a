"""What `ace-graph gc` does: the cleaning that servers and workers do by themselves, now, or counted only."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ace_graph.cleaning.clean_memory import CleaningResult, clean_learners
from ace_graph.cli.app import print_notice
from ace_graph.cli.environment import load_settings
from ace_graph.cli.terminal import console, counted, print_json
from ace_graph.errors import ConfigurationError
from ace_graph.memory.clock import utc_now
from ace_graph.memory.stores.base import CleanableStore, can_clean
from ace_graph.server.conversations.open import clean_conversations_of
from ace_graph.settings import Settings
from ace_graph.stores import open_store

__all__ = ["run_gc"]


def run_gc(url: str | None, learner: str | None, *, dry_run: bool, as_json: bool) -> int:
    """Clean, or count what would be deleted. Return 1 where a learner could not be cleaned."""
    settings = load_settings()
    if url is not None:
        settings = settings.model_copy(update={"store": url})

    async def work() -> tuple[CleaningResult, int]:
        now = utc_now()
        async with open_store(settings=settings) as store:
            if not can_clean(store):
                raise ConfigurationError(f"the store {store.name} can't be cleaned")
            result = await _clean(store, settings, learner, now, dry_run=dry_run)
        gone = 0 if learner is not None else await clean_conversations_of(settings, now, dry_run=dry_run)
        return result, gone

    result, conversations = asyncio.run(work())
    _print_result(result, conversations, dry_run=dry_run, as_json=as_json)
    return int(result.failed > 0)


async def _clean(
    store: CleanableStore, settings: Settings, learner: str | None, now: datetime, *, dry_run: bool
) -> CleaningResult:
    total = 1 if learner is not None else (await store.sizes()).learners
    with _bar(total) as advance:
        return await clean_learners(
            store, settings.retention, now, learner_id=learner, dry_run=dry_run, on_learner=advance
        )


@contextmanager
def _bar(total: int) -> Generator[Callable[[int], None]]:
    columns = (TextColumn("learners"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(error=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("learners", total=total)
        yield lambda done: bar.update(task, completed=done)


def _print_result(result: CleaningResult, conversations: int, *, dry_run: bool, as_json: bool) -> None:
    cleaned = result.cleaned
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "learners": result.learners,
                "failed": result.failed,
                "steps": cleaned.steps,
                "turns": cleaned.turns,
                "deltas": cleaned.deltas,
                "unreflected": cleaned.unreflected,
                "versions": result.versions,
                "conversations": conversations,
            }
        )
        return
    what = ", ".join(
        (
            f"the steps of {counted(cleaned.steps, 'turn')}",
            counted(cleaned.turns, "record") + " of turns",
            counted(cleaned.deltas, "old delta"),
            counted(result.versions, "old version") + " of playbooks",
            counted(conversations, "conversation"),
        )
    )
    print(
        f"{'Would delete' if dry_run else 'Deleted'} {what}; {counted(result.learners, 'learner')} looked at."
    )
    if cleaned.unreflected:
        turns = counted(cleaned.unreflected, "old turn")
        print(f"Kept the steps of {turns} that nobody has reflected on: they go with the record.")
    if result.failed:
        print_notice(f"{counted(result.failed, 'learner')} could not be cleaned: the log says why")
