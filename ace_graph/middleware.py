"""The memory for LangChain's `create_agent` (extra `providers`).

    agent = create_agent(model, tools, middleware=[ACEMemory("sqlite:///ace.db")])
    agent.invoke({"messages": [...]}, context=ACEContext(learner_id="ada"))

One load and at most one commit a run. The state keeps the turn's ids, never what is remembered: that is held
by this object while the turn is open, and read again where a run is resumed by another process. An agent
that is called by a tool of another agent is a part of that one's turn: it reads the memory that was loaded,
and stores nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command
from typing_extensions import TypedDict  # pydantic refuses the one of typing before Python 3.12

from ace_graph.agent.context import ACEContext, LearningMode
from ace_graph.agent.reasoning.prompt import last_question
from ace_graph.agent.reasoning.recall import load_memory
from ace_graph.agent.resources import Resources
from ace_graph.agent.runtime import Run, logger, run_for, without_text
from ace_graph.agent.state import Learning, Memory, Turn, UsageJSON
from ace_graph.base.errors import InvalidContext, how_to_install
from ace_graph.base.portal import portal
from ace_graph.hosts.functions import build_memory, context_of
from ace_graph.hosts.turn import (
    Answered,
    Recall,
    answered_by,
    learn_turn,
    new_turn,
    recall_turn,
    turn_messages,
)
from ace_graph.memory.commit import operation_id
from ace_graph.memory.stores.store import Store

try:
    from langchain.agents.middleware.types import (
        AgentMiddleware,
        AgentState,
        ModelRequest,
        ModelResponse,
        OmitFromInput,
        PrivateStateAttr,
    )
except ImportError as error:
    raise ImportError(f"ACEMemory needs LangChain: {how_to_install('providers')}") from error

__all__ = ["ACEMemory", "MemoryState", "TurnMemory"]

MOST_OPEN = 256
"""Turns of which this object holds what was recalled. An older one that is still open is read again."""
ENDED_EARLY = "the run ended before an answer"


class HeldTurn(TypedDict):
    """The turn of a run as it is checkpointed. `part`: of another agent's turn, so nothing is stored."""

    turn: Turn
    status: Literal["open", "closed", "part"]


class TurnMemory(TypedDict):
    """What the output says of the memory: the ids shown and why, and what was learned, all in ids."""

    turn_id: str
    injected: list[str]
    why_shown: dict[str, dict[str, object]]
    learning: Learning
    usage: dict[str, UsageJSON]


class MemoryState(AgentState[Any]):  # Any: the agent's own structured response
    """The state of an agent with this middleware."""

    ace_turn: NotRequired[Annotated[HeldTurn | None, PrivateStateAttr]]
    ace_memory: NotRequired[Annotated[TurnMemory | None, OmitFromInput]]


@dataclass
class _OpenTurn:
    """What was recalled for a turn, the live parts of it, and what the agent answers it with."""

    recalled: Recall
    run: Run
    memory: Memory
    model: BaseChatModel | None = None
    tools: Sequence[BaseTool] = ()


_TurnKey: TypeAlias = tuple[str | None, str, str]
"""The learner, the turn and its question: hosts choose turn ids, so two learners may have the same ones."""


def _key(turn: Turn) -> _TurnKey:
    return turn["learner_id"], turn["turn_id"], turn["question_id"]


_CALLER: ContextVar[_OpenTurn | None] = ContextVar("ace_calling_turn", default=None)
"""The turn whose tool is running: an agent that is called in there is a part of it."""

Reply: TypeAlias = "ModelResponse[Any] | AIMessage"  # Any: the agent's own structured response
State = Mapping[str, Any]  # Any: agents add keys of their own


class ACEMemory(AgentMiddleware[AgentState[Any], Any]):  # Any: the host's own state and context
    """Gives an agent the memory of the learner that the run's context names.

    `store` is a store or its URL, or what `build_memory` returned. `model` reflects on turns; without it the
    agent's own model does. `learning` is "inline", "background" (a worker learns) or "off". `defaults` are
    the settings of runs whose context is none or not an ACEContext. `resources` is what it works with, which
    another ACEMemory may share. Raises ConfigurationError.
    """

    state_schema: type[AgentState[Any]] = MemoryState

    def __init__(
        self,
        store: Resources | Store | str | None = None,
        *,
        model: BaseChatModel | str | None = None,
        learning: LearningMode | None = None,
        defaults: ACEContext | None = None,
    ) -> None:
        super().__init__()
        made = store if isinstance(store, Resources) else build_memory(store, model=model, learning=learning)
        self.resources = made
        self._defaults = defaults or ACEContext()
        self._open = OrderedDict[_TurnKey, _OpenTurn]()
        self.tools = []

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Load the memory and retrieve, the one load of the run."""
        return portal().run_sync(self.abefore_agent(state, runtime))

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Load the memory and retrieve, the one load of the run.

        A turn that a failure has left open is stored first. Raises InvalidContext; StoreError when the memory
        can't be read.
        """
        run = self._run(runtime)
        question = last_question(state["messages"])
        if question is None:
            return {"ace_turn": None, "ace_memory": None}
        before, turn = _held(state), new_turn(question, run)
        caller = _CALLER.get()
        same_store = caller is not None and caller.run.resources.store is run.resources.store
        if caller is not None and same_store and caller.run.learner_id == run.learner_id:
            await self._recall(state["messages"], turn, run, caller.memory, own=False)
            return {"ace_turn": HeldTurn(turn=turn, status="part"), "ace_memory": None}
        memory = await load_memory(run)
        if before is not None and before["status"] == "open" and before["turn"]["turn_id"] != turn["turn_id"]:
            memory = await self._store_unfinished(before["turn"], state["messages"], question, run, memory)
        await self._recall(state["messages"], turn, run, memory)
        again = before is not None and before["turn"]["question_id"] == turn["question_id"]
        status = "part" if again and before is not None and before["status"] == "closed" else "open"
        return {"ace_turn": {"turn": turn, "status": status}, "ace_memory": None}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Reply:
        """Answer with what is remembered in the system prompt; the state does not keep it."""
        opened = portal().run_sync(self._opened(request.state, request.runtime))
        own = _answer_of(opened, request)
        if own is not None:
            return own
        with without_text(content=self.resources.settings.tracer_content):
            return _asking(handler(_told(request, opened)), opened)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> Reply:
        """Answer with what is remembered in the system prompt; the state does not keep it."""
        opened = await self._opened(request.state, request.runtime)
        own = _answer_of(opened, request)
        if own is not None:
            return own
        with without_text(content=self.resources.settings.tracer_content):
            return _asking(await handler(_told(request, opened)), opened)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Let agents that the tool calls know whose turn they are a part of."""
        mark = _CALLER.set(portal().run_sync(self._opened(request.state, request.runtime)))
        try:
            return handler(request)
        finally:
            _CALLER.reset(mark)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Let agents that the tool calls know whose turn they are a part of."""
        mark = _CALLER.set(await self._opened(request.state, request.runtime))
        try:
            return await handler(request)
        finally:
            _CALLER.reset(mark)

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Learn from the turn and store it, the one commit of the run."""
        return portal().run_sync(self.aafter_agent(state, runtime))

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Learn from the turn and store it, the one commit of the run. A store that fails costs no answer."""
        held = _held(state)
        if held is None:
            return None
        turn_id = held["turn"]["turn_id"]
        if held["status"] != "open":
            self._open.pop(_key(held["turn"]), None)
            return None
        opened = await self._opened(state, runtime)
        if opened is None:
            return None
        before, since = turn_messages(state["messages"], held["turn"])
        answered = _ended(answered_by(since, opened.tools), state)
        recalled, run = opened.recalled, _with_model(opened)
        attempt_id = operation_id(turn_id, self._run(runtime, held["turn"]).new_try_id())
        _, learning, usage = await learn_turn(recalled, answered, attempt_id, run, opened.memory, before)
        self._open.pop(_key(held["turn"]), None)
        told: TurnMemory = {
            "turn_id": turn_id,
            "injected": list(recalled.bullet_ids),
            "why_shown": dict(recalled.why_shown),
            "learning": learning,
            "usage": usage,
        }
        return {"ace_turn": HeldTurn(turn=held["turn"], status="closed"), "ace_memory": told}

    def _run(self, runtime: Runtime[Any], turn: Turn | None = None) -> Run:
        """The run; of a `turn` that has begun, the learner is the one that it began with."""
        context = context_of(cast("object", runtime.context), self._defaults)
        run = run_for(self.resources, context, replace(runtime, context=context))
        if turn is None or turn["learner_id"] == run.learner_id:
            return run
        if turn["learner_id"] is not None and run.learner_id is not None:
            raise InvalidContext("the run began for another learner: resume it with the same learner_id")
        begun_with = run.context.model_copy(update={"learner_id": turn["learner_id"]})
        return replace(run, context=begun_with, learner_id=turn["learner_id"])

    async def _recall(
        self, messages: Sequence[BaseMessage], turn: Turn, run: Run, memory: Memory, *, own: bool = True
    ) -> _OpenTurn:
        recalled = await recall_turn(messages, turn, run, memory, own=own)
        self._open[_key(turn)] = opened = _OpenTurn(recalled, run, memory)
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return opened

    async def _opened(
        self, state: State | AgentState[Any], runtime: Any
    ) -> _OpenTurn | None:  # Any: two types
        """The open turn with what was recalled; read again where a run goes on in another process."""
        held = _held(state)
        if held is None:
            return None
        turn = held["turn"]
        run = self._run(Runtime(context=runtime.context), turn)
        opened = self._open.get(_key(turn))
        if opened is not None:
            return opened
        before, _ = turn_messages(cast("list[BaseMessage]", state["messages"]), turn)
        own = held["status"] == "open"
        caller = _CALLER.get()
        memory = caller.memory if caller is not None and not own else await load_memory(run)
        return await self._recall(before, turn, run, memory, own=own)

    async def _store_unfinished(
        self,
        turn: Turn,
        messages: Sequence[BaseMessage],
        newest: HumanMessage,
        run: Run,
        memory: Memory,
    ) -> Memory:
        """Store the turn that a failure left open: what the learner stated, and its record; no reflection.

        Returns the memory with it. The turn of another learner stays as it is.
        """
        if turn["learner_id"] is None or turn["learner_id"] != run.learner_id or memory.snapshot is None:
            return memory
        quiet = replace(run, context=run.context.model_copy(update={"reflect_when": "never"}))
        before, since = turn_messages(messages, turn, newest.id)
        recalled = await recall_turn(before, turn, quiet, memory)
        answered = replace(answered_by(since), problem=ENDED_EARLY)
        attempt_id = operation_id(turn["turn_id"], "unfinished")
        await learn_turn(recalled, answered, attempt_id, quiet, memory)
        logger.info("[ACE Memory] the turn %s had no end: what was stated in it is stored", turn["turn_id"])
        stored = run.resources.cache.get(run.learner_id or "")
        return Memory(stored or memory.snapshot, memory.problem, memory.read_only, memory.playbooks)


def _held(state: State | AgentState[Any]) -> HeldTurn | None:
    return cast("HeldTurn | None", state.get("ace_turn"))


def _answer_of(opened: _OpenTurn | None, request: ModelRequest[Any]) -> AIMessage | None:
    """Note the agent's model and tools; return the program's own answer, where it has one."""
    if opened is None:
        return None
    opened.model = request.model
    opened.tools = [tool for tool in request.tools if isinstance(tool, BaseTool)]
    return None if opened.recalled.answer is None else AIMessage(opened.recalled.answer)


def _told(request: ModelRequest[Any], opened: _OpenTurn | None) -> ModelRequest[Any]:
    """The request with the memory's part behind the agent's own system prompt, which stays as it is."""
    text = opened.recalled.text if opened is not None else ""
    if not text:
        return request
    own = request.system_message
    if own is None:
        message = SystemMessage(text)
    elif isinstance(own.content, str):
        message = own.model_copy(update={"content": f"{own.content}\n\n{text}"})
    else:
        message = own.model_copy(update={"content": [*own.content, {"type": "text", "text": text}]})
    return request.override(system_message=message)


def _asking(response: ModelResponse[Any], opened: _OpenTurn | None) -> ModelResponse[Any]:
    """The response; a final answer ends with what the program asks the learner."""
    asked = opened.recalled.asked if opened is not None else ""
    last = response.result[-1] if response.result else None
    if not asked or not isinstance(last, AIMessage) or last.tool_calls:
        return response
    content = last.content
    longer = content + asked if isinstance(content, str) else [*content, {"type": "text", "text": asked}]
    return replace(response, result=[*response.result[:-1], last.model_copy(update={"content": longer})])


def _ended(answered: Answered, state: State | AgentState[Any]) -> Answered:
    """The answer; where it is structured, its value as text."""
    if answered.answer:
        return answered
    structured = cast("object", state.get("structured_response"))
    return replace(answered, answer=str(structured)) if structured is not None else answered


def _with_model(opened: _OpenTurn) -> Run:
    """The run, with the agent's model to reflect with where the memory has none of its own."""
    run = opened.run
    if run.resources.injected_model is not None or opened.model is None:
        return run
    return replace(run, resources=replace(run.resources, injected_model=opened.model))
