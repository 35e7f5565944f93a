"""`ace-graph chat`: a conversation at the terminal, or one question a line from a pipe.

At a terminal lines can be edited and recalled, pasted text is one message however many lines it has, and
Ctrl-C clears a line or stops an answer. The conversation ends with the program; what was learned stays.
"""

from __future__ import annotations

import asyncio
import re
import sys
import traceback
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import typer

from ace_graph.build_resources import offline_fallback
from ace_graph.cli.app import print_notice
from ace_graph.cli.commands.playbook_guide import GUIDE_HELP, PlaybookGuide
from ace_graph.cli.environment import load_settings
from ace_graph.cli.logs import log_content_by_default
from ace_graph.cli.session import ChatSession, open_agent
from ace_graph.cli.terminal import console, counted, learning_summary, printable
from ace_graph.cli.word_wrap import WordWrap
from ace_graph.context import ACEContext
from ace_graph.errors import AceError, InvalidMode
from ace_graph.learning.feedback import read_feedback
from ace_graph.memory.catalogue.name import wanted_refs
from ace_graph.memory.commit import Commit
from ace_graph.memory.stores.base import checked_learner_id
from ace_graph.playbooks.manage import get_playbook
from ace_graph.state import MODES
from ace_graph.stores import open_store

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

__all__ = ["QuestionReader", "is_praise", "run_chat"]


_PROMPT = "you> "


class QuestionReader:
    """Reads questions from the terminal, or one a line from a pipe."""

    def __init__(self) -> None:
        self._session = _prompt_session() if sys.stdin.isatty() and sys.stdout.isatty() else None

    def next(self) -> str | None:
        """Return the next question; None at the end of the input, or on Ctrl-C or Ctrl-D in an empty line."""
        if self._session is None:
            line = sys.stdin.readline()
            return line.rstrip("\r\n") if line else None
        try:
            return self._session.prompt(_PROMPT)
        except (EOFError, KeyboardInterrupt):
            return None


def _prompt_session() -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("c-c")
    def clear_or_leave(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction]  # registered
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt())

    return PromptSession[str](key_bindings=keys)


_HELP = f"""\
{GUIDE_HELP}
/feedback good|bad     what the last answer was worth; "/feedback that was wrong" does as well
/quit                  leave (Ctrl-D too); Ctrl-C stops an answer, clears the line, or leaves"""
_GOOD = frozenset({"good", "great", "right", "correct", "yes", "helpful", "perfect", "thanks", "👍"})
_NOT_UNDERSTOOD = 'I did not understand that, and nothing was noted: say "/feedback good" or "/feedback bad".'
_PRAISE = r"(?:good|great|nice|right|correct|helpful|perfect|clear|fine|ok(?:ay)?|true)"
_SUBJECT = r"(?:(?:that|this|it|the answer|your answer)(?:'?s| is| was)? )?"
_VERY = r"(?:very |really |quite |so |all ){0,3}"
_PLAIN = re.compile(
    rf"(?P<good>thumbs? up|{_SUBJECT}{_VERY}{_PRAISE})"
    rf"|thumbs? down|{_SUBJECT}not {_VERY}(?:at all )?{_PRAISE}"
    rf"|{_SUBJECT}{_VERY}(?:bad|wrong|incorrect|false|unclear)"
    rf"|(?:that|this|it|the answer|your answer) (?:wasn'?t|isn'?t) {_VERY}{_PRAISE}"
    rf"|{_SUBJECT}(?:much |a bit |way |far )?too "
    r"(?:long|short|hard|difficult|complicated|easy|fast|slow)(?: for me)?"
)
"""What praises or blames the last answer; `too long` and the like blame it."""
_BAD = frozenset({"bad", "wrong", "incorrect", "no", "false", "unhelpful", "👎"})

Runner = Callable[[Coroutine[Any, Any, None]], None]  # Any: what asyncio yields and sends


def run_chat(
    url: str | None,
    learner: str,
    mode: str | None,
    named: tuple[str, ...],
    base: Path | None,
    *,
    debug: bool,
) -> None:
    """Talk until the input ends. From a pipe, a question that failed makes the exit code 1."""
    checked_learner_id(learner)
    if mode is not None and mode not in MODES:
        raise InvalidMode(f"{mode[:40]!r} is no mode: use one of {', '.join(MODES)}")
    settings = log_content_by_default(offline_fallback(load_settings(quiet="WARNING", debug=debug)))
    wanted_refs(named, learner)
    context = ACEContext(learner_id=learner, conversation_id=f"chat-{uuid4().hex}", playbooks=named)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            agent = open_agent(settings, open_store(url, settings=settings), base)
            conversation = ChatSession(runner.run(stack.enter_async_context(agent)), context, mode)
            runner.run(_check_attached(conversation, named))
            runner.run(_greet(conversation))
            failed = _loop(_Chat(conversation), runner.run, debug=debug)
        finally:
            runner.run(stack.aclose())
    if failed and not sys.stdin.isatty():
        raise typer.Exit(1)


@dataclass
class _Chat:
    """The conversation, and the `/playbook` commands beside it."""

    conversation: ChatSession
    guide: PlaybookGuide = field(init=False)

    def __post_init__(self) -> None:
        self.guide = PlaybookGuide(self.conversation.agent.store, self.conversation.learner)


def _loop(chat: _Chat, run: Runner, *, debug: bool) -> bool:
    """Answer one question after the other; return whether one failed."""
    failed, lines = False, QuestionReader()
    while (line := lines.next()) is not None:
        text = line.strip()
        if text in ("/quit", "/exit"):
            break
        if not text:
            continue
        try:
            run(_command(chat, text) if text.startswith("/") else _answer(chat.conversation, text))
        except KeyboardInterrupt:
            console().print("\nstopped; the conversation goes on without this question", style="dim")
        except Exception as error:
            failed = True
            if debug:
                traceback.print_exc()
            print_notice(str(error) if isinstance(error, AceError) else f"{type(error).__name__}: {error}")
    return failed


async def _check_attached(conversation: ChatSession, named: tuple[str, ...]) -> None:
    """Raise PlaybookNotFound for a playbook that can't be read, before the first question."""
    for name in named:
        await get_playbook(conversation.agent.store, name, conversation.learner)


async def _greet(conversation: ChatSession) -> None:
    held = counted(len((await conversation.snapshot()).playbook), "bullet")
    if sys.stdin.isatty():
        who = f"{conversation.agent.choice}, {conversation.agent.store.name}"
        greeting = (
            f"Learner {printable(conversation.learner)}, {held} remembered ({who}). /help lists the commands."
        )
        console().print(greeting, style="dim")


async def _answer(conversation: ChatSession, question: str) -> None:
    terminal = sys.stdout.isatty()
    wrap = WordWrap(_write, console().width) if terminal else None

    def show(text: str) -> None:
        safe = printable(text, lines=True)
        wrap.show(safe) if wrap else _write(safe)

    try:
        out = await conversation.ask(question, show)
    finally:
        if wrap:
            wrap.end()
    sys.stdout.write("\n")
    learning = out.get("learning")
    if learning is not None:
        named = learning["added"] or learning["updated"] or learning["tagged"]
        playbook = (await conversation.snapshot()).playbook if named else None
        console().print(learning_summary(learning, playbook), style="dim", soft_wrap=not terminal)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


async def _command(chat: _Chat, text: str) -> None:
    name, _, rest = text.partition(" ")
    good = is_praise(rest, chat.conversation.last_answer) if name == "/feedback" else None
    if name == "/playbook":
        await chat.guide.run(rest)
    elif good is not None:
        done = await chat.conversation.feedback(good=good, text=rest)
        console().print(_thanks(done, good=good), style="dim", soft_wrap=not sys.stdout.isatty())
    elif name == "/feedback" and rest.strip():
        console().print(_NOT_UNDERSTOOD, style="dim", soft_wrap=not sys.stdout.isatty())
    else:
        console().print(_HELP, style="dim")


def is_praise(words: str, answer: str) -> bool | None:
    """Whether the words after `/feedback` praise the last answer; None if they neither praise nor blame."""
    plain = words.strip(" .,!:;").casefold()
    first = plain.split(" ")[0].strip(".,!:;")
    if first in _GOOD or first in _BAD:
        return first in _GOOD
    said = _PLAIN.fullmatch(plain)
    if said is not None:
        return said["good"] is not None
    found = read_feedback(words, answer or "an answer")
    return None if found is None or found.verdict == "partial" else found.verdict == "success"


def _thanks(done: Commit, *, good: bool) -> str:
    thanks = "Thank you. The last answer was right" if good else "Thank you. The last answer was not right"
    moved = ", ".join(done.report.tagged)
    counts = "a point more" if good else "a point less"
    return f"{thanks}; {moved} has {counts}." if moved else f"{thanks}; it used nothing that is remembered."
