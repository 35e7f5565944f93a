"""What each node returns: a typed part of the state.

Does not: hold behaviour.
"""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict  # pydantic refuses the one of typing before Python 3.12

from ace_graph.state import Attempt, Learning, Memory, Plan, Result, Turn, UsageJSON

__all__ = ["CriticUpdate", "LearningUpdate", "PlannerUpdate", "RouterUpdate", "SolverUpdate"]


class RouterUpdate(TypedDict):
    """The router's part: who, which mode, and a clean slate for this turn."""

    mode: str
    memory: Memory
    turn: Turn
    attempt: None
    result: None
    learning: None
    usage: dict[str, UsageJSON]


class PlannerUpdate(TypedDict):
    plan: Plan


class SolverUpdate(TypedDict):
    messages: list[dict[str, object]]
    attempt: Attempt
    memory: Memory
    usage: dict[str, UsageJSON]


class CriticUpdate(TypedDict):
    result: Result
    messages: NotRequired[list[dict[str, object]]]


class LearningUpdate(TypedDict):
    mode: str
    learning: Learning
    usage: dict[str, UsageJSON]
