"""What `playbook search --explain` prints: why a question gets each bullet, or does not."""

from __future__ import annotations

import sys
from collections.abc import Collection

from rich.table import Table
from rich.text import Text

from ace_graph.build_resources import find_meaning
from ace_graph.cli.environment import load_settings
from ace_graph.cli.options import Which
from ace_graph.cli.store_access import on_playbook
from ace_graph.cli.terminal import console, counted, print_json, printable
from ace_graph.errors import UsageError
from ace_graph.memory.bullet import MemoryType
from ace_graph.memory.clock import utc_now
from ace_graph.memory.stores.base import Store
from ace_graph.playbooks.handle import PlaybookHandle
from ace_graph.reasoning.explained_search import ExplainedBullet, ExplainedSearch, explain_search

__all__ = ["explain"]


def explain(
    url: str | None,
    which: Which,
    question: str,
    memory_types: Collection[MemoryType],
    bullet_id: str | None,
    *,
    as_json: bool,
) -> None:
    """Print why a turn with this question would be shown the bullets, or not; those that are shown first."""
    meaning = find_meaning(load_settings(), None)

    async def job(store: Store, target: PlaybookHandle) -> ExplainedSearch:
        return await explain_search(
            target,
            which.learner,
            question,
            store.policy,
            now=utc_now(),
            meaning=meaning,
            bullet_id=bullet_id,
            memory_types=memory_types,
        )

    found = on_playbook(url, which, job)
    if bullet_id is not None and not found.reasons:
        raise UsageError(f"no bullet {bullet_id} in the memory of {which}: playbook show lists the ids")
    if found.words_only is not None:
        console(error=True).print(f"By words alone: {printable(found.words_only)}")
    if as_json:
        print_json({"version": found.version, "bullets": [each._asdict() for each in found.bullets()]})
    else:
        _print(found, whole=bullet_id is not None)


def _print(found: ExplainedSearch, *, whole: bool) -> None:
    """Print a table on a terminal, one bullet a line elsewhere; those that share no word are counted."""
    told = found.bullets(without_words=whole)
    if sys.stdout.isatty():
        table = Table()
        table.add_column("id", no_wrap=True)
        table.add_column("shown")
        table.add_column("why", ratio=1, overflow="fold")
        table.add_column("content", ratio=1, overflow="fold")
        for bullet in told:
            table.add_row(*map(Text, _row(bullet)))
        console().print(table)
    else:
        for bullet in told:
            name, shown, why, content = _row(bullet)
            print(f"[{name}] {'shown' if shown == 'yes' else 'not shown'}: {why}: {content}")
    left = len(found.reasons) - len(told)
    if left:
        console(error=True).print(f"{counted(left, 'more bullet')}: no word shared with the question")
    elif not found.reasons:
        console(error=True).print("There are no bullets.")


def _row(bullet: ExplainedBullet) -> tuple[str, str, str, str]:
    shown = "yes" if bullet.shown else "no"
    return printable(bullet.id), shown, printable(bullet.reason), printable(bullet.content)
