"""The conversation behind `ace-graph chat`: its agent, its answers, and the commands that begin with a slash.

Importing this loads the graph; `chat` shows its prompt meanwhile.
"""

from __future__ import annotations

import re
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from uuid import uuid4

from ace_graph.build_resources import offline_fallback
from ace_graph.cli.commands.chat import ChatOptions
from ace_graph.cli.commands.playbook_guide import GUIDE_HELP, PlaybookGuide
from ace_graph.cli.environment import load_settings
from ace_graph.cli.logs import log_content_by_default
from ace_graph.cli.session import ChatSession, open_agent
from ace_graph.cli.terminal import console, counted, learning_summary, printable
from ace_graph.cli.word_wrap import WordWrap
from ace_graph.context import ACEContext
from ace_graph.errors import InvalidMode, UsageError
from ace_graph.learning.feedback import read_feedback
from ace_graph.memory.catalogue.name import wanted_refs
from ace_graph.memory.commit import Commit
from ace_graph.memory.stores.base import checked_learner_id
from ace_graph.playbooks.catalogue import get_playbook
from ace_graph.state import MODES
from ace_graph.stores import open_store

__all__ = ["Conversation", "is_praise", "open_conversation"]

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


@dataclass
class Conversation:
    """The questions and answers so far, and the `/playbook` commands beside them."""

    session: ChatSession
    guide: PlaybookGuide = field(init=False)

    def __post_init__(self) -> None:
        self.guide = PlaybookGuide(self.session.agent.store, self.session.learner)

    async def take(self, text: str) -> None:
        """Answer a question, or obey a line that begins with a slash. Raises AceError."""
        await (_command(self, text) if text.startswith("/") else _answer(self.session, text))

    async def greet(self) -> None:
        """Say whose memory is used, and what is in it."""
        await _greet(self.session)


async def open_conversation(options: ChatOptions, stack: AsyncExitStack) -> Conversation:
    """Return a conversation, whose agent `stack` closes. Raises AceError for what can't work."""
    checked_learner_id(options.learner)
    mode = options.mode
    if mode is not None and mode not in MODES:
        raise InvalidMode(f"{mode[:40]!r} is no mode: use one of {', '.join(MODES)}")
    loaded = load_settings(quiet="WARNING", debug=options.debug)
    settings = log_content_by_default(offline_fallback(loaded))
    wanted_refs(options.named, options.learner)
    if options.temporary and options.named:
        raise UsageError("a temporary chat reads no playbooks: leave out --playbook or --temporary")
    context = ACEContext(
        learner_id=options.learner,
        conversation_id=f"chat-{uuid4().hex}",
        playbooks=options.named,
        memory="off" if options.temporary else "on",
    )
    agent = open_agent(settings, open_store(options.url, settings=settings), options.base)
    session = ChatSession(await stack.enter_async_context(agent), context, mode)
    for name in options.named:
        await get_playbook(session.agent.store, name, session.learner)
    return Conversation(session)


async def _greet(conversation: ChatSession) -> None:
    if conversation.temporary:
        text = "Temporary chat: answers use nothing that is remembered, and nothing is kept."
        console(error=True).print(text, style="dim")
        return
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


async def _command(chat: Conversation, text: str) -> None:
    name, _, rest = text.partition(" ")
    good = is_praise(rest, chat.session.last_answer) if name == "/feedback" else None
    if name == "/playbook":
        await chat.guide.run(rest)
    elif good is not None:
        done = await chat.session.feedback(good=good, text=rest)
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
