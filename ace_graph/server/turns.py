"""Turns: what one tells its listeners, how it runs through the graph, and all turns of one server.

The answer is checkpointed before anything is learned from it (see `TurnCheckpointer`). So a turn whose server
died continues with the same ids and is learned from once; a turn without an answer starts again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal, cast

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from ace_graph.agent.context import ServedContext
from ace_graph.agent.daily_tokens import DailyTokens
from ace_graph.agent.models.call import total_usage
from ace_graph.agent.state import ACEInput, ACEOutput
from ace_graph.base.clock import Clock
from ace_graph.base.errors import (
    AceError,
    CommitTooOld,
    LearnerForgotten,
    RequestRefused,
    StoreError,
    UsageError,
)
from ace_graph.base.settings import Settings
from ace_graph.base.telemetry import span_maker, turn_attributes
from ace_graph.graph import ACEGraph
from ace_graph.learning.trajectories import take_back
from ace_graph.memory.catalogue import PlaybookRef, wanted_refs
from ace_graph.memory.commit import operation_id
from ace_graph.memory.rights import Caller
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.memory.stores.memories import commit_unsaved
from ace_graph.memory.stores.store import Store
from ace_graph.playbooks.handle import open_playbook
from ace_graph.server.conversations.checkpointer import NO_CHECKPOINT, RUN
from ace_graph.server.conversations.repository import (
    LEASE_SECONDS,
    AcceptedTurn,
    Conversations,
    UnsavedTurn,
    find_conversation,
    rename_conversation,
    title_of,
)
from ace_graph.server.errors import error_location, http_error_for
from ace_graph.server.metrics import Metrics
from ace_graph.server.schemas import ChatReply, ChatRequest, history_messages, reply_of

EventName = Literal["start", "mode", "bullets", "token", "result", "error", "done"]


@dataclass(frozen=True)
class Event:
    """One event, and its number within its turn."""

    number: int
    name: EventName
    data: Mapping[str, object]


class LiveTurn:
    """The events of a turn, which ends with a reply or with an error; any number of clients may listen.

    The turn belongs to no request: a client that hangs up only stops listening, and may come back.
    `replaced` are the messages that it takes the place of, `stayed` what could not be taken back of them.
    Events are numbered from `first_number`. A server that continues a turn numbers above all numbers of the
    server before it, because its events differ. A turn of a temporary chat has no conversation.
    """

    def __init__(
        self, run_id: str, conversation_id: str | None, learner_id: str, first_number: int = 1
    ) -> None:
        self.run_id = run_id
        self.conversation_id = conversation_id
        self.learner_id = learner_id
        self.reply: ChatReply | None = None
        self.error: RequestRefused | None = None
        self.has_text = False
        self.replaced: Sequence[AnyMessage] = ()
        self.stayed: tuple[str, ...] | None = None
        self._first_number = first_number
        self._events: list[Event] = []
        self._changed = asyncio.Event()
        self._end = asyncio.Event()
        conversation = {} if conversation_id is None else {"conversationId": conversation_id}
        self.publish("start", {"streamId": run_id, **conversation})

    @property
    def ended(self) -> bool:
        return self.reply is not None or self.error is not None

    def publish(self, name: EventName, data: Mapping[str, object]) -> None:
        """Add an event and wake the listeners."""
        self._events.append(Event(self._first_number + len(self._events), name, data))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def choose_mode(self, mode: str) -> None:
        """Tell the mode. The nodes tell this and the next two while they run; no stream is asked for it."""
        self.publish("mode", {"mode": mode})

    def inject_bullets(self, bullets: Sequence[Mapping[str, object]]) -> None:
        self.publish("bullets", {"bullets": bullets})

    def write_text(self, text: str) -> None:
        self.publish("token", {"text": text})
        self.has_text = True

    def complete(self, reply: ChatReply) -> None:
        """End with the reply: by now everything is stored."""
        self.reply = reply
        self.publish("result", reply.model_dump(mode="json", by_alias=True))
        self.publish("done", {})
        self._end.set()

    def fail(self, error: RequestRefused) -> None:
        self.error = error
        self.publish("error", {"error": str(error), "code": error.code, "status": error.status})
        self._end.set()

    async def outcome(self) -> ChatReply:
        """Wait for the end and return the reply. Raises the error of a turn that failed."""
        await self._end.wait()
        if self.reply is None:
            raise self.error or RuntimeError("a turn ends with a reply or with an error")
        return self.reply

    async def follow(self, after: int, ping_seconds: float) -> AsyncGenerator[Event | None]:
        """Yield the events after number `after` as they come; None when none came for `ping_seconds`.

        Yields all events if there is no event with that number here.
        """
        sent = after - self._first_number + 1
        sent = sent if 0 <= sent <= len(self._events) else 0
        while True:
            changed, known = self._changed, len(self._events)
            for event in self._events[sent:known]:
                yield event
            sent = known
            if self.ended and known == len(self._events):
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(ping_seconds):
                    await changed.wait()
            if not changed.is_set():
                yield None


INTERRUPT = "__interrupt__"
"""A key beside the values of the state when a node was interrupted."""


@dataclass(frozen=True)
class TurnWork:
    """One turn to run: how it was stored, who listens, and what this server has of it in memory.

    `request` and `snapshot` are None for a turn of another server: the request is in `turn.request_json`.
    `teams` are the learner's by their token; None: the store's table is asked.
    """

    turn: AcceptedTurn
    live: LiveTurn
    request: ChatRequest | None = None
    snapshot: asyncio.Future[Snapshot] | None = None
    teams: frozenset[str] | None = None

    @property
    def temporary(self) -> bool:
        """Whether the turn leaves nothing: no conversation, no checkpoint, no lease."""
        return self.request is not None and self.request.temporary

    @property
    def asked(self) -> ChatRequest:
        return self.request or ChatRequest.model_validate_json(self.turn.request_json)


async def run_turn(graph: ACEGraph, work: TurnWork) -> ACEOutput:
    """Run the turn, or continue it from its checkpoint. Raises what the nodes raise, and InvalidPlaybook.

    When a tool waits for a person, whom nobody can ask over HTTP, it raises RequestRefused.
    """
    turn, live = work.turn, work.live
    turn_input, output = await _input_or_output(graph, work)
    if output is None:
        names, into = work.asked.playbooks, work.asked.learn_into
        if names:
            wanted_refs(names, turn.learner_id)
        context = ServedContext(
            learner_id=turn.learner_id,
            turn_id=turn.run_id,
            conversation_id=None if work.temporary else turn.conversation_id,
            memory="off" if work.temporary else "on",
            learning="off" if work.asked.memory == "read" else None,
            playbooks=names,
            learn_into=into,
            window_size=work.asked.window_size,
            timezone=work.asked.timezone,
            teams=None if work.teams is None or not (names or into) else tuple(sorted(work.teams)),
            listener=live,
            loading=None if names else work.snapshot,
        )
        first_turn: RunnableConfig = {"configurable": {NO_CHECKPOINT: turn.known == "nothing"}}
        # LangGraph leaves type arguments of its own classes open in this signature. With another stream mode
        # each step would be a task of its own.
        stream = graph.astream(  # pyright: ignore[reportUnknownMemberType]
            turn_input,
            merge_configs(_config(turn), first_turn),
            context=context,
            stream_mode="values",
            durability=None if work.temporary else "sync",  # without a checkpointer it would be a warning
        )
        last: Mapping[str, object] = {}
        async with aclosing(cast("AsyncGenerator[Mapping[str, object]]", stream)) as states:
            async for last in states:
                if INTERRUPT in last:
                    sentence = "a tool asked for a person's input, which this server can't pass on"
                    raise RequestRefused(501, "interrupted", sentence)
        output = cast("ACEOutput", last)
    if not live.has_text and output.get("result"):
        live.write_text(output["messages"][-1].text)
    return output


async def remove_question(graph: ACEGraph, turn: AcceptedTurn, replaced: Sequence[AnyMessage] = ()) -> None:
    """Remove the question of a failed turn, and what follows it; what it replaced comes back."""
    state = await graph.aget_state(_config(turn))
    messages = cast("list[AnyMessage]", state.values.get("messages", []))
    question_id = _question_id(turn)
    found = next((i for i, message in enumerate(messages) if message.id == question_id), None)
    if found is not None:
        await _remove(graph, turn, messages[found:], replaced)


def replaced_messages(messages: Sequence[AnyMessage], turn_id: str) -> Sequence[AnyMessage]:
    """Return the question of the conversation's last turn, and what follows it.

    Raises RequestRefused (409) where that turn is not the last one.
    """
    asked = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    if not asked or messages[asked[-1]].id != f"{_QUESTION}{turn_id}":
        sentence = "that is not the last answer any more: read what came after it"
        raise RequestRefused(409, "changed", sentence)
    return messages[asked[-1] :]


async def trim_history(graph: ACEGraph, turn: AcceptedTurn, output: ACEOutput, max_messages: int) -> None:
    """Drop the older half of a conversation with more than `max_messages`; a prompt holds only a few."""
    messages = output["messages"]
    if len(messages) <= max_messages:
        return
    half = next(
        (i for i in range(len(messages) // 2, len(messages)) if isinstance(messages[i], HumanMessage)), 0
    )
    await _remove(graph, turn, messages[:half])


async def _remove(
    graph: ACEGraph, turn: AcceptedTurn, messages: Sequence[AnyMessage], restored: Sequence[AnyMessage] = ()
) -> None:
    changes = [*_removals(messages), *restored]
    # As the last node, so that LangGraph sees nothing left to run in the thread.
    await graph.aupdate_state(_config(turn), {"messages": changes}, as_node="ace_learning")


def _removals(messages: Sequence[AnyMessage]) -> list[RemoveMessage]:
    return [RemoveMessage(id=message.id) for message in messages if message.id]


async def _input_or_output(graph: ACEGraph, work: TurnWork) -> tuple[ACEInput | None, ACEOutput | None]:
    """Return the graph's input (None: continue from the checkpoint), or the output if the turn has ended."""
    turn = work.turn
    request = work.asked
    history = history_messages(request)
    if turn.known == "turn" or (history and turn.known == "conversation"):
        state = await graph.aget_state(_config(turn))
        metadata = cast("Mapping[str, object]", state.metadata or {})
        if metadata.get(RUN) == turn.run_id:
            return None, None if state.next else cast("ACEOutput", state.values)
        history = [] if state.values.get("messages") else history
    question = HumanMessage(request.message, id=_question_id(turn))
    messages: list[AnyMessage | RemoveMessage] = [*history, *_removals(work.live.replaced), question]
    turn_input: ACEInput = {"messages": cast("list[AnyMessage]", messages)}  # its reducer takes removals
    if request.mode:
        turn_input["mode"] = request.mode
    if request.additional_context:
        turn_input["additional_context"] = request.additional_context
    return turn_input, None


def _config(turn: AcceptedTurn) -> RunnableConfig:
    return {"configurable": {"thread_id": turn.thread_id}, "metadata": {RUN: turn.run_id}}


_QUESTION = "question-"


def _question_id(turn: AcceptedTurn) -> str:
    return f"{_QUESTION}{turn.run_id}"


logger = logging.getLogger("ace_graph")
_OF_ANOTHER_SERVER = frozenset({"lost", "given_up"})
"""Codes of turns that are no longer this server's: their conversations are not to be touched."""
MAX_ENDED_TURNS = 200
"""Ended turns whose events are kept for clients that come back."""


@dataclass(eq=False)
class RunningTurns:
    """The turns under way, and the last ones that ended: admission, time limits, leases.

    `wake_worker` is called with the learner of a turn that has left work.
    """

    graph: ACEGraph
    store: Store
    snapshots: SnapshotCache
    conversations: Conversations
    settings: Settings
    clock: Clock
    metrics: Metrics
    wake_worker: Callable[[str], None]

    def __post_init__(self) -> None:
        self._unkept_graph = self.graph.copy({"checkpointer": None})
        self._daily = DailyTokens(self.store, self.settings.daily_tokens, self.clock.now)
        self._span = span_maker()
        self._live: dict[str, LiveTurn] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended: OrderedDict[str, LiveTurn] = OrderedDict()
        self.draining = False

    @property
    def run_ids(self) -> frozenset[str]:
        return frozenset(self._live)

    @property
    def under_way(self) -> int:
        return len(self._tasks)

    async def begin(
        self, request: ChatRequest, learner_id: str, new_id: str, teams: frozenset[str] | None = None
    ) -> LiveTurn:
        """Store a message and begin its turn. `new_id` names the turn, and the conversation if it is new.

        `teams` are those that the request's token names; None: the store's table is asked.

        Raises RequestRefused: 503 when the server is full or stopping, 429 when the learner has too many
        turns under way, 409 when the conversation has one under way. Raises DailyTokensUsed, and
        InvalidPlaybook and PlaybookNotFound for a playbook that it can't read. Then nothing is stored, and
        never anything of a message of a temporary chat.
        """
        await self.check_daily_tokens(learner_id)
        self._check_capacity(learner_id)
        if request.temporary:
            turn = AcceptedTurn(new_id, "", learner_id, request_json="", thread_id=new_id, known="nothing")
            live = self._live[new_id] = LiveTurn(new_id, None, learner_id)
            self._start(TurnWork(turn, live, request))
            return live
        user = learner_id if teams is None else Caller(learner_id, teams)
        for ref in wanted_refs(request.playbooks, learner_id):
            # Raises what the load of the turn would, which checks again, in its own transaction.
            await open_playbook(self.store, ref.name, ref.owner, user)
        if request.learn_into is not None:
            PlaybookRef.parse(request.learn_into, learner_id)
        self._check_capacity(learner_id)
        conversation = request.conversation_id or new_id
        request_json = request.model_dump_json(by_alias=True)
        reading = request.model_copy(update={"memory": "read"}) if request.memory == "on" else request
        title = title_of(request.message)
        turn = AcceptedTurn(new_id, conversation, learner_id, request_json, thread_id=new_id, title=title)
        live = self._live[turn.run_id] = LiveTurn(turn.run_id, conversation, learner_id)
        # Playbooks come with the memory, in a read of their own; what is taken back changes it first.
        snapshot = None if request.playbooks or request.replaces else self._prefetch(learner_id)
        try:
            turn = await self.conversations.accept(turn, reading.model_dump_json(by_alias=True))
        except BaseException:
            if snapshot is not None:
                snapshot.cancel()
            del self._live[turn.run_id]
            raise
        request = request if turn.request_json == request_json else reading
        self._start(TurnWork(turn, live, request, snapshot, teams))
        return live

    async def check_daily_tokens(self, learner_id: str) -> None:
        """Raise DailyTokensUsed where the learner may cost nothing more today, and what the store raises."""
        await self._daily.check(learner_id)

    def resume(self, turn: AcceptedTurn) -> None:
        """Continue a turn that another server left."""
        logger.info("[ACE Server] continuing a turn that another server left: run=%s", turn.run_id)
        # Above every number of the other server, so that its listeners get all events anew.
        first_number = int(self.clock.now().timestamp() * 1000)
        live = LiveTurn(turn.run_id, turn.conversation_id, turn.learner_id, first_number)
        self._live[turn.run_id] = live
        # Without its request's token it is of nobody's team, where tokens name teams.
        teams = frozenset[str]() if self.settings.jwt_teams_claim is not None else None
        self._start(TurnWork(turn, live, teams=teams))

    def find(self, run_id: str, learner_id: str) -> LiveTurn | None:
        """Return a turn of this learner that is under way here or has just ended."""
        found = self._live.get(run_id) or self._ended.get(run_id)
        return found if found is not None and found.learner_id == learner_id else None

    async def given_up(self, run_id: str, learner_id: str) -> LiveTurn | None:
        """Return a turn of this learner that any server gave up; its one event says why."""
        for ended in await self.conversations.given_up(learner_id):
            if ended.run_id == run_id:
                live = LiveTurn(run_id, ended.conversation_id, learner_id)
                why = f"{ended.reason}: ask in other words, or ask something shorter"
                live.fail(RequestRefused(409, "given_up", why))
                return live
        return None

    async def stop_learner(self, learner_id: str) -> None:
        """Cancel a learner's turns and drop their events."""
        mine = {run_id for run_id, live in self._live.items() if live.learner_id == learner_id}
        tasks = [task for run_id, task in self._tasks.items() if run_id in mine]
        for task in tasks:
            task.cancel("forgotten")
        if tasks:
            await asyncio.wait(tasks)
        for run_id in [key for key, live in self._ended.items() if live.learner_id == learner_id]:
            del self._ended[run_id]

    def drop_events(self, learner_id: str, conversation_id: str) -> None:
        """Drop the events of the turns that ended in a conversation, which hold its text."""
        asked = (learner_id, conversation_id)
        ended = {key: (live.learner_id, live.conversation_id) for key, live in self._ended.items()}
        for run_id in [key for key, of in ended.items() if of == asked]:
            del self._ended[run_id]

    async def drain(self, seconds: float) -> None:
        """Take no new turns, wait so long for those under way, and leave the rest to the next server."""
        self.draining = True
        tasks = set(self._tasks.values())
        if tasks and seconds > 0:
            await asyncio.wait(tasks, timeout=seconds)
        rest = [task for task in tasks if not task.done()]
        for task in rest:
            task.cancel("stopping")
        if rest:
            logger.info("[ACE Server] %d turns are left to the next server", len(rest))
            await asyncio.wait(rest)

    def _check_capacity(self, learner_id: str) -> None:
        if self.draining:
            raise _stopping()
        if len(self._live) >= self.settings.server_turns:
            raise RequestRefused(503, "overloaded", "the server is busy: try again later", retry_after=2)
        mine = Counter(live.learner_id for live in self._live.values())[learner_id]
        if mine >= max(1, self.settings.server_turns // 4):  # so that no learner takes every place
            raise RequestRefused(429, "too_many", "too many of your turns are under way", retry_after=2)

    def _start(self, work: TurnWork) -> None:
        run_id = work.turn.run_id
        task = asyncio.create_task(self._run_and_count(work), name=f"turn-{run_id}")
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._keep_ended(run_id))
        self.metrics.turn_began()

    def _keep_ended(self, run_id: str) -> None:
        self._tasks.pop(run_id, None)
        live = self._live.pop(run_id, None)
        if live is not None:
            self._ended[run_id] = live
        while len(self._ended) > MAX_ENDED_TURNS:
            self._ended.popitem(last=False)

    async def _run_and_count(self, work: TurnWork) -> None:
        live, began = work.live, self.clock.monotonic()
        output: ACEOutput | None = None
        try:
            output = await self._run_and_end(work)
        finally:
            if not live.ended:  # cancelled while it was being closed
                live.fail(_stopping() if work.temporary else _left_to_next_server())
            if output is not None:
                self._daily.spent(live.learner_id, live.run_id, total_usage(output.get("usage", {})).tokens)
            code = live.error.code if live.error else "done"
            self.metrics.turn_ended(code, self.clock.monotonic() - began, output)

    async def _run_and_end(self, work: TurnWork) -> ACEOutput | None:
        """Run the turn and end it; return the graph's output, None if there was none."""
        turn, live = work.turn, work.live
        output: ACEOutput | None = None
        try:
            with self._span("ace_graph.turn", turn_attributes(turn.run_id, live.conversation_id)):
                if work.asked.replaces is not None:
                    await self._take_back(work, work.asked.replaces)
                output = await self._run_within_limits(work)
            reply = reply_of(output, live.conversation_id, live.stayed)
            if not work.temporary:
                await self._close(turn, output)
            live.complete(reply)
            if reply.metadata.scratch.pending:
                self.wake_worker(turn.learner_id)
        except asyncio.CancelledError as stop:
            await self._end_cancelled(work, stop.args)
        except Exception as error:
            await self._end_failed(work, error)
        return output

    async def _take_back(self, work: TurnWork, replaced: str) -> None:
        """Take back the turn that this one replaces: what it taught, and the title that it gave.

        Its messages go with the question of this turn. Raises RequestRefused (409) where it is not the last.
        """
        turn, database = work.turn, self.conversations.database
        messages = await database.messages(turn.thread_id)
        if turn.known == "turn" and any(message.id == _question_id(turn) for message in messages):
            return  # another server did it
        old = replaced_messages(messages, replaced)
        op_id = operation_id("replaced", replaced, turn.run_id)
        work.live.replaced = old
        work.live.stayed = await take_back(self.store, turn.learner_id, replaced, op_id, self.clock.now())
        found = await find_conversation(database, turn.learner_id, turn.conversation_id)
        if found is not None and found.title == title_of(old[0].text):
            await rename_conversation(database, turn.learner_id, found, title_of(work.asked.message))

    async def _run_within_limits(self, work: TurnWork) -> ACEOutput:
        """Run the turn while its lease holds and its time has not run out."""
        graph = self._unkept_graph if work.temporary else self.graph
        run = asyncio.create_task(run_turn(graph, work))
        alarms = {asyncio.create_task(self._raise_at_timeout())}
        if not work.temporary:
            alarms.add(asyncio.create_task(self._raise_at_lost_lease(work.turn)))
        try:
            done, _ = await asyncio.wait({run, *alarms}, return_when=asyncio.FIRST_COMPLETED)
            return await (run if run in done else done.pop())
        finally:
            for task in (run, *alarms):
                task.cancel()
            await asyncio.gather(run, *alarms, return_exceptions=True)

    async def _raise_at_timeout(self) -> ACEOutput:
        await self.clock.sleep(self.settings.server_timeout)
        raise RequestRefused(504, "timeout", "the answer took too long: try again, or ask something shorter")

    async def _raise_at_lost_lease(self, turn: AcceptedTurn) -> ACEOutput:
        while True:
            await self.clock.sleep(LEASE_SECONDS / 3)
            try:
                held = await self.conversations.renew(turn)
            except StoreError as error:
                logger.warning("[ACE Server] a lease could not be renewed: %s", error)
                continue
            if not held:
                ended = await self.given_up(turn.run_id, turn.learner_id)
                sentence = "the conversation was deleted, or another server has it"
                raise (ended and ended.error) or RequestRefused(409, "lost", sentence)

    async def _close(self, turn: AcceptedTurn, output: ACEOutput) -> None:
        """Trim the conversation and end the turn's lease. The answer stands even if this fails.

        Raises RequestRefused when the learner was forgotten while the turn was being stored.
        """
        try:
            await trim_history(self.graph, turn, output, self.settings.conversation_messages)
            learned, unsaved = output.get("learning"), None
            if learned is not None and learned["unsaved"] is not None:
                unsaved = UnsavedTurn(learned["turn_id"], turn.learner_id, learned["unsaved"])
            ours = await self.conversations.finish(turn, unsaved, answered=True)
            forgotten = not ours and learned and await self._undo_if_forgotten(turn, learned["turn_id"])
        except Exception as error:
            # The lease expires, and the server that claims the turn finds that it has ended.
            logger.warning("[ACE Server] a turn could not be closed: %s", type(error).__name__)
            return
        if forgotten:
            raise _forgotten()

    async def _undo_if_forgotten(self, turn: AcceptedTurn, turn_id: str) -> bool:
        """Forget a learner of whom only this turn is stored and no conversation; return whether it did.

        Such a learner was forgotten while the turn was being stored. A commit that begins a learner's memory
        can't notice that: the memory is as empty after the forgetting as it was before the first turn.
        """
        if await self.conversations.of(turn.learner_id):
            return False
        known = await self.store.turns(turn.learner_id, 2)
        return [record.turn_id for record in known] == [turn_id] and await self.store.forget(turn.learner_id)

    async def _end_failed(self, work: TurnWork, error: Exception) -> None:
        turn, shown = work.turn, http_error_for(error)
        if shown.status >= 500:
            logger.warning("[ACE Server] a turn failed: %s: %s", shown.code, error_location(error))
        if not work.temporary:
            if shown.code not in _OF_ANOTHER_SERVER:
                await self._log_failure(remove_question(self.graph, turn, work.live.replaced))
            await self._log_failure(self.conversations.abandon(turn))
        work.live.fail(shown)

    async def _log_failure(self, step: Awaitable[object]) -> None:
        """Await one step of ending a failed turn; its failure is logged and stops no other step."""
        try:
            await step
        except Exception as error:
            logger.warning("[ACE Server] a failed turn could not be closed: %s", type(error).__name__)

    def _prefetch(self, learner_id: str) -> asyncio.Future[Snapshot]:
        """Begin to load the memory while the turn is being stored: the learner waits for the slower of both.

        The router awaits what is loaded here (`ServedContext.loading`), so the memory is read once.
        """
        known = self.snapshots.get(learner_id)
        loading = asyncio.ensure_future(self.store.load(learner_id, known=known))
        # Without it asyncio would log the error of a turn that ended before its router asked for the memory.
        loading.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        return loading

    async def _end_cancelled(self, work: TurnWork, reason: tuple[object, ...]) -> None:
        """Leave a cancelled turn to the next server, unless its learner was forgotten or it is temporary."""
        forgotten, turn, live = reason == ("forgotten",), work.turn, work.live
        if work.temporary:
            live.fail(_forgotten() if forgotten else _stopping())
            return
        try:
            await (self.conversations.finish(turn) if forgotten else self.conversations.release(turn))
        except Exception as error:
            logger.warning("[ACE Server] a stopped turn keeps its lease: %s", type(error).__name__)
        live.fail(_forgotten() if forgotten else _left_to_next_server())


def _forgotten() -> RequestRefused:
    return RequestRefused(409, "forgotten", "the learner was forgotten meanwhile: start again")


def _stopping() -> RequestRefused:
    return RequestRefused(503, "stopping", "the server is stopping: try again", retry_after=1)


def _left_to_next_server() -> RequestRefused:
    # Without Retry-After and with a code of its own: the message was accepted, and sending it again would
    # ask it twice.
    return RequestRefused(
        503, "later", "the server is stopping and the next one answers: do not send it again"
    )


INTERVAL_SECONDS = 2.0


@asynccontextmanager
async def recovery_loop(
    turns: RunningTurns, conversations: Conversations, store: Store, clock: Clock
) -> AsyncGenerator[None]:
    """Recover at once and then every two seconds, until the block ends.

    A turn whose server died is claimed and continued here; one that two servers did not survive is given up.
    What a turn learned while the memory could not be written is committed again.
    """
    task = asyncio.create_task(_recover_forever(turns, conversations, store, clock), name="ace-recovery")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _recover_forever(
    turns: RunningTurns, conversations: Conversations, store: Store, clock: Clock
) -> None:
    while True:
        try:
            if not turns.draining:
                busy = turns.run_ids  # read once: a turn released here meanwhile is for another server
                for ended in await conversations.give_up(busy):
                    logger.error("[ACE Server] a turn is given up: run=%s: %s", ended.run_id, ended.reason)
                for turn in await conversations.claim_orphans(busy):
                    turns.resume(turn)
                await _retry_unsaved(conversations, store)
        except AceError as error:
            logger.warning("[ACE Server] recovery failed and is tried again: %s", error)
        except Exception as error:
            # The loop must not end. Only the class is logged, because the message may hold content.
            logger.error("[ACE Server] unexpected error in recovery: %s", error_location(error))  # noqa: TRY400
        await clock.sleep(INTERVAL_SECONDS)


async def _retry_unsaved(conversations: Conversations, store: Store) -> None:
    for kept in await conversations.unsaved():
        try:
            await commit_unsaved(store, kept.text)
            logger.info("[ACE Server] what could not be stored is stored now: turn=%s", kept.turn_id)
        except (LearnerForgotten, CommitTooOld, UsageError) as error:
            logger.info("[ACE Server] what could not be stored is dropped: %s", type(error).__name__)
        except StoreError:
            return  # the memory is still away: all of them wait
        await conversations.saved(kept.turn_id)
