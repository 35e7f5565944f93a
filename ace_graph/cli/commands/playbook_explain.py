"""What `playbook search --explain` prints: why a question gets each bullet, or does not."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from functools import partial

from rich.table import Table
from rich.text import Text

from ace_graph.build_resources import find_meaning
from ace_graph.cli.environment import load_settings
from ace_graph.cli.options import Which
from ace_graph.cli.store_access import on_playbook
from ace_graph.cli.terminal import console, counted, print_json, printable
from ace_graph.embeddings.meaning import Similarities
from ace_graph.errors import UsageError
from ace_graph.memory.bullet import MemoryType
from ace_graph.memory.classify import infer_topic
from ace_graph.memory.clock import utc_now
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.retrieval import Reason, in_words, is_shown, reasons
from ace_graph.memory.retrieval import explain as explain_retrieval
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.playbooks.target import Target
from ace_graph.reasoning.recall import search_query

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
    query = search_query(question)
    meaning = find_meaning(load_settings(), None)

    async def job(store: Store, target: Target) -> tuple[Snapshot, Mapping[str, Reason], str | None]:
        snapshot = await target.store.load(target.key)
        near = Similarities()
        if meaning is not None:
            near = await meaning.similarities(query, which.learner, snapshot.playbook)
        found = explain_retrieval(
            query,
            snapshot.playbook,
            snapshot.access,
            store.policy,
            now=utc_now(),
            bullet_id=bullet_id,
            topic=infer_topic(question),
            memory_types=memory_types or None,
            semantic=near.by_id,
        )
        return snapshot, found, near.problem

    snapshot, found, words_only = on_playbook(url, which, job)
    if bullet_id is not None and not found:
        raise UsageError(f"no bullet {bullet_id} in the memory of {which}: playbook show lists the ids")
    if words_only is not None:
        console(error=True).print(f"By words alone: {printable(words_only)}")
    if as_json:
        print_json(_json(snapshot, found))
    else:
        _print(snapshot.playbook, found, whole=bullet_id is not None)


def _json(snapshot: Snapshot, found: Mapping[str, Reason]) -> dict[str, object]:
    bullets = [
        {
            "id": key,
            "content": snapshot.playbook.entries[key].content,
            "shown": is_shown(reason),
            "why": reasons.as_json(reason),
            "reason": in_words(reason),
        }
        for key, reason in found.items()
    ]
    return {"version": None if snapshot.absent else snapshot.version.n, "bullets": bullets}


def _print(playbook: Playbook, found: Mapping[str, Reason], *, whole: bool) -> None:
    """Print a table on a terminal, one bullet a line elsewhere; those that share no word are counted."""
    told = {key: why for key, why in found.items() if whole or not isinstance(why, reasons.NoSharedWord)}
    row = partial(_row, playbook)
    if sys.stdout.isatty():
        table = Table()
        table.add_column("id", no_wrap=True)
        table.add_column("shown")
        table.add_column("why", ratio=1, overflow="fold")
        table.add_column("content", ratio=1, overflow="fold")
        for key, reason in told.items():
            table.add_row(*map(Text, row(key, reason)))
        console().print(table)
    else:
        for key, reason in told.items():
            name, shown, why, content = row(key, reason)
            print(f"[{name}] {'shown' if shown == 'yes' else 'not shown'}: {why}: {content}")
    left = len(found) - len(told)
    if left:
        console(error=True).print(f"{counted(left, 'more bullet')}: no word shared with the question")
    elif not found:
        console(error=True).print("There are no bullets.")


def _row(playbook: Playbook, key: str, reason: Reason) -> tuple[str, str, str, str]:
    shown = "yes" if is_shown(reason) else "no"
    return printable(key), shown, printable(in_words(reason)), printable(playbook.entries[key].content)
