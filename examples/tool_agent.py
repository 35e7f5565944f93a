"""A tool agent made by `create_agent`: told something in one thread, it uses it in the next.

It needs one more package: pip install langchain (the extra `providers` of ace-graph has it)
"""

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]  # its checkpointer
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from ace_graph import ACEContext
from ace_graph.middleware import ACEMemory
from ace_graph.testing import ScriptedModel

ADA = ACEContext(learner_id="ada", reflect_when="never")


def convert(millilitres: int, unit: str) -> str:
    """Convert a volume of flour into grams or cups."""
    return f"{millilitres * 0.6:.0f} g" if unit == "grams" else f"{millilitres / 240:.1f} cups"


def call_the_tool(messages: list[BaseMessage]) -> AIMessage:
    """Choose the unit by what stands in the system prompt, as a model would."""
    unit = "grams" if "in grams" in messages[0].text else "cups"
    args = {"millilitres": 400, "unit": unit}
    return AIMessage("", tool_calls=[{"name": "convert", "args": args, "id": "call-1"}])


def answer(messages: list[BaseMessage]) -> str:
    """Say the tool's result."""
    return f"You need {messages[-1].text}."


def main() -> None:
    """Ask, tell, and ask again in another thread."""
    model = ScriptedModel([call_the_tool, answer, "Noted.", call_the_tool, answer])
    agent = create_agent(model, [convert], middleware=[ACEMemory("memory://")], checkpointer=InMemorySaver())
    talks = (
        ("monday", "How much flour are 400 ml?"),
        ("monday", "Remember that I weigh flour in grams."),
        ("tuesday", "How much flour are 400 ml?"),
    )
    for thread, text in talks:
        out = agent.invoke(
            {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}}, context=ADA
        )
        memory = out["ace_memory"]
        print(f"{thread}: {out['messages'][-1].text}")
        print(f"  shown {memory['injected']}, learned {memory['learning']['added']}")


if __name__ == "__main__":
    main()
