"""The graph: five nodes, each one file in nodes/, and their edges.

router -> planner -> solver -> critic -> ace_learning
                       ^          |
                       +----------+   a revision, when evidence says that the answer failed
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from ace_graph.agent.context import ACEContext, LearningMode, check_names
from ace_graph.agent.models.factory import offline_fallback
from ace_graph.agent.resources import Evaluator, ModelRouter, Resources, build_resources
from ace_graph.agent.runtime import BoundEdge, QuietGraph, bind
from ace_graph.agent.state import ACEInput, ACEOutput, ACEState
from ace_graph.base.settings import Settings, export_others
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.cache import SnapshotCache

if TYPE_CHECKING:
    from langgraph_sdk.runtime import ServerRuntime  # the server finds it by its name

    from ace_graph.memory.stores.store import Store
    from ace_graph.playbooks.directory import Directory

ACEGraph: TypeAlias = CompiledStateGraph[ACEState, ACEContext, ACEInput, ACEOutput]


def draw(resources: Resources) -> StateGraph[ACEState, ACEContext, ACEInput, ACEOutput]:
    """Return the graph, not yet compiled.

    The nodes, and with them all of learning, are loaded here: not by whoever only names `build_ace_graph`,
    and not in the first turn, whose event loop they would block.
    """
    from ace_graph.nodes.ace_learning import ace_learning
    from ace_graph.nodes.critic import after_critic, critic
    from ace_graph.nodes.planner import planner
    from ace_graph.nodes.router import router
    from ace_graph.nodes.solver import solver

    graph = StateGraph(ACEState, context_schema=ACEContext, input_schema=ACEInput, output_schema=ACEOutput)
    graph.add_node("router", bind(router, resources))
    graph.add_node("planner", bind(planner, resources))
    graph.add_node("solver", bind(solver, resources))
    graph.add_node("critic", bind(critic, resources))
    graph.add_node("ace_learning", bind(ace_learning, resources))
    graph.add_edge(START, "router")
    graph.add_edge("router", "planner")
    graph.add_edge("planner", "solver")
    graph.add_edge("solver", "critic")
    graph.add_conditional_edges(
        "critic", BoundEdge(after_critic), {"solver": "solver", "ace_learning": "ace_learning"}
    )
    graph.add_edge("ace_learning", END)
    return graph


def build_ace_graph(
    *,
    model: BaseChatModel | str | None = None,
    store: Store | str | None = None,
    tools: Sequence[BaseTool | Callable[..., object]] = (),
    embeddings: Embeddings | None = None,
    evaluator: Evaluator | None = None,
    mode_router: ModelRouter | None = None,
    system_prompt: str | None = None,
    base_playbook: Playbook | Path | str | None = None,
    directory: Directory | None = None,
    prompts_dir: Path | str | None = None,
    learning: LearningMode | None = None,
    checkpointer: BaseCheckpointSaver[str] | bool | None = None,
    count_tokens: Callable[[str], int] | None = None,
    clock: Callable[[], datetime] | None = None,
    new_id: Callable[[], str] | None = None,
    snapshots: SnapshotCache | None = None,
    settings: Settings | None = None,
) -> ACEGraph:
    """Return the compiled graph. Build it once; it serves all learners, threads and event loops.

    What is left out comes from the settings. `model` is a chat model for all roles, or its name as in
    ACE_MODEL; `store` a store or its URL (see open_store). `tools` join the built-in ones. `embeddings` find
    bullets by meaning, too. `evaluator` judges (question, answer, context). `mode_router` chooses the mode
    instead of the rules. `system_prompt` says who the agent is; files in `prompts_dir` replace prompts.
    `base_playbook` is every learner's, read only. `directory` names a learner's teams instead of the store's
    table. `learning` is the default of runs: "inline", "background" (see build_worker) or "off". With a
    `checkpointer` threads keep their messages. `count_tokens`, `clock` and `new_id` replace token estimate,
    time and ids. `snapshots`, which a worker may share, keeps playbooks between turns. No I/O but files.
    Raises ConfigurationErrors.
    """
    resources = build_resources(
        settings=settings,
        model=model,
        store=store,
        tools=tools,
        embeddings=embeddings,
        evaluator=evaluator,
        mode_router=mode_router,
        system_prompt=system_prompt,
        base_playbook=base_playbook,
        directory=directory,
        prompts_dir=prompts_dir,
        learning=learning,
        count_tokens=count_tokens,
        clock=clock,
        new_id=new_id,
        snapshots=snapshots,
    )
    compiled = draw(resources).compile(checkpointer=checkpointer, name="ace_graph")
    return compiled if resources.settings.tracer_content else QuietGraph.of(compiled)


@cache
def _graph_of(settings: Settings) -> ACEGraph:
    return build_ace_graph(settings=offline_fallback(settings))


def make_graph(runtime: ServerRuntime[ACEContext] | None = None) -> ACEGraph:
    """Return the graph for LangGraph Studio and servers: one per process and settings.

    It is called for every request there, also for reading schemas. It reads the environment and, below it,
    a `.env` of the working directory. Without a configured model it runs the offline tutor, and says so
    once. `runtime` is the server's; it drops context fields that it does not know before the run begins, so
    they are looked for here. Raises ConfigurationError that names the variable to fix, InvalidContext.
    """
    execution = runtime.execution_runtime if runtime is not None else None
    if execution is not None:
        check_names(cast("Mapping[str, object] | None", execution.context) or {})
    env_file = Path(".env")
    export_others(env_file, os.environ)
    return _graph_of(Settings.load(env_file))  # pyright: ignore[reportArgumentType]  # frozen: hashable
