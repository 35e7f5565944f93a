"""The LMB-ACE payload: which memory type, which tags, which moments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ace_graph.base import FormatError
from ace_graph.memory import Bullet, Playbook
from ace_graph.memory.formats import Document, detected, format_named, read_bullets
from tests.memory.formats.playbooks import imported

Json = dict[str, Any]  # Any: a payload, whose shape the tests know


def _payload(**fields: object) -> str:
    bullet = {
        "id": "3f2a9c01bd77",
        "content": "Line the decimal points up",
        "helpful_count": 3,
        "harmful_count": 1,
        "created_at": "2025-11-02T09:30:00.123456",
        "last_used": None,
        "tags": ["semantic", "decimals"],
        "embedding": None,
        "semantic_strength": 3.0,
        "episodic_strength": 0.0,
        "procedural_strength": 0.0,
        "semantic_access_index": None,
        "learner_id": None,
        "topic": "decimals",
        "concept": "place value",
        "memory_type": "semantic",
        "ttl_days": 30,
        "content_hash": "abc",
    }
    return json.dumps({"bullets": [{**bullet, **fields}], "version": "1.0", "access_clock": 12})


def test_a_bullet_keeps_its_id_votes_topic_and_moment() -> None:
    (bullet,) = imported(_payload()).bullets()
    assert (bullet.id, bullet.content) == ("3f2a9c01bd77", "Line the decimal points up")
    assert (bullet.helpful, bullet.harmful, bullet.topic, bullet.concept) == (3, 1, "decimals", "place value")
    assert (bullet.memory_type, bullet.tags, bullet.ttl_days) == ("semantic", ("decimals",), 30)
    assert bullet.created_at.isoformat() == "2025-11-02T09:30:00.123456+00:00"


@pytest.mark.parametrize(
    ("fields", "memory_type"),
    [
        ({"memory_type": "Episodic"}, "episodic"),
        ({"memory_type": None}, "semantic"),
        ({"memory_type": "odd", "procedural_strength": 1}, "procedural"),
        ({"memory_type": None, "semantic_strength": "many"}, None),
        ({"memory_type": None, "semantic_strength": 0, "episodic_strength": 0.5}, "episodic"),
    ],
)
def test_the_memory_type_is_the_one_named_or_the_strongest_kind(
    fields: Json, memory_type: str | None
) -> None:
    assert read_bullets(_payload(**fields)).bullets[0].memory_type == memory_type


def test_no_tag_names_a_memory_type_and_an_export_carries_one_class() -> None:
    tags = ["semantic", "Episodic", "procedural", "decimals"]
    playbook = imported(_payload(tags=tags, memory_type="procedural"))
    assert [bullet.tags for bullet in playbook.bullets()] == [("decimals",)]
    written = json.loads(format_named("lmb").write(playbook))["bullets"][0]
    assert (written["tags"], written["memory_type"]) == (["decimals", "procedural"], "procedural")


@pytest.mark.parametrize(
    ("fields", "helpful"),
    [
        ({"semantic_strength": 100, "helpful_count": 3, "harmful_count": 0}, 3),
        ({"semantic_strength": 10.4, "helpful_count": None, "harmful_count": 2}, 0),
        ({"semantic_strength": 1, "helpful_count": 3, "harmful_count": 1}, 3),
        ({"semantic_strength": 0, "helpful_count": 0, "harmful_count": 4}, 0),
        ({"semantic_strength": "many", "helpful_count": 2, "harmful_count": 0}, 2),
        ({"semantic_strength": 100, "helpful_count": 4, "ace_graph": {"seen": 2}}, 4),
    ],
)
def test_a_strength_is_no_vote(fields: Json, helpful: int) -> None:
    (bullet,) = imported(_payload(memory_type="semantic", **fields)).bullets()
    assert bullet.helpful == helpful


def test_what_belongs_to_decay_and_to_a_learner_is_reported() -> None:
    reading = read_bullets(_payload(last_used="2026-01-01", semantic_access_index=4, learner_id="ada"))
    assert reading.left_out == {"last_used": 1, "learner_id": 1, "semantic_access_index": 1}


@pytest.mark.parametrize(
    ("bullet", "name"),
    [
        ({"content": "a", "helpful_count": 1}, "lmb"),
        ({"content": "a", "episodic_strength": 1.0}, "lmb"),
        ({"content": "a", "helpful": 1}, "json"),
        (None, "json"),
    ],
)
def test_it_is_known_by_how_it_counts(bullet: Json | None, name: str) -> None:
    assert detected(Document(json.dumps({"bullets": [bullet]}))).name == name
    assert detected(Document(json.dumps({"bullets": [], "access_clock": 0}))).name == "lmb"


def test_it_is_written_as_lmb_ace_starts_a_bullet() -> None:
    bullet = Bullet(id="dec-00001", section="lessons", content="Line up", helpful=3, memory_type="procedural")
    payload = json.loads(format_named("lmb").write(Playbook.of([bullet])))
    (item,) = payload["bullets"]
    assert payload["access_clock"] == 0
    assert (item["procedural_strength"], item["semantic_strength"], item["episodic_strength"]) == (
        4.0,
        0.0,
        0.0,
    )
    assert (item["memory_type"], item["tags"]) == ("procedural", ["procedural"])
    assert item["created_at"] == "1970-01-01T00:00:00"
    assert item.keys() - {"ace_graph"} == json.loads(_payload())["bullets"][0].keys() - {"embedding"} | {
        f"{kind}_{what}"
        for kind in ("semantic", "episodic", "procedural")
        for what in ("last_access", "access_index")
    }


@pytest.mark.parametrize("broken", ["[]", '{"bullets": {}}', "7", '{"bullets": "x"}'])
def test_another_document_is_none(broken: str) -> None:
    with pytest.raises(FormatError, match="LMB-ACE"):
        read_bullets(broken, "lmb")


def test_a_broken_bullet_is_refused_and_the_others_kept() -> None:
    items: list[object] = [
        {"content": "a", "helpful_count": 1},
        None,
        {"content": "b", "helpful_count": None},
    ]
    items += [{"content": "c", "helpful_count": float("nan")}, {"content": "d", "tags": {"x": 1}}]
    reading = read_bullets(json.dumps({"bullets": items}))
    assert [bullet.content for bullet in reading.bullets] == ["a", "b"]
    assert [refusal.what for refusal in reading.refused] == ["bullet 2", "c", "d"]


def test_a_payload_is_written_for_people_to_read_too() -> None:
    text = format_named("lmb").write(
        Playbook.of([Bullet(id="a-00001", section="s", content="Brüche kürzen")])
    )
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2) + "\n"
    assert "Brüche" in text
