"""A run of the graph as its nodes see it, and how a node function becomes a node.

A node gets the resources, the run's context and the learner's id. It is one coroutine: under `ainvoke` and
`astream` it runs on the caller's loop, because the caller's tools and connections belong to that loop; under
`invoke` and `stream` it runs on the portal.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from typing import Any, Generic, TypeVar, cast
from zoneinfo import ZoneInfo

from langchain_core.callbacks import (
    AsyncCallbackManager,
    BaseCallbackHandler,
    BaseCallbackManager,
    CallbackManager,
)
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs, var_child_runnable_config
from langchain_core.tracers.base import AsyncBaseTracer, BaseTracer
from langchain_core.tracers.log_stream import LogStreamCallbackHandler
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime

from ace_graph.agent.context import ACEContext, LearningMode, ServedContext, TurnListener
from ace_graph.agent.resources import Resources, check_learning, random_id
from ace_graph.agent.state import ACEInput, ACEOutput, ACEState, Turn
from ace_graph.base.errors import InvalidContext
from ace_graph.base.portal import portal
from ace_graph.base.prompts import preview
from ace_graph.base.telemetry import span_maker
from ace_graph.memory.stores.base import checked_learner_id

logger = logging.getLogger("ace_graph")
_STEPS_TO_ANSWER = 2
"""router -> planner -> solver, or, after the first answer, solver -> critic -> solver.

A graph with a node between these breaks it.
"""


@dataclass(frozen=True)
class Run:
    """What every node gets beside the state."""

    resources: Resources
    context: ACEContext
    learner_id: str | None
    runtime: Runtime[ACEContext]

    @property
    def learning(self) -> LearningMode:
        """How this run learns: the context's word, else the graph's."""
        return self.context.learning or self.resources.learning

    @property
    def listener(self) -> TurnListener | None:
        """Who is told what the turn does while it runs; without one LangGraph's streams have it."""
        return self.context.listener if isinstance(self.context, ServedContext) else None

    @property
    def step(self) -> int:
        """The number of LangGraph's step, counted within a thread. A fork begins with one more."""
        return int(get_config().get("metadata", {}).get("langgraph_step", 0))

    def new_turn_id(self) -> str:
        """Return the id of the turn that begins: the context's, or one of this step.

        LangGraph repeats a step under the same id, as after a failure; so the turn is learned from once.
        """
        return self.context.turn_id or self.new_try_id()

    def new_attempt_id(self, turn: Turn, number: int) -> str:
        """Return the id of the `number`th answer to a turn.

        It is the same when the turn is repeated from its beginning, and another one in a fork, whose solver
        does not run as many steps behind the router.
        """
        in_a_row = self.step == turn.get("step", self.step) + _STEPS_TO_ANSWER * number
        return self._id_of(f"{turn['turn_id']}\n{number}" if in_a_row else self._task())

    def today(self) -> date:
        """Return the day on which the learner speaks, where they are."""
        zone = self.context.timezone or self.resources.settings.timezone
        return self.resources.clock().astimezone(ZoneInfo(zone)).date()

    def new_try_id(self) -> str:
        """Return the id of this step of a host's agent: the same when it is repeated, another in a fork."""
        return self._id_of(self._task())

    def _task(self) -> str:
        step = self.runtime.execution_info
        return random_id() if step is None else f"{step.thread_id}\n{step.task_id}"

    def _id_of(self, source: str) -> str:
        if self.resources.new_id is not None:
            return self.resources.new_id()
        return blake2b(source.encode(), digest_size=16).hexdigest()

    def call_config(self, role: str) -> RunnableConfig:
        """Return the config of a model call: its role in the metadata, its tokens kept from the user."""
        told: RunnableConfig = {"tags": ["nostream"], "metadata": {"ace_role": role}, "run_name": role}
        return quiet_config(told, content=self.resources.settings.tracer_content)


def current_run(resources: Resources) -> Run:
    """Return the run that is executing. Raises InvalidContext when another learner's memory is asked for."""
    runtime = get_runtime(ACEContext)
    # Embedded without a context it is None, whatever the annotation says.
    context = cast("ACEContext | None", runtime.context) or ACEContext()
    return run_for(resources, context, runtime)


def run_for(resources: Resources, context: ACEContext, runtime: Runtime[ACEContext]) -> Run:
    """Return a run with this context, of the graph or of another agent.

    Under a LangGraph server with authentication the authenticated user is the learner. A run with
    `memory="off"` has no learner, so that nothing in it can reach what is stored about one. Raises
    InvalidContext when another learner's memory is asked for.
    """
    authenticated = _identity(context)
    learner_id = authenticated if context.memory == "on" else None
    # Tools read the learner from the context, so the authenticated one must be in it.
    if context is not runtime.context or context.learner_id != learner_id:
        context = context.model_copy(update={"learner_id": learner_id})
        runtime = runtime.override(context=context)
    run = Run(resources, context, learner_id, runtime)
    if run.learning == "background":
        check_learning(run.learning, resources)
    return run


def _identity(context: ACEContext) -> str | None:
    configurable: Mapping[str, object] = (var_child_runnable_config.get() or {}).get("configurable", {})
    user = configurable.get("langgraph_auth_user")
    if user is None:
        return context.learner_id
    identity: object = getattr(user, "identity", None) or (
        cast("Mapping[str, object]", user).get("identity") if isinstance(user, Mapping) else None
    )
    learner_id = checked_learner_id(identity)
    if context.learner_id not in (None, learner_id):
        raise InvalidContext("learner_id is not the authenticated user: leave it out")
    return learner_id


def log_text(resources: Resources, text: str) -> str:
    """Return what a log line may hold of a text: a preview where content is logged, else its length."""
    return preview(text) if resources.settings.log_content else f"[len={len(text)}]"


Update = TypeVar("Update")
Node = Callable[[ACEState, Run], Awaitable[Update]]


class BoundNode(Runnable[ACEState, Update], Generic[Update]):
    """A node with its resources, callable both ways, named like its function.

    LangGraph has set the run's context and tells its tracers already, so this does no more than call: a
    RunnableLambda would look at signatures and open a run of its own at every step, half a millisecond each.
    """

    def __init__(self, node: Node[Update], resources: Resources) -> None:
        self.name = getattr(node, "__name__", "node")
        self._node = node
        self._resources = resources
        self._span = span_maker()

    # Any: the signature of Runnable
    def invoke(self, input: ACEState, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run the node on the portal."""
        return portal().run_sync(self.ainvoke(input, config))

    async def ainvoke(self, input: ACEState, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run the node on the caller's loop."""
        turn = input.get("turn")
        marked = {"ace.turn_id": turn["turn_id"]} if turn else {}
        content = self._resources.settings.tracer_content
        with self._span(f"ace_graph.{self.name}", marked), without_text(content=content):
            return await self._node(input, current_run(self._resources))


class BoundEdge(Runnable[ACEState, str]):
    """A conditional edge, chosen where the graph runs: for a plain function LangGraph changes the thread."""

    def __init__(self, choose: Callable[[ACEState], str]) -> None:
        self.name = getattr(choose, "__name__", "edge")
        self._choose = choose

    # Any: the signature of Runnable
    def invoke(self, input: ACEState, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Choose."""
        return self._choose(input)

    async def ainvoke(self, input: ACEState, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Choose."""
        return self._choose(input)


def bind(node: Node[Update], resources: Resources) -> BoundNode[Update]:
    """Return `node` as LangGraph takes it."""
    return BoundNode(node, resources)


# What LangChain's tracers, such as LangSmith's, are told of a run: names, times and tokens, and no text.
#
# LangGraph's TracePolicy leaves out what a node gets and gives, but not what its graph, models and tools do.
# So the tracers of a run are wrapped, unless ACE_TRACER_CONTENT lets them see everything. Handlers of other
# kinds, which a program passes itself, get what they always get; so do the nodes of graphs that are not ours.


_TOLD = frozenset({"run_id", "parent_run_id", "tags", "metadata", "name", "run_type", "batch_size"})
_STARTS: dict[str, object] = {
    "on_chain_start": {},
    "on_chat_model_start": [[]],
    "on_llm_start": [""],
    "on_retriever_start": "",
    "on_tool_start": "",
}
_ENDS: dict[str, object] = {
    "on_chain_end": {},
    "on_llm_new_token": "",
    "on_retriever_end": [],
    "on_tool_end": "",
}


class _WithoutText:
    """A tracer that is told of every run and sees no text of it.

    It passes for the tracer that it tells, because LangChain would add another one where it finds none.
    """

    def __init__(self, tracer: BaseCallbackHandler) -> None:
        self._tracer = tracer

    @property  # type: ignore[misc]  # what isinstance asks for
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]  # as above
        return type(self._tracer)

    def __getattr__(self, name: str) -> Any:  # Any: whatever the tracer has, here and below
        found = getattr(self._tracer, name)

        def copied(**defaults: Any) -> _WithoutText:
            return _WithoutText(found(**defaults))

        def tell(*given: Any, **told: Any) -> Any:
            return _tell(found, name, given, told)

        async def tell_later(*given: Any, **told: Any) -> Any:
            return await _tell(found, name, given, told)

        if name == "copy_with_metadata_defaults":
            return copied
        if not name.startswith("on_"):
            return found
        return tell_later if inspect.iscoroutinefunction(found) else tell


# Any: events of many signatures
def _tell(event: Any, name: str, given: Sequence[Any], told: dict[str, Any]) -> Any:
    kept = {key: value for key, value in told.items() if key in _TOLD}
    if name in _STARTS:
        return event(given[0], _STARTS[name], **kept)
    if name == "on_llm_end":
        return event(_counted(given[0]), **kept)
    if name in _ENDS:
        return event(_ENDS[name], **kept)
    if name.endswith("_error"):
        return event(RuntimeError(type(given[0]).__name__), **kept)
    return _nothing() if inspect.iscoroutinefunction(event) else None


async def _nothing() -> None:
    """Tell nothing of an event that is no beginning and no end."""


def _counted(result: LLMResult) -> LLMResult:
    """Return the tokens of a reply without the reply."""
    usages = (
        each.message.usage_metadata
        for each in (group[0] for group in result.generations if group)
        if isinstance(each, ChatGeneration) and isinstance(each.message, AIMessage)
    )
    counted = LLMResult(generations=[[]])
    counted.generations[0].extend(
        ChatGeneration(message=AIMessage(content="", usage_metadata=each)) for each in usages
    )
    return counted


def _hidden(handler: BaseCallbackHandler) -> BaseCallbackHandler:
    traces = isinstance(handler, BaseTracer | AsyncBaseTracer)
    if (
        not traces
        or isinstance(handler, LogStreamCallbackHandler)
        or cast("object", type(handler)) is _WithoutText
    ):
        return handler
    return cast("BaseCallbackHandler", _WithoutText(handler))


def _quiet(
    config: RunnableConfig | None, manager: type[CallbackManager] | type[AsyncCallbackManager]
) -> RunnableConfig:
    """Return `config` with the present callbacks and those that the environment asks for, without text.

    Where no tracer is among them it is as it was: LangChain copies a manager in a config at every step.
    """
    made = manager.configure(ensure_config(config).get("callbacks"))
    if _are_quiet(made):
        return config or RunnableConfig()
    made.handlers = [*map(_hidden, made.handlers)]
    made.inheritable_handlers = [*map(_hidden, made.inheritable_handlers)]
    return {**(config or {}), "callbacks": made}


def _inside_quiet() -> bool:
    return _are_quiet((var_child_runnable_config.get() or RunnableConfig()).get("callbacks"))


def _are_quiet(callbacks: object) -> bool:
    """Whether these are the callbacks of a run, and each tracer among them sees no text."""
    return isinstance(callbacks, BaseCallbackManager) and all(
        _hidden(each) is each for each in (*callbacks.handlers, *callbacks.inheritable_handlers)
    )


def quiet_config(config: RunnableConfig, *, content: bool) -> RunnableConfig:
    """Return the config of a call in which tracers see no text, unless they may see all `content`."""
    return config if content or _inside_quiet() else _quiet(config, AsyncCallbackManager)


@contextmanager
def without_text(*, content: bool) -> Generator[None]:
    """Let tracers see no text of the models and tools that the block calls, unless they may see `content`."""
    if content or _inside_quiet():
        yield
        return
    present = var_child_runnable_config.get() or RunnableConfig()
    mark = var_child_runnable_config.set(_quiet(present, AsyncCallbackManager))
    try:
        yield
    finally:
        var_child_runnable_config.reset(mark)


class QuietGraph(CompiledStateGraph[ACEState, ACEContext, ACEInput, ACEOutput]):
    """A graph whose runs hold no text in traces; its nodes, models and tools tell the same tracers."""

    @classmethod
    def of(cls, graph: CompiledStateGraph[ACEState, ACEContext, ACEInput, ACEOutput]) -> QuietGraph:
        """Return the same graph without text in its traces."""
        return cls(**{name: held for name, held in vars(graph).items() if name != "__orig_class__"})

    # Any: what Pregel takes
    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Run the graph on the portal."""
        return super().stream(input, _quiet(merge_configs(self.config, config), CallbackManager), **kwargs)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Run the graph on the caller's loop."""
        quiet = _quiet(merge_configs(self.config, config), AsyncCallbackManager)
        return super().astream(input, quiet, **kwargs)
