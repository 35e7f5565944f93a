"""The memory in a StateGraph written by hand: `recall` and `learn` are two of its nodes."""

import asyncio
from typing import Annotated

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph, add_messages
from typing_extensions import TypedDict

from ace_graph import ACEContext
from ace_graph.hosts import Recall, build_memory, learn, recall

ADA = ACEContext(learner_id="ada", reflect_when="never")
memory = build_memory("memory://")


class Asked(TypedDict):
    """What a run is given."""

    messages: Annotated[list[AnyMessage], add_messages]


class State(Asked):
    """What a checkpoint keeps; what was recalled is plain data."""

    recalled: Recall
    learned: list[str]


async def remember(state: State) -> dict[str, object]:
    """Load the learner's memory for the newest message."""
    return {"recalled": await recall(memory, state["messages"], ADA)}


def answer(state: State) -> dict[str, object]:
    """Answer, as a model with `recalled.text` at the end of its system prompt would."""
    recalled = state["recalled"]
    text = recalled.answer or ("You need 240 g." if "in grams" in recalled.text else "You need 1.7 cups.")
    return {"messages": [AIMessage(text + recalled.asked)]}


async def note(state: State) -> dict[str, object]:
    """Learn from the turn, in one commit."""
    learning = await learn(memory, state["recalled"], state["messages"][-1].text)
    return {"learned": learning["added"]}


async def main() -> None:
    """Tell in one thread, use it in another one."""
    graph = StateGraph(State, input_schema=Asked)
    graph.add_node("remember", remember).add_node("answer", answer).add_node("note", note)
    graph.add_edge(START, "remember").add_edge("remember", "answer").add_edge("answer", "note")
    graph.add_edge("note", END)
    serde = JsonPlusSerializer(allowed_msgpack_modules=[Recall])  # else LangGraph warns of a type of others
    agent = graph.compile(checkpointer=InMemorySaver(serde=serde))
    for thread, text in (
        ("monday", "How much flour are 400 ml?"),
        ("monday", "Remember that I weigh flour in grams."),
        ("tuesday", "How much flour are 400 ml?"),
    ):
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        out = await agent.ainvoke(Asked(messages=[HumanMessage(text)]), config)
        shown = list(out["recalled"].bullet_ids)
        print(f"{thread}: {out['messages'][-1].text}\n  shown {shown}, learned {out['learned']}")


if __name__ == "__main__":
    asyncio.run(main())
