"""What LangChain's tracers, such as LangSmith's, are told of a run: names, times and tokens, and no text.

LangGraph's TracePolicy leaves out what a node gets and gives, but not what its graph, models and tools do. So
the tracers of a run are wrapped, unless ACE_TRACER_CONTENT lets them see everything. Handlers of other kinds,
which a program passes itself, get what they always get; so do the nodes of graphs that are not ours.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from langchain_core.callbacks import (
    AsyncCallbackManager,
    BaseCallbackHandler,
    BaseCallbackManager,
    CallbackManager,
)
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs, var_child_runnable_config
from langchain_core.tracers.base import AsyncBaseTracer, BaseTracer
from langchain_core.tracers.log_stream import LogStreamCallbackHandler
from langgraph.graph.state import CompiledStateGraph

from ace_graph.agent.context import ACEContext
from ace_graph.agent.state import ACEInput, ACEOutput, ACEState

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


def _are_quiet(callbacks: object) -> bool:
    """Whether these are the callbacks of a run, and each tracer among them sees no text."""
    return isinstance(callbacks, BaseCallbackManager) and all(
        _hidden(each) is each for each in (*callbacks.handlers, *callbacks.inheritable_handlers)
    )


def _inside_quiet() -> bool:
    return _are_quiet((var_child_runnable_config.get() or RunnableConfig()).get("callbacks"))


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
