"""The planner: turns the mode into solver parameters, the reflection window and the retrieval budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ace_graph.agent.context import ACEContext
from ace_graph.agent.runtime import Run
from ace_graph.agent.state import ACEState, Plan, PlannerUpdate, Turn
from ace_graph.agent.tools.memory_tools import PLAYBOOK_TOOLS
from ace_graph.base.off_loop import run_off_loop
from ace_graph.base.settings import Settings, WindowSize
from ace_graph.memory.classify import infer_topic
from ace_graph.memory.window import adaptive_size

DEFAULT_WINDOW = 5
DEFAULT_BREADTH, DEFAULT_DEPTH = 3, 2
DEFAULT_MAX_TURNS = 8


async def planner(state: ACEState, run: Run) -> PlannerUpdate:
    """Plan this turn."""
    names = list(await run.resources.tools_by_name()) if state["turn"]["mode"] == "react" else []
    turn = state["turn"]
    return {
        "plan": await run_off_loop(
            len(turn["question"]), plan_turn, turn, run.context, run.resources.settings, names
        )
    }


async def with_plan(state: ACEState, run: Run) -> ACEState:
    """Return the state with a plan, in a graph without this node, too."""
    if "plan" in state:
        return state
    planned = await planner(state, run)
    return cast("ACEState", {**state, **planned})


def plan_turn(turn: Turn, context: ACEContext, settings: Settings, tool_names: Sequence[str]) -> Plan:
    """Return the plan; what the caller's context sets wins over the settings, and these over the defaults."""
    mode = turn["mode"]
    plan: Plan = {
        "mode": mode,
        "topic": context.topic or infer_topic(turn["question"]),
        "window_size": _window(turn["question"], context, settings),
        "retrieval_budget_tokens": context.retrieval_budget_tokens,
        "max_bullets": context.max_bullets_injected,
        "max_revisions": context.max_revisions,
        "temperature": context.temperature,
    }
    if mode == "cot":
        plan["k"] = context.k or 1
    elif mode == "tot":
        plan["breadth"] = context.breadth or DEFAULT_BREADTH
        plan["depth"] = context.depth or DEFAULT_DEPTH
    else:
        plan["max_turns"] = context.max_turns or DEFAULT_MAX_TURNS
        wanted = context.tool_names
        useless: frozenset[str] = frozenset() if context.playbooks else PLAYBOOK_TOOLS
        plan["tool_names"] = [
            name for name in tool_names if name not in useless and (wanted is None or name in wanted)
        ]
    return plan


def _window(question: str, context: ACEContext, settings: Settings) -> WindowSize:
    """How many interactions: the size that was set, or one that leans on the question around it.

    A size of the run alone is exact, whatever the settings say of adapting.
    """
    said = context if context.window_size is not None else settings
    wanted = (context.adaptive_window, said.adaptive_window, said.window_size is None)
    adaptive = next(each for each in wanted if each is not None)
    base = DEFAULT_WINDOW if said.window_size is None else said.window_size
    if base == "all" or not adaptive:
        return base
    most = settings.window_max if context.window_max is None else context.window_max
    least = min(settings.window_min, most) if context.window_min is None else context.window_min
    return adaptive_size(question, base, least, max(least, most))
