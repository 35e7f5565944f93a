"""Runs one turn through the graph and publishes what happens on the way.

The answer is checkpointed before anything is learned from it (see `TurnCheckpointer`). So a turn whose server
died continues with the same ids and is learned from once; a turn without an answer starts again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Literal, cast

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from ace_graph.agent.context import ServedContext, TurnListener
from ace_graph.agent.state import ACEInput, ACEOutput
from ace_graph.base.errors import RequestRefused
from ace_graph.graph import ACEGraph
from ace_graph.memory.catalogue import wanted_refs
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.server.conversations.checkpointer import NO_CHECKPOINT, RUN
from ace_graph.server.conversations.repository import AcceptedTurn, Conversations, UnsavedTurn
from ace_graph.server.schemas import ChatReply, ChatRequest, history_messages

# The events of one turn, kept so that any number of clients can listen, now or later.
#
# The turn does not belong to a request: a client that hangs up only stops listening, and one that comes
# back with the number of its last event gets the events after it.


EventName = Literal["start", "mode", "bullets", "token", "result", "error", "done"]


@dataclass(frozen=True)
class Event:
    """One event, and its number within its turn."""

    number: int
    name: EventName
    data: Mapping[str, object]


class LiveTurn:
    """The events of a turn, which ends with a reply or with an error.

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
        self._first_number = first_number
        self._events: list[Event] = []
        self._changed = asyncio.Event()
        self._end = asyncio.Event()
        conversation = {} if conversation_id is None else {"conversationId": conversation_id}
        self._append("start", {"streamId": run_id, **conversation})

    @property
    def ended(self) -> bool:
        """Whether no more events will come."""
        return self.reply is not None or self.error is not None

    def publish(self, name: EventName, data: Mapping[str, object]) -> None:
        """Add an event and wake the listeners."""
        self._append(name, data)
        self._notify()

    def complete(self, reply: ChatReply) -> None:
        """End with the reply: by now everything is stored."""
        self._append("result", reply.model_dump(mode="json", by_alias=True, exclude_none=True))
        self._append("done", {})
        self.reply = reply
        self._end.set()
        self._notify()

    def fail(self, error: RequestRefused) -> None:
        """End without a reply."""
        self._append("error", {"error": str(error), "code": error.code, "status": error.status})
        self.error = error
        self._end.set()
        self._notify()

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
            if not await _is_set_within(changed, ping_seconds):
                yield None

    def _append(self, name: EventName, data: Mapping[str, object]) -> None:
        self._events.append(Event(self._first_number + len(self._events), name, data))

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


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
        """What the client sent."""
        return self.request or ChatRequest.model_validate_json(self.turn.request_json)


async def run_turn(graph: ACEGraph, work: TurnWork) -> ACEOutput:
    """Run the turn, or continue it from its checkpoint. Raises what the nodes raise."""
    live = work.live
    turn_input, output = await _input_or_output(graph, work)
    if output is not None:
        _publish_answer(live, output)
        return output
    publisher = _Publisher(live)
    last: Mapping[str, object] = {}
    async with aclosing(_values(graph, turn_input, work, publisher)) as states:
        async for last in states:
            _check_not_interrupted(last)
    output = cast("ACEOutput", last)
    if not publisher.has_text:
        _publish_answer(live, output)
    return output


async def remove_question(graph: ACEGraph, turn: AcceptedTurn) -> None:
    """Remove the question of a failed turn, and what follows it, from the conversation."""
    state = await graph.aget_state(_config(turn))
    messages = cast("list[AnyMessage]", state.values.get("messages", []))
    question_id = _question_id(turn)
    found = next((i for i, message in enumerate(messages) if message.id == question_id), None)
    if found is not None:
        await _remove(graph, turn, messages[found:])


async def trim_history(graph: ACEGraph, turn: AcceptedTurn, output: ACEOutput, max_messages: int) -> None:
    """Drop the older half of a conversation with more than `max_messages`; a prompt holds only a few."""
    messages = output["messages"]
    if len(messages) <= max_messages:
        return
    half = next(
        (i for i in range(len(messages) // 2, len(messages)) if isinstance(messages[i], HumanMessage)), 0
    )
    await _remove(graph, turn, messages[:half])


def unsaved_of(turn: AcceptedTurn, output: ACEOutput) -> UnsavedTurn | None:
    """Return what the turn learned and could not store, if anything."""
    learning = output.get("learning")
    if learning is None or learning["unsaved"] is None:
        return None
    return UnsavedTurn(learning["turn_id"], turn.learner_id, learning["unsaved"])


async def undo_forgotten_turn(
    store: Store, conversations: Conversations, turn: AcceptedTurn, turn_id: str
) -> bool:
    """Forget a learner of whom only this turn is stored and no conversation; return whether it did.

    Such a learner was forgotten while the turn was being stored. A commit that begins a learner's memory
    can't notice that: the memory is as empty after the forgetting as it was before the first turn.
    """
    if await conversations.of(turn.learner_id):
        return False
    known = await store.turns(turn.learner_id, 2)
    if [each.turn_id for each in known] != [turn_id]:
        return False
    return await store.forget(turn.learner_id)


async def _remove(graph: ACEGraph, turn: AcceptedTurn, messages: list[AnyMessage]) -> None:
    removals = [RemoveMessage(id=message.id) for message in messages if message.id]
    # As the last node, so that LangGraph sees nothing left to run in the thread.
    await graph.aupdate_state(_config(turn), {"messages": removals}, as_node="ace_learning")


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
    turn_input: ACEInput = {"messages": [*history, HumanMessage(request.message, id=_question_id(turn))]}
    if request.mode:
        turn_input["mode"] = request.mode
    if request.additional_context:
        turn_input["additional_context"] = request.additional_context
    return turn_input, None


class _Publisher:
    """Publishes what the nodes tell while they run. LangGraph's streams are not asked for it."""

    def __init__(self, live: LiveTurn) -> None:
        self._live = live
        self.has_text = False

    def choose_mode(self, mode: str) -> None:
        self._live.publish("mode", {"mode": mode})

    def inject_bullets(self, bullets: Sequence[Mapping[str, object]]) -> None:
        self._live.publish("bullets", {"bullets": bullets})

    def write_text(self, text: str) -> None:
        self._live.publish("token", {"text": text})
        self.has_text = True


def _values(
    graph: ACEGraph, turn_input: ACEInput | None, work: TurnWork, listener: TurnListener
) -> AsyncGenerator[Mapping[str, object]]:
    """Yield the state after every step; with another stream mode each step would be a task of its own."""
    turn = work.turn
    context = _context(work, listener)
    first_turn: RunnableConfig = {"configurable": {NO_CHECKPOINT: turn.known == "nothing"}}
    # LangGraph leaves type arguments of its own classes open in this signature.
    stream = graph.astream(  # pyright: ignore[reportUnknownMemberType]
        turn_input,
        merge_configs(_config(turn), first_turn),
        context=context,
        stream_mode="values",
        durability=None if work.temporary else "sync",  # without a checkpointer it would be a warning
    )
    return cast("AsyncGenerator[Mapping[str, object]]", stream)


def _context(work: TurnWork, listener: TurnListener) -> ServedContext:
    """Return the context of the run. Raises InvalidPlaybook."""
    turn, names = work.turn, work.asked.playbooks
    if names:
        wanted_refs(names, turn.learner_id)
    return ServedContext(
        learner_id=turn.learner_id,
        turn_id=turn.run_id,
        conversation_id=None if work.temporary else turn.conversation_id,
        memory=work.asked.memory,
        playbooks=names,
        teams=None if work.teams is None or not names else tuple(sorted(work.teams)),
        listener=listener,
        loading=None if names else work.snapshot,
    )


def _config(turn: AcceptedTurn) -> RunnableConfig:
    return {"configurable": {"thread_id": turn.thread_id}, "metadata": {RUN: turn.run_id}}


def _question_id(turn: AcceptedTurn) -> str:
    return f"question-{turn.run_id}"


def _publish_answer(live: LiveTurn, output: ACEOutput) -> None:
    if output.get("result"):
        live.publish("token", {"text": output["messages"][-1].text})


def _check_not_interrupted(values: Mapping[str, object]) -> None:
    """Raise RequestRefused when a tool waits for a person: nobody can answer it over HTTP."""
    if INTERRUPT in values:
        raise RequestRefused(
            501, "interrupted", "a tool asked for a person's input, which this server can't pass on"
        )
