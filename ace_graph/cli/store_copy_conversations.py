"""What `ace-graph store copy-conversations` does: open both places, copy or compare, and tell how it went."""

from __future__ import annotations

import asyncio
import sys

from rich.progress import Progress, TextColumn, TimeElapsedColumn

from ace_graph.cli.app import print_notice
from ace_graph.cli.environment import load_settings
from ace_graph.cli.terminal import console, counted, print_json
from ace_graph.errors import UsageError
from ace_graph.memory.clock import utc_now
from ace_graph.server.conversations.copying import ConversationsCopied, copy_conversations
from ace_graph.server.conversations.open import open_database
from ace_graph.stores import redacted_url

__all__ = ["run_copy_conversations"]

_SHOWN = 20
"""Problems that are printed; --json has all."""


def run_copy_conversations(source: str, target: str, *, verify_only: bool, as_json: bool) -> int:
    """Copy or compare. Return 1 where a conversation was not copied, or is not the same."""
    if source == target:
        raise UsageError("FROM and TO are the same place: name another one")
    settings = load_settings()

    async def work() -> ConversationsCopied:
        async with (
            open_database(source, settings, exists=True) as here,
            open_database(target, settings, exists=verify_only) as there,
        ):
            columns = (TextColumn("{task.completed} conversations"), TimeElapsedColumn())
            with Progress(*columns, console=console(error=True), disable=not sys.stderr.isatty()) as bar:
                task = bar.add_task("conversations", total=None)
                return await copy_conversations(
                    here,
                    there,
                    utc_now(),
                    verify_only=verify_only,
                    on_conversation=lambda done: bar.update(task, completed=done),
                )

    result = asyncio.run(work())
    if as_json:
        _print_json(result, verify_only=verify_only)
    else:
        _print(result, redacted_url(target), verify_only=verify_only)
    return int(bool(result.problems))


def _print_json(result: ConversationsCopied, *, verify_only: bool) -> None:
    print_json(
        {
            "mode": "verify" if verify_only else "copy",
            "complete": not result.problems,
            "conversations": result.conversations,
            "same": result.same,
            "copied": result.copied,
            "problems": [each._asdict() for each in result.problems],
        }
    )


def _print(result: ConversationsCopied, target: str, *, verify_only: bool) -> None:
    number = counted(result.conversations, "conversation")
    if verify_only:
        print(f"{result.same} of {number} are the same in {target}.")
    else:
        print(f"Copied {result.copied} of {number} to {target}; {result.same} were the same there already.")
    for each in result.problems[:_SHOWN]:
        print_notice(f"conversation {each.conversation_id} of learner {each.learner_id} {each.why}")
    if len(result.problems) > _SHOWN:
        print_notice(f"and {len(result.problems) - _SHOWN} more: --json has them all")
