"""One turn through the graph: what is asked of it, what it tells on the way, and what it leaves behind.

The answer is checkpointed before anything is learned from it (`checkpoints`), so a turn that a dying server
leaves half done is taken up with the same ids, and is stored once; one without an answer is begun anew.

Does not: say when a turn may begin, or bound its time; `turns` does.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import cast

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from ace_graph.context import ACEContext, PrefetchedContext
from ace_graph.errors import RequestRefused
from ace_graph.graph import ACEGraph
from ace_graph.memory.snapshot import Snapshot
from ace_graph.server.conversations.checkpointer import NO_CHECKPOINT, RUN
from ace_graph.server.conversations.repository import AcceptedTurn, Unsaved
from ace_graph.server.schemas import ChatRequest, history_messages
from ace_graph.server.turns.event_log import LiveTurn
from ace_graph.state import ACEInput, ACEOutput

__all__ = ["remove_question", "run_turn", "trim_history", "unsaved_of"]

INTERRUPT = "__interrupt__"
"""The key of LangGraph's update when a node was interrupted."""


async def run_turn(
    graph: ACEGraph, turn: AcceptedTurn, live: LiveTurn, memory: Future[Snapshot] | None
) -> ACEOutput:
    """Run the turn, or take it up where it stopped, and tell `live` what happens. Raises what nodes raise.

    `memory` is the learner's, where reading it has begun already.
    """
    asked, out = await _where_it_stands(graph, turn)
    if out is not None:
        _tell_answer(live, out)
        return out
    last: object = None
    shown = False
    async with aclosing(_events(graph, asked, turn, memory)) as events:
        async for kind, event in events:
            if kind == "messages":
                message, _ = cast("tuple[AnyMessage, object]", event)
                if message.text:
                    live.tell("token", {"text": message.text})
                    shown = True
            elif kind == "custom":
                _tell_bullets(live, event)
            elif kind == "updates":
                _check_not_interrupted(event)
                _tell_mode(live, event)
            else:
                last = event
    done = cast("ACEOutput", last)
    if not shown:
        _tell_answer(live, done)
    return done


async def remove_question(graph: ACEGraph, turn: AcceptedTurn) -> None:
    """Take the question of a turn that failed out of the conversation, as if it had not been asked."""
    state = await graph.aget_state(_config(turn))
    messages = cast("list[AnyMessage]", state.values.get("messages", []))
    asked = _question_id(turn)
    found = [place for place, message in enumerate(messages) if message.id == asked]
    if found:
        await _remove(graph, turn, messages[found[0] :])


async def trim_history(graph: ACEGraph, turn: AcceptedTurn, out: ACEOutput, most: int) -> None:
    """Drop the older half of a conversation that has more than `most` messages; a prompt sees a few only."""
    messages = out["messages"]
    if len(messages) <= most:
        return
    half = next(
        (i for i in range(len(messages) // 2, len(messages)) if isinstance(messages[i], HumanMessage)), 0
    )
    await _remove(graph, turn, messages[:half])


def unsaved_of(turn: AcceptedTurn, out: ACEOutput) -> Unsaved | None:
    """Return what the turn learned and could not store, if anything."""
    learning = out.get("learning")
    if learning is None or learning["unsaved"] is None:
        return None
    return Unsaved(learning["turn_id"], turn.learner_id, learning["unsaved"])


async def _remove(graph: ACEGraph, turn: AcceptedTurn, messages: list[AnyMessage]) -> None:
    gone = [RemoveMessage(id=message.id) for message in messages if message.id]
    # As if the last node had said it: nothing is left to do in the thread.
    await graph.aupdate_state(_config(turn), {"messages": gone}, as_node="ace_learning")


async def _where_it_stands(graph: ACEGraph, turn: AcceptedTurn) -> tuple[ACEInput | None, ACEOutput | None]:
    """Return what to begin the turn with, None to go on from its checkpoint; or how it has ended already."""
    request = ChatRequest.model_validate_json(turn.asked)
    before = history_messages(request)
    if turn.known == "turn" or (before and turn.known == "conversation"):
        state = await graph.aget_state(_config(turn))
        metadata = cast("Mapping[str, object]", state.metadata or {})
        if metadata.get(RUN) == turn.run_id:
            return None, None if state.next else cast("ACEOutput", state.values)
        before = [] if state.values.get("messages") else before
    question = HumanMessage(request.message, id=_question_id(turn))
    asked: ACEInput = {"messages": [*before, question]}
    return ({**asked, "mode": request.mode} if request.mode else asked), None


def _events(
    graph: ACEGraph, asked: ACEInput | None, turn: AcceptedTurn, memory: Future[Snapshot] | None
) -> AsyncGenerator[tuple[str, object]]:
    learner_id, conversation_id = turn.learner_id, turn.conversation_id
    context = (
        ACEContext(learner_id=learner_id, conversation_id=conversation_id)
        if memory is None
        else PrefetchedContext(learner_id=learner_id, conversation_id=conversation_id, loading=memory)
    )
    known = {NO_CHECKPOINT: turn.known == "nothing"}
    # LangGraph leaves type arguments of its own classes open in this signature.
    stream = graph.astream(  # pyright: ignore[reportUnknownMemberType]
        asked,
        merge_configs(_config(turn), {"configurable": known}),
        context=context,
        stream_mode=["messages", "custom", "updates", "values"],
        durability="sync",
    )
    return cast("AsyncGenerator[tuple[str, object]]", stream)


def _config(turn: AcceptedTurn) -> RunnableConfig:
    return {"configurable": {"thread_id": turn.thread_id}, "metadata": {RUN: turn.run_id}}


def _question_id(turn: AcceptedTurn) -> str:
    return f"question-{turn.run_id}"


def _tell_answer(live: LiveTurn, out: ACEOutput) -> None:
    if out.get("result"):
        live.tell("token", {"text": out["messages"][-1].text})


def _tell_bullets(live: LiveTurn, event: object) -> None:
    if isinstance(event, dict) and "injected" in event:
        live.tell("bullets", {"bullets": cast("dict[str, object]", event)["injected"]})


def _check_not_interrupted(event: object) -> None:
    """Raise RequestRefused where a tool waits for a person's answer: nobody is there who could give one."""
    if isinstance(event, dict) and INTERRUPT in event:
        raise RequestRefused(
            501, "interrupted", "a tool wanted to ask something in between, which this server can't pass on"
        )


def _tell_mode(live: LiveTurn, event: object) -> None:
    update = cast("Mapping[str, Mapping[str, object]]", event).get("router")
    if update:
        live.tell("mode", {"mode": update["mode"]})
