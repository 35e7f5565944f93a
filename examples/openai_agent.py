"""The memory in an agent of the OpenAI Agents SDK, by `recall` and `learn`.

It needs one more package: pip install openai-agents
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.items import TResponseStreamEvent
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from ace_graph import ACEContext
from ace_graph.hosts import build_memory, learn, recall

ADA = ACEContext(learner_id="ada", reflect_when="never")


class KitchenModel(Model):
    """Answers by what stands in the instructions, as a model would, without a network."""

    # Any: settings, tools and tracing of the SDK, which are not looked at here
    async def get_response(
        self, system_instructions: str | None, *_rest: Any, **_named: Any
    ) -> ModelResponse:
        """Return the answer."""
        text = "240 g." if "in grams" in (system_instructions or "") else "1.7 cups."
        part = ResponseOutputText(text=text, type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="message-1", content=[part], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_rest: Any, **_named: Any) -> AsyncIterator[TResponseStreamEvent]:
        """Refuse: nothing is streamed here."""
        raise NotImplementedError("this example does not stream")


async def main() -> None:
    """Three turns; the second tells what the third one uses."""
    set_tracing_disabled(True)
    memory = build_memory("memory://")
    for text in (
        "How much flour are 400 ml?",
        "Remember that I weigh flour in grams.",
        "How much flour are 400 ml?",
    ):
        recalled = await recall(memory, text, ADA)
        instructions = f"You help in a kitchen.\n\n{recalled.text}"
        agent = Agent(name="kitchen", instructions=instructions, model=KitchenModel())
        answer = recalled.answer or str((await Runner.run(agent, text)).final_output)
        learning = await learn(memory, recalled, answer + recalled.asked)
        print(f"{answer} shown {list(recalled.bullet_ids)}, learned {learning['added']}")


if __name__ == "__main__":
    asyncio.run(main())
