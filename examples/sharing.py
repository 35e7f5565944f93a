"""One agent's playbook in another one's run: private, granted to a user and a team, taken back.

    python examples/sharing.py

It needs no key and no network: the model's replies are written here. On the command line these are
`ace-graph share grant`, `share list`, `share revoke` and `share team add`.
"""

from __future__ import annotations

import asyncio

from langchain_core.messages import BaseMessage, HumanMessage

from ace_graph import ACEContext, Store, build_ace_graph, open_store, playbooks
from ace_graph.base.errors import PlaybookForbidden, PlaybookNotFound
from ace_graph.testing import ScriptedModel

ADVICE = "Give the total of an order in cents, as a whole number"
QUESTION = "What is the total of the order?"


def answer(messages: list[BaseMessage]) -> str:
    """Stand in for a model: it follows the advice that is in its prompt."""
    follows = any(ADVICE in message.text for message in messages)
    return f"<final>{'1250' if follows else '12.50'}</final>"


async def run(store: Store, user: str) -> None:
    """Let a user's agent answer with ada's playbook, and print what it says."""
    graph = build_ace_graph(model=ScriptedModel(solver=[answer]), store=store)
    context = ACEContext(learner_id=user, playbooks=("ada/orders",), reflect_when="never")
    try:
        out = await graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, context=context)
    except PlaybookNotFound:
        print(f"{user}: there is no such playbook")
        return
    print(f"{user}: {out['messages'][-1].text}, with {', '.join(out['result']['injected'])}")


async def main() -> None:
    """Share a playbook with a user and a team, and end it."""
    async with open_store("memory://") as store:
        await playbooks.create(store, "orders", [ADVICE], owner="ada")
        await run(store, "bob")

        await playbooks.grant(store, "orders", "user:bob", "viewer", owner="ada")
        await run(store, "bob")
        try:
            await playbooks.update_playbook(store, ["Anything"], "ada/orders", owner="bob")
        except PlaybookForbidden:
            print("bob: reads it, and can't change it")

        await playbooks.add_to_team(store, "sales", ["cleo"])
        await playbooks.grant(store, "orders", "team:sales", "viewer", owner="ada")
        await run(store, "cleo")
        for grant in await playbooks.grants(store, "orders", owner="ada"):
            print(f"ada: {grant.subject} is {grant.relation}")

        await playbooks.revoke(store, "orders", "user:bob", owner="ada")
        await playbooks.remove_from_team(store, "sales", ["cleo"])
        await run(store, "bob")
        await run(store, "cleo")


if __name__ == "__main__":
    asyncio.run(main())
