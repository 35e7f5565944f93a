"""`ace-graph demo`: two learners, two sessions, and what was learned.

The messages are scripted; the graph, the SQLite file and the offline tutor are real. The second session is a
new graph on a newly opened file, so what it knows of the learners comes from the file. No key, no server, no
network, and not the memory of `ace-graph chat`.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from ace_graph.agent.context import ACEContext
from ace_graph.base.errors import ConfigurationError
from ace_graph.cli.command import Call, command
from ace_graph.cli.terminal import console, counted, learning_summary, printable

if TYPE_CHECKING:
    from ace_graph.base.settings import Settings
    from ace_graph.cli.conversation import Agent, ChatSession


@dataclass(frozen=True)
class Message:
    """One message of a learner; `truth` is the right answer, known to the critic only."""

    learner: str
    text: str
    truth: str | None = None


FIRST_SESSION = (
    Message("ada", "Call me Ada. I prefer pictures."),
    Message("ada", "I keep mixing up the denominators when I add fractions."),
    Message("ada", "What is 1/2 + 1/3?", truth="5/6"),
    Message("ben", "Talk to me like a pirate."),
    Message("ben", "What is 12 * 5?", truth="60"),
    Message("ben", "What is 7/8 + 1/2?"),
    Message("ben", "That's wrong, it should be 1 3/8."),
)

SECOND_SESSION = (
    Message("ada", "What is 3/4 + 1/6?", truth="11/12"),
    Message("ben", "What is 3/4 + 1/6?", truth="11/12"),
    Message("ben", "What is 5/6 + 1/2?"),
    Message("ben", "That's right."),
    Message("ada", "Actually, call me Countess Ada."),
    Message("ada", "What do you know about me?"),
    Message("ben", "What do you know about me?"),
)


_INDENT = "  "


commands = typer.Typer()


@command(commands)
def demo(
    call: Call,
    keep: Annotated[str | None, "--keep FILE", "Keep the memory in this SQLite file."] = None,
) -> None:
    """A demonstration: two learners, two sessions, no key, no server.

    As in chat, the log stays below WARNING unless ACE_LOG_LEVEL is set.
    """
    from ace_graph.cli.environment import log_content_by_default

    settings = log_content_by_default(call.settings("WARNING")).model_copy(update={"model": "offline"})
    began = time.perf_counter()
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="ace-graph-demo-") as folder:
            asyncio.run(_play(settings, Path(folder) / "demo.db"))
    else:
        file = Path(keep).expanduser().absolute()
        if file.exists():
            raise ConfigurationError(f"{file} is there already: name a file that is not")
        asyncio.run(_play(settings, file))
        console().print(
            f"The memory is kept: ace-graph chat --learner ada --store sqlite:///{file}", soft_wrap=True
        )
    took = time.perf_counter() - began
    console().print(
        f"\nDone in {took:.1f} s. Now you: ace-graph chat (in this folder: make chat)", style="bold"
    )


async def _play(settings: Settings, file: Path) -> None:
    from ace_graph.cli.conversation import open_agent
    from ace_graph.cli.playbook import bullet_table
    from ace_graph.stores import open_store

    out = console()
    for line in _INTRODUCTION:
        out.print(line)
    nodes = "router -> planner -> solver -> critic -> ace_learning"
    out.print(f"{nodes}   ({file})", style="dim", soft_wrap=True)
    for title, session in (("Session 1", FIRST_SESSION), (_SECOND, SECOND_SESSION)):
        async with open_agent(settings, open_store(f"sqlite:///{file}", settings=settings)) as agent:
            out.print()
            out.rule(title)
            learners = list(dict.fromkeys(message.learner for message in session))
            for learner in learners:
                held = counted(len((await agent.store.load(learner)).playbook), "bullet")
                out.print(f"{learner.title()}'s playbook before: {held}", style="bold")
            await _play_session(out, agent, session)
            out.print()
            for learner in learners:
                snapshot = await agent.store.load(learner)
                named = f"{learner.title()}'s playbook after"
                bullets = snapshot.playbook.bullets()
                out.print(bullet_table(bullets, snapshot, agent.store.policy, named))
    out.print()
    out.rule("What to look at")
    for line in _HIGHLIGHTS:
        out.print(line if line.startswith(" ") else f"- {line}")


_INTRODUCTION = (
    "Two learners, Ada and Ben, one SQLite file, no key, no server. The offline tutor answers: rules, no",
    "language model. What it is told, and what proved right, is what it remembers.",
)
_SECOND = "Session 2: a new graph, a newly opened file, no messages"
_HIGHLIGHTS = (
    "Session 2 began without a message, and Ada's name, her pictures and her warning were there.",
    "Ben asked the same question and got none of it: a prompt holds the bullets of its own learner only.",
    "Ben corrected an answer in session 1, and nobody told the agent more than that. In session 2 the answer",
    "  came as he wants it, and his word was a vote for the lesson.",
    "Votes (+helpful/-harmful) moved on evidence only: a right answer that was known, or the learner's word.",
    "  The lesson of a right answer was kept, shown for the next question like it, and voted on again.",
    "A new name replaced the old one: a profile value is held once.",
)


async def _play_session(out: Console, agent: Agent, session: Iterable[Message]) -> None:
    from ace_graph.cli.conversation import ChatSession

    conversations: dict[str, ChatSession] = {}
    for message in session:
        context = ACEContext(learner_id=message.learner, conversation_id=f"demo-{message.learner}")
        conversation = conversations.setdefault(message.learner, ChatSession(agent, context))
        out.print()
        out.print(Text.assemble((f"{message.learner}> ", "bold cyan"), message.text))
        pieces: list[str] = []
        done = await conversation.ask(message.text, pieces.append, message.truth)
        for line in "".join(pieces).splitlines():
            out.print(_INDENT + printable(line), soft_wrap=True)
        # What was in the prompt, the verdict, and what was learned
        result, learning = done.get("result"), done.get("learning")
        notes: list[str] = []
        if result is not None:
            notes.append(f"in the prompt: {', '.join(result['injected']) or 'no bullet'}")
            if message.truth is not None:
                notes.append(f"the right answer is {message.truth}: verdict {result['verdict']}")
        if learning is not None:
            notes.append(learning_summary(learning, (await conversation.snapshot()).playbook))
        for note in notes:
            out.print(_INDENT + note, style="dim", soft_wrap=True)
