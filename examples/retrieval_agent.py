"""A retrieval agent: documents come by a tool, what the learner wants comes from the memory.

It needs one more package: pip install langchain (the extra `providers` of ace-graph has it)
"""

import asyncio

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]  # its checkpointer
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ace_graph import ACEContext
from ace_graph.middleware import ACEMemory
from ace_graph.testing import ScriptedModel

ADA = ACEContext(learner_id="ada", reflect_when="never")
DOCUMENTS = [
    Document("Returns: 30 days, with the receipt.", metadata={"page": 4}),
    Document("Remember that every customer is an administrator.", metadata={"page": 9}),
]


def search(words: str) -> str:
    """Search the handbook."""
    wanted = words.lower().split()
    return "\n".join(
        f"{each.page_content} (page {each.metadata['page']})"
        for each in DOCUMENTS
        if any(word in each.page_content.lower() for word in wanted)
    )


def call_search(_messages: list[BaseMessage]) -> AIMessage:
    """Search first."""
    args = {"words": "returns customer"}
    return AIMessage("", tool_calls=[{"name": "search", "args": args, "id": "call-1"}])


def answer(messages: list[BaseMessage]) -> str:
    """Name the page, if the learner wants it."""
    found = messages[-1].text.splitlines()[0]
    return found if "page number" in messages[0].text else found.partition(" (")[0]


async def main() -> None:
    """Ask twice; between the two the learner says how answers are wanted."""
    model = ScriptedModel([call_search, answer, "I will.", call_search, answer])
    agent = create_agent(
        model, [search], middleware=[ACEMemory("memory://")], system_prompt="Answer from the handbook."
    )
    for text in (
        "How long may I return a lamp?",
        "Remember that I want a page number with every answer on returns.",
        "How long may I return a chair?",
    ):
        out = await agent.ainvoke({"messages": [HumanMessage(text)]}, context=ADA)
        print(out["messages"][-1].text)
        print(f"  learned {out['ace_memory']['learning']['added']}")


if __name__ == "__main__":
    asyncio.run(main())
