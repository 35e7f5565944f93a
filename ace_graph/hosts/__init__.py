"""The memory for agents that are not the graph: two functions, `recall` and `learn`, around one turn.

    memory = build_memory(store="sqlite:///ace.db", model=model)
    recalled = await recall(memory, messages, ACEContext(learner_id="ada"))
    answer = ...                      # your agent, with recalled.text in its system prompt
    await learn(memory, recalled, answer)

What is recalled is plain data, so the two may be nodes of a graph with a checkpointer. They load, retrieve,
gather evidence, learn and commit by the functions of the graph's own nodes. `ace_graph.middleware` calls
them for LangChain's `create_agent`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
