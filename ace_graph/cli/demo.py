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
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from ace_graph.agent.context import ACEContext
from ace_graph.base.errors import ConfigurationError
from ace_graph.base.tables import read_toml
from ace_graph.cli.command import Call, command
from ace_graph.cli.terminal import console, counted, learning_summary, printable

if TYPE_CHECKING:
    from ace_graph.base.settings import Settings
    from ace_graph.cli.conversation import Agent, ChatSession
    from ace_graph.memory.bullet import Bullet


class Message(NamedTuple):
    """One message of a learner; `truth` is the right answer, known to the critic only."""

    learner: str
    text: str
    truth: str | None = None


class Session(BaseModel):
    """Messages to one graph."""

    title: str
    messages: tuple[Message, ...]


class Explained(BaseModel):
    """What is said once, below the first note that contains `where`."""

    where: str
    text: str


class Script(BaseModel):
    """What the demonstration says and plays, in data/demo.toml."""

    introduction: str
    highlights: str
    page: str
    explained: tuple[Explained, ...]
    session: tuple[Session, ...]


_INDENT = "  "


commands = typer.Typer()


@command(commands)
def demo(
    call: Call,
    keep: Annotated[str | None, "--keep FILE", "Keep the memory in this SQLite file."] = None,
) -> None:
    """A demonstration: two learners, two sessions, no key, no server.

    The log shows warnings only, unless ACE_LOG_LEVEL is set.
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
            raise ConfigurationError(f"{file} already exists: choose another name")
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
    from ace_graph.stores import open_store

    out, script = console(), Script.model_validate(read_toml("ace_graph.cli", "demo.toml"))
    out.print(script.introduction, end="")
    nodes = "router -> planner -> solver -> critic -> ace_learning"
    out.print(f"{nodes}   ({file})", style="dim", soft_wrap=True)
    said: dict[str, tuple[str, ...]] = {}
    unexplained = list(script.explained)
    for session in script.session:
        async with open_agent(settings, open_store(f"sqlite:///{file}", settings=settings)) as agent:
            out.print()
            out.rule(session.title)
            learners = list(dict.fromkeys(message.learner for message in session.messages))
            for learner in learners:
                held = counted(len((await agent.store.load(learner)).playbook), "bullet")
                out.print(f"{learner.title()}'s memory: {held}", style="bold")
            await _play_session(out, agent, session.messages, unexplained)
            for learner in learners:
                bullets = (await agent.store.load(learner)).playbook.bullets()
                said[learner] = tuple(_in_words(learner.title(), bullet) for bullet in bullets)
    out.print()
    out.rule("What to look at")
    for line in script.highlights.splitlines():
        out.print(line if line.startswith(" ") else f"- {line}")
    for learner, lines in said.items():
        out.print(f"\nWhat {learner.title()}'s memory says:", style="bold")
        for line in lines:
            out.print(_INDENT + printable(line), soft_wrap=True)
    out.print(f"\n{script.page}", end="", soft_wrap=True)


def _in_words(learner: str, bullet: Bullet) -> str:
    """A bullet as a sentence: who said it, or what was learned and how often it helped."""
    from ace_graph.learning.statements import ATTRIBUTION

    content = bullet.content.removeprefix(ATTRIBUTION)
    if content != bullet.content:
        return f"{learner} said: {content}"
    helped = f" (helped {counted(bullet.helpful, 'time')})" if bullet.helpful else ""
    return f"It learned: {content}{helped}"


async def _play_session(
    out: Console, agent: Agent, session: Iterable[Message], unexplained: list[Explained]
) -> None:
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
            for each in [each for each in unexplained if each.where in note]:
                unexplained.remove(each)
                out.print(f"{_INDENT}({each.text})", style="dim italic", soft_wrap=True)
