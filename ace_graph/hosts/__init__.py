"""The memory for agents that are not the graph: two functions, `recall` and `learn`, around one turn.

    memory = build_memory(store="sqlite:///ace.db", model=model)
    recalled = await recall(memory, messages, ACEContext(learner_id="ada"))
    answer = ...                      # your agent, with recalled.text in its system prompt
    await learn(memory, recalled, answer)

What is recalled is plain data, so the two may be nodes of a graph with a checkpointer. They load, retrieve,
gather evidence, learn and commit by the functions of the graph's own nodes. `ace_graph.middleware` calls
them for LangChain's `create_agent`.
"""

from __future__ import annotations

from ace_graph.hosts.functions import build_memory, learn, recall
from ace_graph.hosts.turn import Answered, Recall

__all__ = [
    "Answered",
    "Recall",
    "build_memory",
    "learn",
    "recall",
]
