"""A question that takes the place of the conversation's last one: its answer goes, and what it taught."""

from __future__ import annotations

import pytest

from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import Served, serving, settings_for
from tests.server.test_chat import LESSON, NO_LESSON

MIA, KIM = "Remember that my name is Mia.", "Remember that my name is Kim."


async def messages(served: Served, conversation: str = "c1") -> list[str]:
    found = (await served.client.get(f"/api/conversations/{conversation}")).json()
    return [message["content"] for message in found["messages"]]


async def contents(served: Served) -> list[str]:
    return [bullet["content"] for bullet in (await served.client.get("/api/playbook")).json()["bullets"]]


async def test_the_new_question_takes_the_place_of_the_old_one_and_of_what_it_taught() -> None:
    async with serving(settings_for(model="offline")) as served:
        await served.ask("What is 1/2 + 1/3?", "c1")
        old = await served.ask(MIA, "c1")
        assert "Mia" in str(await contents(served))
        new = await served.ask(KIM, "c1", replaces=old["turnId"])
        said, known = await messages(served), str(await contents(served))
    assert [text for text in said if text.startswith(("What", "Remember"))] == ["What is 1/2 + 1/3?", KIM]
    assert len(said) == 4
    assert ("Kim" in known, "Mia" in known, new["stayed"]) == (True, False, [])


async def test_what_a_reflection_taught_is_taken_back() -> None:
    scripted = ScriptedModel(
        solver=["<final>5/6</final>", "<final>7/12</final>"], reflector=[LESSON, NO_LESSON]
    )
    async with serving(settings_for(), Overrides(model=scripted)) as served:
        old = await served.ask("What is 1/2 + 1/3?", "c1")
        assert await contents(served) == ["Convert both fractions to sixths before adding"]
        await served.ask("What is 1/3 + 1/4?", "c1", replaces=old["turnId"])
        assert (await messages(served), await contents(served)) == (["What is 1/3 + 1/4?", "7/12"], [])


async def test_what_was_changed_since_stays_and_is_named() -> None:
    async with serving(settings_for(model="offline")) as served:
        old = await served.ask(MIA, "c1")
        [name] = old["metadata"]["learned"]["added"]
        await served.client.patch(f"/api/playbook/{name}", json={"content": "Called Mia by friends"})
        new = await served.ask("What is 1/2 + 1/3?", "c1", replaces=old["turnId"])
        assert (new["stayed"], await contents(served)) == ([name], ["Called Mia by friends"])


async def test_another_answer_than_the_last_one_is_not_replaced() -> None:
    async with serving(settings_for(model="offline")) as served:
        first = await served.ask(MIA, "c1")
        await served.ask("What is 1/2 + 1/3?", "c1")
        before, known = await messages(served), await contents(served)
        refused = await served.post(KIM, "c1", replaces=first["turnId"])
        alone = await served.post(KIM, replaces=first["turnId"])
        assert (refused.status_code, alone.status_code) == (409, 409)
        assert "read what came after it" in refused.json()["error"]
        assert (await messages(served), await contents(served)) == (before, known)
        listed = (await served.client.get("/api/conversations")).json()["conversations"]
        assert [each["conversationId"] for each in listed] == ["c1"]


async def test_the_old_question_comes_back_where_the_new_one_is_not_answered() -> None:
    failing = ScriptedModel(solver=["<final>5/6</final>", ValueError("no")], reflector=[LESSON])
    async with serving(settings_for(), Overrides(model=failing)) as served:
        old = await served.ask("What is 1/2 + 1/3?", "c1")
        refused = await served.post("What is 1/3 + 1/4?", "c1", replaces=old["turnId"])
        assert refused.status_code >= 500
        assert await messages(served) == ["What is 1/2 + 1/3?", "5/6"]


async def test_what_is_still_to_be_learned_from_the_old_one_never_is() -> None:
    failing = ScriptedModel(
        solver=["<final>5/6</final>", "<final>7/12</final>"], reflector=[ValueError()] * 9
    )
    store = CountingStore()
    async with serving(settings_for(learning="background"), Overrides(model=failing, store=store)) as served:
        old = await served.ask("What is 1/2 + 1/3?", "c1")
        assert [item.turn_id for item in await store.list_pending("alice")] == [old["turnId"]]
        new = await served.ask("What is 1/3 + 1/4?", "c1", replaces=old["turnId"])
        assert [item.turn_id for item in await store.list_pending("alice")] == [new["turnId"]]


@pytest.mark.parametrize("title", ["What is 1/3 + 1/4?", "My sums"])
async def test_a_title_of_ones_own_stays(title: str) -> None:
    async with serving(settings_for(model="offline")) as served:
        old = await served.ask("What is 1/2 + 1/3?", "c1")
        if title == "My sums":
            (await served.client.patch("/api/conversations/c1", json={"title": title})).raise_for_status()
        await served.ask("What is 1/3 + 1/4?", "c1", replaces=old["turnId"])
        assert (await served.client.get("/api/conversations/c1")).json()["title"] == title
