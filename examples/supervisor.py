"""A supervisor sends one message to two agents, which are subgraphs and share one learner's memory."""

import asyncio
import operator
from typing import Annotated

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from ace_graph import ACEContext
from ace_graph.hosts import Recall, build_memory, learn, recall

ADA = ACEContext(learner_id="ada", reflect_when="never")
memory = build_memory("memory://")


class Task(TypedDict):
    """What the supervisor gives an agent."""

    agent: str
    question: str


class Reports(TypedDict):
    """What an agent reports."""

    reports: Annotated[list[str], operator.add]
    learned: Annotated[list[str], operator.add]


class AgentState(Task, Reports):
    """What an agent knows."""

    recalled: Recall


class State(Reports):
    """What the supervisor knows."""

    question: str


async def remember(state: AgentState) -> dict[str, object]:
    """Load the learner's memory, which both agents read."""
    return {"recalled": await recall(memory, state["question"], ADA)}


async def answer(state: AgentState) -> dict[str, object]:
    """Answer, as a model with `recalled.text` in its prompt would, and learn from the turn."""
    recalled, knows = state["recalled"], "in grams" in state["recalled"].text
    cooks = "240 g of flour" if knows else "1.7 cups of flour"
    text = cooks if state["agent"] == "cook" else "a bag of 500 g"
    learning = await learn(memory, recalled, text)
    return {"reports": [f"{state['agent']}: {text}"], "learned": learning["added"]}


def send(state: State) -> list[Send]:
    """Give both agents the message, at once."""
    return [Send("agent", Task(agent=agent, question=state["question"])) for agent in ("cook", "shop")]


async def main() -> None:
    """Tell both, and ask both."""
    inner = StateGraph(AgentState, input_schema=Task, output_schema=Reports).add_sequence([remember, answer])
    agent = inner.add_edge(START, "remember").add_edge("answer", END).compile()
    graph = StateGraph(State).add_node("agent", agent).add_conditional_edges(START, send, ["agent"])
    supervisor = graph.add_edge("agent", END).compile()
    for question in ("How much flour?", "Remember that I weigh flour in grams.", "How much flour?"):
        out = await supervisor.ainvoke(State(question=question, reports=[], learned=[]))
        print(question, *sorted(out["reports"]), f"learned {out['learned']}", sep="\n  ")


if __name__ == "__main__":
    asyncio.run(main())
