"""The offline tutor: a rule-based chat model that needs no key and no network."""

from __future__ import annotations

from ace_graph.agent.offline_tutor.parser import Problem, find_problem, unanswered
from ace_graph.agent.offline_tutor.preferences import find_restatement, format_as, requested_form
from ace_graph.agent.offline_tutor.solver import Kind, WorkedSolution, asked_number, explain_number, solve
from ace_graph.agent.offline_tutor.tutor import OfflineTutor

__all__ = [
    "Kind",
    "OfflineTutor",
    "Problem",
    "WorkedSolution",
    "asked_number",
    "explain_number",
    "find_problem",
    "find_restatement",
    "format_as",
    "requested_form",
    "solve",
    "unanswered",
]
