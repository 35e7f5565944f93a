"""The agent that `chat`, `run` and `demo` use, a conversation with it, and the commands inside a chat.

Importing this loads the graph; `chat` shows its prompt meanwhile.
"""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import cast
from uuid import uuid4

from langchain_core.messages import AnyMessage, HumanMessage

from ace_graph.agent.context import ACEContext
from ace_graph.agent.daily_tokens import DailyTokens
from ace_graph.agent.models import ModelChoice, choose_model, open_model
from ace_graph.agent.models.call import total_usage
from ace_graph.agent.models.factory import offline_fallback
from ace_graph.agent.state import MODES, ACEInput, ACEOutput
from ace_graph.base.clock import utc_now
from ace_graph.base.errors import ChangeRefused, InvalidMode, UsageError, unknown
from ace_graph.base.settings import Settings, WindowSize
from ace_graph.cli.chat import ChatOptions
from ace_graph.cli.command import Call, by_command, refused
from ace_graph.cli.environment import log_content_by_default
from ace_graph.cli.terminal import WordWrap, console, counted, learning_summary, print_notice, printable
from ace_graph.graph import ACEGraph, build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
from ace_graph.learning.curator import judge_bullets
from ace_graph.learning.feedback import read_feedback
from ace_graph.learning.learn_into import open_for_lessons
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.catalogue import PlaybookRef, wanted_refs
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import Operation, Pin, Remove, Restore, Unpin
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.playbook import Lineage, lineage_of
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import checked_learner_id
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.memory.stores.memories import commit_checked
from ace_graph.memory.stores.store import Store
from ace_graph.memory.views import BulletFilter
from ace_graph.playbooks.catalogue import get_playbook
from ace_graph.stores import open_store


@dataclass(frozen=True)
class Agent:
    """A graph, its store, which model it uses, and what the learner's temporary chats cost today."""

    graph: ACEGraph
    store: Store
    choice: ModelChoice
    daily_tokens: DailyTokens


@asynccontextmanager
async def open_agent(
    settings: Settings, store: Store, base: Path | None = None, snapshots: SnapshotCache | None = None
) -> AsyncGenerator[Agent]:
    """Yield the agent of these settings on `store`; close its model and the store at the end.

    `base` is the file of a playbook that every learner is given, `snapshots` the graph's cache.
    Raises ConfigurationError, ModelNotConfigured.
    """
    async with store, open_model(settings) as model:
        graph = build_ace_graph(
            model=model, store=store, settings=settings, base_playbook=base, snapshots=snapshots
        )
        tokens = DailyTokens(store, settings.daily_tokens, utc_now)
        yield Agent(graph, store, choose_model(settings), tokens)


class ChatSession:
    """Keeps the messages in this process; a question that failed or was stopped is not among them."""

    def __init__(self, agent: Agent, context: ACEContext, mode: str | None = None) -> None:
        self.agent = agent
        self.context = context
        self._mode = mode
        self._messages: list[AnyMessage] = []
        self._last: ACEOutput | None = None

    @property
    def learner(self) -> str:
        return self.context.learner_id or ""

    @property
    def temporary(self) -> bool:
        """Whether the conversation reads and stores nothing of the learner."""
        return self.context.memory == "off"

    @property
    def last_answer(self) -> str:
        """The text of the last answer; '' before the first."""
        return self._last["messages"][-1].text if self._last else ""

    async def ask(
        self, question: str, show: Callable[[str], None], ground_truth: str | None = None
    ) -> ACEOutput:
        """Ask, pass the answer's text to `show` while it is written, and return the turn's output.

        Raises AceError when there is no answer.
        """
        if self.temporary:  # the graph knows no learner then
            await self.agent.daily_tokens.check(self.learner)
        turn_input: ACEInput = {"messages": [*self._messages, HumanMessage(question)]}
        if self._mode is not None:
            turn_input["mode"] = self._mode
        context = self.context.model_copy(update={"ground_truth": ground_truth})
        out: object = None
        shown = False
        async with aclosing(self._stream(turn_input, context)) as events:
            async for kind, event in events:
                if kind == "messages":
                    message, _ = cast("tuple[AnyMessage, object]", event)
                    show(message.text)
                    shown = shown or bool(message.text)
                else:
                    out = event
        done = cast("ACEOutput", out)
        if self.temporary:
            spent = total_usage(done.get("usage", {})).tokens
            self.agent.daily_tokens.spent(self.learner, uuid4().hex, spent)
        if not shown:
            show(done["messages"][-1].text)
        self._messages, self._last = list(done["messages"]), done
        return done

    def _stream(self, turn_input: ACEInput, context: ACEContext) -> AsyncGenerator[tuple[str, object]]:
        # LangGraph leaves type arguments of its own classes open in this signature.
        stream = self.agent.graph.astream(  # pyright: ignore[reportUnknownMemberType]
            turn_input, context=context, stream_mode=["messages", "values"]
        )
        return cast("AsyncGenerator[tuple[str, object]]", stream)  # LangGraph says iterator of anything

    async def snapshot(self) -> Snapshot:
        return await self.agent.store.load(self.learner)

    async def feedback(self, *, good: bool, text: str) -> Commit:
        """Commit the learner's judgement of the last answer: a vote on the bullets that it cites.

        A later judgement of the same answer replaces this one. Raises ChangeRefused when there is
        no answer yet, and in a temporary chat.
        """
        if self.temporary:
            raise ChangeRefused("a temporary chat stores no votes: start the chat without --temporary")
        result = self._last.get("result") if self._last else None
        learning = self._last.get("learning") if self._last else None
        if result is None or learning is None:
            raise ChangeRefused("there is no answer to judge yet: ask something first")
        evidence = Evidence(source="learner", verdict="success" if good else "failure")
        votes = judge_bullets(
            learning["turn_id"], [evidence], injected=result["injected"], cited=result["bullet_ids"]
        )
        reason = f"feedback {text}".strip()
        delta = by_command(reason).delta(*votes)
        return await self.agent.store.commit(self.learner, delta, await self.snapshot())


_GUIDE_HELP = """\
/playbook              what is remembered of you, numbered
/playbook search WORDS only what holds these words
/playbook why N        where number N comes from
/playbook pin N        always use it (unpin N: no longer)
/playbook remove N     throw it away
/playbook undo         take the last pin or remove back"""
_PAGE = 20


class PlaybookGuide:
    """`/playbook`: lists what is remembered, says why, pins, removes, undoes.

    Numbers refer to the list that was shown last; an id does as well. Bullets in quarantine are not shown:
    `ace-graph playbook show --quarantined` shows them.
    """

    def __init__(self, store: Store, learner: str) -> None:
        self._store = store
        self._learner = learner
        self._listed: tuple[str, ...] = ()
        self._undo: list[tuple[str, Operation]] = []

    async def run(self, words: str) -> None:
        """Carry out what follows `/playbook`. Raises ChangeRefused for what can't be done."""
        verb, _, rest = words.strip().partition(" ")
        rest = rest.strip()
        snapshot = await self._store.load(self._learner)
        if verb in ("", "list"):
            self._list(snapshot, BulletFilter())
        elif verb == "search" and rest:
            self._list(snapshot, BulletFilter(words=rest))
        elif verb == "why" and rest:
            found = lineage_of(snapshot.playbook, self._id_of(rest))
            if found is None:
                raise ChangeRefused(f"there is no item {rest}: /playbook lists them")
            for line in _reasons(found, snapshot.access.last_used(found.bullet.id)):
                console().print(line)
        elif verb in ("pin", "unpin", "remove") and rest:
            bullet = snapshot.playbook.get_bullet(self._id_of(rest))
            if bullet is None or bullet.status != "active":
                raise ChangeRefused(f"there is no item {rest}: /playbook lists them")
            operation, inverse, confirmation = _operations(verb, bullet)
            await self._commit(snapshot, operation, f"/playbook {verb}")
            self._undo.append((bullet.id, inverse))
            console().print(f"{confirmation}: {printable(bullet.advice)} (/playbook undo takes it back)")
        elif verb == "undo":
            await self._take_back(snapshot)
        else:
            console().print(_GUIDE_HELP, style="dim")

    def _list(self, snapshot: Snapshot, wanted: BulletFilter) -> None:
        found = [bullet for bullet in snapshot.playbook.bullets() if wanted.passes(bullet)]
        self._listed = tuple(bullet.id for bullet in found[:_PAGE])
        out = console()
        if not found:
            out.print("Nothing is remembered yet." if not wanted.words else "Nothing holds these words.")
            return
        for number, bullet in enumerate(found[:_PAGE], 1):
            out.print(f"{number:3}. {_line(bullet)}")
        if len(found) > _PAGE:
            out.print(f"     and {len(found) - _PAGE} more: /playbook search WORDS finds them")
        out.print("/playbook why N, pin N, remove N, search WORDS, undo", style="dim")

    async def _take_back(self, snapshot: Snapshot) -> None:
        if not self._undo:
            raise ChangeRefused("there is nothing to undo: only pins and removals of this chat can be undone")
        name, inverse = self._undo[-1]
        await self._commit(snapshot, inverse, "/playbook undo")
        self._undo.pop()
        console().print(f"taken back: {name} is as it was")

    async def _commit(self, snapshot: Snapshot, operation: Operation, reason: str) -> None:
        delta = by_command(reason).delta(operation)
        await commit_checked(self._store, self._learner, delta, snapshot, refused)

    def _id_of(self, name: str) -> str:
        number = int(name) if name.isascii() and name.isdigit() and len(name) < 4 else 0
        return self._listed[number - 1] if 0 < number <= len(self._listed) else name


def _line(bullet: Bullet) -> str:
    pinned = ", pinned" if bullet.pinned else ""
    return f"{printable(bullet.advice)}  ({bullet.section}, +{bullet.helpful}/-{bullet.harmful}{pinned})"


def _operations(verb: str, bullet: Bullet) -> tuple[Operation, Operation, str]:
    """The operation, the one that takes it back, and the confirmation."""
    pin, unpin = Pin(bullet_id=bullet.id), Unpin(bullet_id=bullet.id)
    if verb == "pin":
        return pin, pin if bullet.pinned else unpin, "pinned"
    if verb == "unpin":
        return unpin, pin if bullet.pinned else unpin, "no longer pinned"
    return Remove(bullet_id=bullet.id), Restore(bullet=bullet), "removed"


def _reasons(found: Lineage, used: date | None) -> Sequence[str]:
    bullet = found.bullet
    learned = bullet.sources or bullet.examples
    own = bullet.profile or not learned or "cli" in bullet.sources or "learner" in bullet.sources
    origin = "You or your host put it there." if own else "It was learned from your conversations."
    older = (name for name in bullet.sources if name not in ("cli", "learner"))
    turns = list(dict.fromkeys((*bullet.examples, *older)))
    lines = [
        printable(bullet.advice),
        f"  {origin} Kept since {bullet.created_at:%Y-%m-%d}, last changed {bullet.updated_at:%Y-%m-%d}.",
        f"  It came up {counted(bullet.seen, 'time')}; it helped {counted(bullet.helpful, 'time')} and "
        f"did harm {counted(bullet.harmful, 'time')}.",
    ]
    lines += [f"  Turns behind it: {', '.join(turns[:10])}"] if turns else []
    for verb, ids in (("replaced", found.replaced), ("absorbed", found.absorbed)):
        lines += [f"  It {verb} {', '.join(ids[:10])}."] if ids else []
    last = f"; the last time was {used:%Y-%m-%d}" if used else ""
    when = f"shown when a question is about it{last}" if not bullet.core else "in every prompt"
    return [*lines, f"  It is {when}."]


_HELP = f"""\
{_GUIDE_HELP}
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
class ChatLoop:
    """The questions and answers so far, and the `/playbook` commands beside them."""

    session: ChatSession
    guide: PlaybookGuide = field(init=False)

    def __post_init__(self) -> None:
        self.guide = PlaybookGuide(self.session.agent.store, self.session.learner)

    async def take(self, text: str) -> None:
        """Answer a question, or obey a line that begins with a slash. Raises AceError."""
        await (self._obey(text) if text.startswith("/") else _answer(self.session, text))

    async def greet(self) -> None:
        """Say whose memory is used, and what is in it."""
        session = self.session
        if session.temporary:
            text = "Temporary chat: nothing is read from memory, and nothing is kept."
            console(error=True).print(text, style="dim")
            return
        held = counted(len((await session.snapshot()).playbook), "bullet")
        choice, to_pipe = session.agent.choice, not sys.stdin.isatty()
        console(error=to_pipe).print(_who_answers(choice), style="dim", soft_wrap=to_pipe)
        if not to_pipe:
            who = f"{choice}, {session.agent.store.name}"
            known = f"Learner {printable(session.learner)}, {held} remembered ({who})."
            console().print(f"{known} /help lists the commands.", style="dim")

    async def _obey(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        good = is_praise(rest, self.session.last_answer) if name == "/feedback" else None
        if name == "/playbook":
            await self.guide.run(rest)
        elif good is not None:
            done = await self.session.feedback(good=good, text=rest)
            console().print(_thanks(done, good=good), style="dim", soft_wrap=not sys.stdout.isatty())
        elif name == "/feedback" and rest.strip():
            console().print(_NOT_UNDERSTOOD, style="dim", soft_wrap=not sys.stdout.isatty())
        else:
            console().print(_HELP, style="dim")


async def open_conversation(call: Call, options: ChatOptions, stack: AsyncExitStack) -> ChatLoop:
    """Return a conversation, whose agent `stack` closes. Raises AceError for what can't work."""
    checked_learner_id(call.learner)
    mode, named, into = options.mode, tuple(options.named or ()), options.into
    if mode is not None and mode not in MODES:
        raise InvalidMode(unknown("mode", mode, MODES))
    settings = log_content_by_default(offline_fallback(call.settings("WARNING"), told=True))
    wanted_refs(named, call.learner)
    if options.temporary and named:
        raise UsageError("a temporary chat reads no playbooks: leave out --playbook or --temporary")
    if options.temporary and into is not None:
        raise UsageError("a temporary chat learns nothing: leave out --learn-into or --temporary")
    if into is not None:
        PlaybookRef.parse(into, call.learner)
    context = ACEContext(
        learner_id=call.learner,
        conversation_id=f"chat-{uuid4().hex}",
        playbooks=named,
        learn_into=into,
        window_size=_window_of(options.window),
        memory="off" if options.temporary else "on",
    )
    agent = open_agent(settings, open_store(settings=settings), options.base)
    session = ChatSession(await stack.enter_async_context(agent), context, mode)
    for name in named:
        await get_playbook(session.agent.store, name, session.learner)
    if into is not None:
        try:
            await open_for_lessons(session.agent.store, into, session.learner)
        except ChangeRefused as error:
            print_notice(f"what is learned stays in your own memory: {error}")
    return ChatLoop(session)


def _window_of(given: str | None) -> WindowSize | None:
    if given is None:
        return None
    if given == "all":
        return "all"
    if not given.isdecimal() or len(given) > 3 or int(given) > 100:
        raise UsageError(f"--window {given[:40]!r} is neither a number from 0 to 100 nor all")
    return int(given)


def _who_answers(choice: ModelChoice) -> str:
    """Return the first line of a chat: which model answers, what it can do, and how to use another."""
    if choice.provider == "offline":
        return (
            "Hello! The offline tutor answers here: it can do arithmetic, fractions, decimals and percentages"
            "; for a language model, set GEMINI_API_KEY, or ACE_MODEL to another one."
        )
    return f"Hello! {choice} answers here, and learns from what you say; for another model, set ACE_MODEL."


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
    moved = ", ".join(done.report.tagged)
    effect = f"{moved} has a point {'more' if good else 'less'}"
    effect = effect if moved else "it used nothing from memory"
    return f"Thank you. The last answer was {'right' if good else 'not right'}; {effect}."
