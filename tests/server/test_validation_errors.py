"""Requests of the wrong shape are refused in words that name the field, and other spellings are no fields."""

from __future__ import annotations

import pytest

from ace_graph.memory.delta import Add
from ace_graph.server import Metadata, Overrides, Scratch, create_app
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import Json, serving, settings_for
from tests.server.test_chat import model

CHAT: list[tuple[object, str]] = [
    ({"message": " \n"}, "message must not be blank"),
    ({"message": ""}, "message must not be blank"),
    ({}, "message is missing"),
    ({"message": 5}, "message must be text"),
    ({"message": "x", "conversation_id": "c"}, "conversation_id is called conversationId"),
    ({"message": "x" * 100_001}, "message may have at most 100000 characters"),
    ({"message": "x", "mode": "weird"}, "mode must be cot, tot or react"),
    ({"message": "x", "conversationHistory": "none"}, "conversationHistory must be a list"),
    (
        {"message": "x", "conversationHistory": [{"role": "user"}]},
        "conversationHistory[0].content is missing",
    ),
    (
        {"message": "x", "conversationHistory": [{"role": "user", "content": "y" * 100_001}]},
        "conversationHistory[0].content may have at most 100000 characters",
    ),
    (
        {"message": "x", "conversationHistory": [{"role": "user", "content": "y"}] * 1_001},
        "conversationHistory may have at most 1000 elements",
    ),
    ([], "the body must be an object"),
    (
        {"message": " ", "mode": "weird"},
        "message must not be blank; mode must be cot, tot or react",
    ),
]
FEEDBACK: list[tuple[object, str]] = [
    ({"turnId": "t", "verdict": "good", "learnerId": "bob"}, "learnerId is not known here"),
    ({"turn_id": "t", "verdict": "good"}, "turn_id is called turnId"),
    ({"turnId": "t", "verdict": "great"}, "verdict must be good or bad"),
]
PATCHES: list[tuple[object, str]] = [
    ({}, "the body needs a new content, pinned, ttlDays, validFrom or validUntil"),
    ({"content": None}, "the body needs a new content, pinned, ttlDays, validFrom or validUntil"),
    (
        {"pinned": None, "content": "x"},
        "the body needs a new content, pinned, ttlDays, validFrom or validUntil",
    ),
    ({"pinned": "maybe"}, "pinned must be true or false"),
    ({"content": 5}, "content must be text"),
    ({"ttlDays": "long"}, "ttlDays must be a number"),
    ({"validFrom": "soon"}, "validFrom must be a day such as 2026-11-26 or must be unknown"),
    ({"a[b]": 1}, "a[b] is not known here"),
    ({"content": ""}, "content must not be empty"),
    ({"helpful": 99}, "helpful is not known here"),
    ({"ttl_days": 3}, "ttl_days is called ttlDays"),
]
QUERIES: list[tuple[dict[str, str], str]] = [
    ({"limit": "0"}, "limit must be 1 or more"),
    ({"limit": "501"}, "limit must be 500 or less"),
    ({"limit": "many"}, "limit must be a whole number"),
    ({"since": "yesterday"}, "since must be a time, written as 2026-01-31T12:00:00Z"),
    ({"status": "odd"}, "status must be in_progress, success, failure or partial"),
    ({"learner": "bob"}, "learner is not known here"),
    ({"task_type": "x"}, "task_type is called taskType"),
]


async def test_the_mistake_in_a_request_is_explained() -> None:
    store = CountingStore()
    await store.seed("alice", Add(content="Fractions need a common denominator"))
    async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store)) as served:
        told = [
            *[(await served.client.post("/api/ai/chat", json=body), said) for body, said in CHAT],
            *[(await served.client.post("/api/feedback", json=body), said) for body, said in FEEDBACK],
            *[(await served.client.patch("/api/playbook/gen-00001", json=b), said) for b, said in PATCHES],
            *[(await served.client.get("/api/trajectories", params=q), said) for q, said in QUERIES],
        ]
        broken = await served.client.post(
            "/api/ai/chat", content=b'{"message', headers={"content-type": "application/json"}
        )
        untyped = await served.client.post("/api/ai/chat", content=b'{"message": "x"}')
    assert [(reply.status_code, reply.json()["error"]) for reply, _ in told] == [
        (422, said) for _, said in told
    ]
    assert (broken.status_code, broken.json()["error"]) == (422, "the body must be JSON")
    assert untyped.json()["error"] == (
        "the body must be JSON: send it with the header Content-Type: application/json"
    )


async def test_a_turn_is_named_by_turn_id_in_camel_case_everywhere() -> None:
    async with serving(settings_for(), Overrides(model=model("one"))) as served:
        asked = await served.ask("What is one?", "c1")
        vote = {"turnId": asked["turnId"], "verdict": "good"}
        assert (await served.client.post("/api/feedback", json=vote)).status_code == 200
        reply = await served.client.get("/api/trajectories")
    (turn,) = reply.json()["trajectories"]
    assert (turn["turnId"], turn["conversationId"]) == (asked["turnId"], "c1")
    assert "turn_id" not in reply.text
    assert [name for name in turn if "_" in name] == []


@pytest.mark.parametrize("origins", ["", "https://app.example, http://localhost:5173"])
async def test_pages_of_named_origins_may_call_from_a_browser_and_no_others(origins: str) -> None:
    preflight = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    settings = settings_for(server_origins=origins)
    async with serving(settings, Overrides(model=ScriptedModel([]))) as served:
        named, other = [
            await served.client.options(
                "/api/ai/chat", headers={**preflight, "Origin": origin, "Authorization": ""}
            )
            for origin in ("https://app.example", "https://evil.example")
        ]
        headers = {"Origin": "https://app.example", "Authorization": ""}
        refused = await served.client.get("/api/playbook", headers=headers)
    allowed = "access-control-allow-origin"
    expected = "https://app.example" if origins else None
    assert (named.headers.get(allowed), refused.headers.get(allowed)) == (expected, expected)
    assert named.is_success == bool(origins)
    assert allowed not in other.headers
    assert refused.status_code == 401
    assert "access-control-allow-credentials" not in named.headers


def test_every_name_of_a_field_and_of_a_parameter_is_in_camel_case() -> None:
    """Those of `scratch` are document 003's, and an export is named as it is stored."""
    document = create_app(settings_for()).openapi()
    schemas: Json = document["components"]["schemas"]
    fields = [
        f"{schema}.{name}"
        for schema, shape in schemas.items()
        for name in shape.get("properties", ())
        if "_" in name
    ]
    parameters = [
        parameter["name"]
        for methods in document["paths"].values()
        for operation in methods.values()
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query" and "_" in parameter["name"]
    ]
    assert parameters == []
    assert {each.partition(".")[0] for each in fields} == {"AceDelta", "Scratch", "ExportReply"}


def test_why_a_bullet_was_shown_is_told_in_camel_case() -> None:
    metadata = Metadata(
        scratch=Scratch(), why_shown={"gen-00001": {"kind": "retrieved", "source_words": ["a"]}}
    )
    assert metadata.model_dump(by_alias=True)["whyShown"] == {
        "gen-00001": {"kind": "retrieved", "sourceWords": ["a"]}
    }
