"""An agent whose team has a playbook: it is read in every run, and what the run teaches goes into it."""

import asyncio

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ace_graph import ACEContext, Settings, open_store, playbooks
from ace_graph.hosts import Recall, build_memory, learn, recall
from ace_graph.testing import ScriptedModel

LESSON = '{"lessons": [{"content": "Call the shop again after the time that a 429 names"}]}'


class Asked(TypedDict):
    """What a run is given; who asks is in its context."""

    messages: list[AnyMessage]


class State(Asked):
    """What a run knows."""

    recalled: Recall
    learned: list[str] | None


async def main() -> None:
    """Two people of a team: what the run of the one teaches helps the other."""
    async with open_store("memory://") as store:
        always = Settings(holdout_rate=0)  # else new lessons are withheld now and then
        memory = build_memory(store, model=ScriptedModel(reflector=[LESSON]), settings=always)

        async def remember(state: State, runtime: Runtime[ACEContext]) -> dict[str, object]:
            return {"recalled": await recall(memory, state["messages"], runtime.context)}

        async def answer(state: State) -> dict[str, object]:
            learning = await learn(memory, state["recalled"], "Done.")
            lessons = learning["learned_into"]
            return {"learned": None if lessons is None else lessons["bullet_ids"]}

        await playbooks.create(store, "api", ["Call /v2 of the shop"], owner="ops")
        await playbooks.add_to_team(store, "shop", ["ada", "bob"])
        await playbooks.grant(store, "ops/api", "team:shop", "editor", owner="ops")
        graph = StateGraph(State, input_schema=Asked, context_schema=ACEContext).add_sequence(
            [remember, answer]
        )
        agent = graph.add_edge(START, "remember").add_edge("answer", END).compile()
        for person in ("ada", "bob"):
            context = ACEContext(
                learner_id=person,
                playbooks=("ops/api",),
                learn_into="ops/api",
                reflect_when="always" if person == "ada" else "never",
            )
            asked = Asked(messages=[HumanMessage("Call the shop for the orders.")])
            out = await agent.ainvoke(asked, context=context)
            print(f"{person}: shown {list(out['recalled'].bullet_ids)}, learned {out['learned']}")


if __name__ == "__main__":
    asyncio.run(main())
