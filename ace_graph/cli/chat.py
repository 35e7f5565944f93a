"""`ace-graph chat`: a conversation at the terminal, or one question a line from a pipe.

Does not: keep the conversation after it ends. What was learned is in the store.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import typer

from ace_graph.assembly import offline_fallback
from ace_graph.cli.agent import opened_agent
from ace_graph.cli.console import console, counted, printable
from ace_graph.cli.conversation import Conversation
from ace_graph.cli.environment import load_settings
from ace_graph.cli.group import say
from ace_graph.cli.learned import learned_line
from ace_graph.cli.lines import next_line, prepare
from ace_graph.cli.logs import with_content
from ace_graph.cli.playbook_view import print_bullets
from ace_graph.context import ACEContext
from ace_graph.errors import AceError, InvalidMode
from ace_graph.memory.stores.base import checked_learner_id
from ace_graph.state import MODES
from ace_graph.store_url import open_store

__all__ = ["run_chat"]

_HELP = """\
/playbook              what is remembered of you
/feedback good|bad     what the last answer was worth; words may follow
/quit                  leave (Ctrl-D too); Ctrl-C stops an answer"""

Go = Callable[[Coroutine[Any, Any, None]], None]  # Any: what asyncio yields and sends


def run_chat(url: str | None, learner: str, mode: str | None, base: Path | None, *, debug: bool) -> None:
    """Talk until the input ends. From a pipe, a question that failed makes the exit code 1."""
    checked_learner_id(learner)
    if mode is not None and mode not in MODES:
        raise InvalidMode(f"{mode[:40]!r} is no mode: use one of {', '.join(MODES)}")
    settings = with_content(offline_fallback(load_settings(quiet="WARNING", debug=debug)))
    context = ACEContext(learner_id=learner, conversation_id=f"chat-{uuid4().hex}")
    prepare()
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            agent = opened_agent(settings, open_store(url, settings=settings), base)
            talk = Conversation(runner.run(stack.enter_async_context(agent)), context, mode)
            runner.run(_greet(talk))
            failed = _loop(talk, runner.run, debug=debug)
        finally:
            runner.run(stack.aclose())
    if failed and not sys.stdin.isatty():
        raise typer.Exit(1)


def _loop(talk: Conversation, go: Go, *, debug: bool) -> bool:
    """Take line after line; return whether one failed."""
    failed = False
    while (line := next_line()) is not None:
        text = line.strip()
        if text in ("/quit", "/exit"):
            break
        if not text:
            continue
        try:
            go(_command(talk, text) if text.startswith("/") else _turn(talk, text))
        except KeyboardInterrupt:
            console().print("\nstopped; the conversation goes on without this question", style="dim")
        except Exception as error:
            failed = True
            if debug:
                traceback.print_exc()
            say(str(error) if isinstance(error, AceError) else f"{type(error).__name__}: {error}")
    return failed


async def _greet(talk: Conversation) -> None:
    held = counted(len((await talk.snapshot()).playbook), "bullet")
    if sys.stdin.isatty():
        who = f"{talk.agent.choice}, {talk.agent.store.name}"
        told = f"Learner {printable(talk.learner)}, {held} remembered ({who}). /help lists the commands."
        console().print(told, style="dim")


async def _turn(talk: Conversation, question: str) -> None:
    def show(text: str) -> None:
        sys.stdout.write(printable(text, lines=True))
        sys.stdout.flush()

    out = await talk.ask(question, show)
    sys.stdout.write("\n")
    learning = out.get("learning")
    if learning is not None:
        playbook = (await talk.snapshot()).playbook if learning["added"] or learning["updated"] else None
        console().print(learned_line(learning, playbook), style="dim", soft_wrap=True)


async def _command(talk: Conversation, text: str) -> None:
    name, _, rest = text.partition(" ")
    if name == "/playbook":
        snapshot = await talk.snapshot()
        bullets = [bullet for bullet in snapshot.playbook.bullets() if bullet.status == "active"]
        print_bullets(bullets, snapshot, talk.agent.store.policy)
        if not bullets:
            console().print("Nothing is remembered yet.", style="dim")
    elif name == "/feedback" and rest.split(" ")[0] in ("good", "bad"):
        verdict, _, why = rest.partition(" ")
        done = await talk.feedback(good=verdict == "good", text=f"{verdict} {why}")
        moved = ", ".join(done.report.tagged) or "no bullet: the answer cited none"
        console().print(f"noted: {verdict}; it moved {moved}", style="dim", soft_wrap=True)
    else:
        console().print(_HELP, style="dim")
