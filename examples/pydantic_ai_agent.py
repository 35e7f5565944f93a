"""The memory in an agent of pydantic-ai, by `recall` and `learn`.

It needs one more package: pip install pydantic-ai-slim
"""

import asyncio

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ace_graph import ACEContext
from ace_graph.hosts import build_memory, learn, recall

ADA = ACEContext(learner_id="ada", reflect_when="never")


def reply(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Answer by what stands in the instructions, as a model would."""
    text = "240 g." if "in grams" in (info.instructions or "") else "1.7 cups."
    return ModelResponse(parts=[TextPart(text)])


async def main() -> None:
    """Three turns; the second tells what the third one uses."""
    memory = build_memory("memory://")
    for text in (
        "How much flour are 400 ml?",
        "Remember that I weigh flour in grams.",
        "How much flour are 400 ml?",
    ):
        recalled = await recall(memory, text, ADA)
        agent = Agent(FunctionModel(reply), instructions=f"You help in a kitchen.\n\n{recalled.text}")
        answer = (await agent.run(text)).output if recalled.answer is None else recalled.answer
        learning = await learn(memory, recalled, answer + recalled.asked)
        print(f"{answer} shown {list(recalled.bullet_ids)}, learned {learning['added']}")


if __name__ == "__main__":
    asyncio.run(main())
