"""The whole way through HTTP.

Ten turns -> what they have in common -> a playbook -> consolidation -> sharing -> another learner's turn ->
revoking -> undo.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage
from pydantic import SecretStr

from ace_graph.base import Settings
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.plugins.neo4j_server import Neo4jServer
from tests.server.serving import Json, Served, bearer, serving, settings_for

LESSON = "Give the total of a basket in cents, as a whole number"
WORDINGS = (LESSON, LESSON + ".", LESSON.replace("cents, as", "cents as"))
OTHER = "A basket holds at most nine kinds of fruit"
_BASKET = re.compile(r"total of basket (\d+)\?")


def _number(messages: list[BaseMessage]) -> int:
    found = _BASKET.search(" ".join(message.text for message in messages))
    assert found is not None
    return int(found[1])


def _answer(messages: list[BaseMessage]) -> str:
    """Right with the lesson in the prompt, wrong without it."""
    number = _number(messages)
    knows = any(LESSON in message.text for message in messages)
    return f"<final>{number}00</final>" if knows else f"<final>about {number}</final>"


def _reflection(messages: list[BaseMessage]) -> str:
    number = _number(messages)
    if number >= 20:  # the reader, who learns nothing alone
        return '{"lessons": []}'
    content = OTHER if number == 4 else WORDINGS[number % 3]
    return json.dumps({"lessons": [{"content": content, "section": "sums"}]})


class _User:
    """A learner at the server; every request must succeed, unless it says otherwise."""

    def __init__(self, served: Served, name: str) -> None:
        self._served, self.name = served, name

    async def ask(self, number: int, *playbooks: str, status: int = 200) -> Json:
        question = f"What is the total of basket {number}?"
        reply = await self._served.post(question, learner=self.name, playbooks=list(playbooks))
        assert reply.status_code == status, reply.text
        assert status != 200 or not reply.json()["metadata"]["scratch"].get("learning_error"), (
            "the turn is stored"
        )
        return reply.json()

    async def call(self, method: str, path: str, body: Json | None = None, status: int = 200) -> Json:
        reply = await self._served.client.request(method, path, json=body, headers=bearer(self.name))
        assert reply.status_code == status, reply.text
        return reply.json() if reply.content else {}

    async def contents(self, path: str) -> dict[str, str]:
        """What a playbook says, by id."""
        bullets = (await self.call("GET", path))["bullets"]
        return {bullet["id"]: bullet["content"] for bullet in bullets}


async def _live(settings: Settings, owner_name: str) -> None:
    model = ScriptedModel(solver=[_answer] * 12, reflector=[_reflection] * 12)
    async with serving(settings, Overrides(model=model)) as served:
        owner = _User(served, owner_name)
        for number in range(1, 11):
            await owner.ask(number)
        found = await owner.call("POST", "/api/trajectories/reflect", {})
        assert (found["found"], found["unreflected"]) == (10, [])
        first, second = found["patterns"]
        assert (first["frequency"], second["frequency"], second["text"]) == (9, 1, OTHER)

        made = await owner.call("POST", "/api/playbooks", {"name": "shop"}, status=201)
        shop = f"/api/playbooks/{made['playbookId']}"
        named = {"reflections": [first["memoryId"], second["memoryId"]]}
        done = await owner.call("POST", f"{shop}/curate", named)
        assert (done["status"], done["label"], len(done["added"])) == ("curated", "1.1", 2)
        assert (await owner.call("POST", f"{shop}/curate", named))["status"] == "repeated"

        added = await owner.call(
            "POST", f"{shop}/bullets", {"content": "Weigh the fruit first", "kind": "strategy"}, status=201
        )
        await owner.call("PATCH", f"{shop}/bullets/{added['id']}", {"content": WORDINGS[1]})
        before = await owner.contents(shop)
        planned = await owner.call("POST", f"{shop}/consolidate", {"dryRun": True})
        assert (planned["merged"], planned["total"], await owner.contents(shop)) == (2, 3, before)
        merged = await owner.call("POST", f"{shop}/consolidate", {})
        (group,) = merged["groups"]
        assert set(group["ids"]) == set(planned["groups"][0]["ids"])
        after = await owner.contents(shop)
        assert (len(after), after[group["newId"]]) == (2, group["text"])

        reader, whole = _User(served, f"{owner_name}-reader"), f"{owner_name}/shop"
        assert (await reader.ask(20))["answer"] == "about 20"
        refused = await reader.ask(20, whole, status=404)
        await reader.call("GET", shop, status=404)
        granted = {"kind": "user", "name": reader.name, "relation": "viewer"}
        await owner.call("POST", f"{shop}/grants", granted, status=201)
        assert (await reader.ask(21, whole))["answer"] == "2100", "the reader's own memory does not know it"
        assert group["text"] in (await reader.contents(shop)).values()
        (turn,) = (await reader.call("GET", "/api/trajectories?limit=1"))["trajectories"]
        assert turn["playbooks"] == [[made["playbookId"], "1.4"]]
        await owner.call("DELETE", f"{shop}/grants?kind=user&name={reader.name}", status=204)
        again = await reader.ask(22, whole, status=404)
        assert (again["error"], again["code"]) == (refused["error"], refused["code"])
        await reader.call("GET", shop, status=404)

        await owner.call("POST", f"{shop}/consolidate/undo", {"runId": merged["runId"]})
        assert await owner.contents(shop) == before
        await owner.call("POST", f"{shop}/rollback", {"version": 2})
        assert await owner.contents(shop) == {each["id"]: each["text"] for each in done["added"]}


async def test_from_ten_turns_to_a_shared_playbook_and_back(tmp_path: Path, learner: str) -> None:
    await _live(settings_for(tmp_path), learner)


@pytest.mark.heavy
async def test_from_ten_turns_to_a_shared_playbook_and_back_on_neo4j(
    neo4j: Neo4jServer, tmp_path: Path, learner: str
) -> None:
    store = {
        "store": neo4j.uri,
        "neo4j_username": neo4j.username or "neo4j",
        "neo4j_password": None if neo4j.password is None else SecretStr(neo4j.password),
        "neo4j_database": neo4j.database,
    }
    await _live(settings_for(tmp_path, **store), learner)
