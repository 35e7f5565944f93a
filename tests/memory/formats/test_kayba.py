"""kayba's skillbooks, both versions: what is taken, what has no place, what is written for kayba to read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ace_graph.base import FormatError, NewerFormat
from ace_graph.memory import Bullet, Playbook
from ace_graph.memory.formats import format_named, read_bullets
from tests.memory.formats.playbooks import imported

Json = dict[str, Any]  # Any: a skillbook, whose shape the tests know
TRACE = {"trace_uid": "langfuse:t-17", "source_system": "langfuse", "trace_id": "t-17", "epoch": 1}
MOMENT = "2026-03-18T14:08:22.435257+00:00"


def _v1(**fields: object) -> Json:
    skill = {
        "id": "math-00001",
        "section": "math",
        "content": "Draw it",
        "status": "active",
        "embedding": None,
    }
    return {"skills": {"math-00001": {**skill, **fields}}, "sections": {"math": ["math-00001"]}, "next_id": 1}


def _v2(**fields: object) -> Json:
    skill = {
        "id": "context-00003",
        "section": "context",
        "keywords": ["unit_price", "rates"],
        "issue": "Prices per dozen are compared with prices per piece",
        "insight": "Bring both prices to one unit",
        "occurrences": [TRACE],
        "active": True,
        "used_count": 0,
        "helpful_count": 4,
        "harmful_count": 1,
        "neutral_count": 2,
        "created_at": MOMENT,
        "updated_at": MOMENT,
    }
    skills = {"context-00003": {**skill, **fields}}
    return {"schema_version": "2", "skills": skills, "sections": {"context": ["context-00003"]}, "next_id": 3}


def test_a_skill_of_version_2_is_one_bullet_with_issue_and_insight() -> None:
    (bullet,) = imported(json.dumps(_v2())).bullets()
    assert bullet.content == (
        "Bring both prices to one unit (Issue: Prices per dozen are compared with prices per piece)"
    )
    assert (bullet.id, bullet.section, bullet.keywords) == (
        "context-00003",
        "context",
        ("unit_price", "rates"),
    )
    assert (bullet.helpful, bullet.harmful, bullet.neutral) == (4, 1, 2)
    assert bullet.sources == ("langfuse:t-17",)
    assert bullet.created_at.isoformat() == MOMENT


def test_issue_and_insight_are_split_when_written() -> None:
    skill = json.loads(format_named("kayba").write(imported(json.dumps(_v2()))))["skills"]["context-00003"]
    original = _v2()["skills"]["context-00003"]
    for name in ("id", "section", "keywords", "issue", "insight", "active", "helpful_count", "harmful_count"):
        assert skill[name] == original[name]
    assert skill["occurrences"] == [{key: TRACE[key] for key in ("trace_uid", "source_system", "trace_id")}]


def test_a_skillbook_is_written_as_kayba_needs_it() -> None:
    bullet = Bullet(id="fra-00007", section="Fractions", content="Find a common denominator")
    book = json.loads(format_named("kayba").write(Playbook.of([bullet])))
    assert (book["schema_version"], book["next_id"]) == ("2", 7)
    assert book["sections"] == {"context": ["fra-00007"]}
    skill = book["skills"]["fra-00007"]
    assert (skill["section"], skill["keywords"]) == ("context", ["fractions"])
    assert skill["issue"] == skill["insight"] == "Find a common denominator"


def test_a_skillbook_of_version_1_is_written_with_its_sources() -> None:
    bullet = Bullet(id="fra-00007", section="math", content="Draw it", sources=("s", "turn-2"))
    text = format_named("kayba-v1").write(Playbook.of([bullet]))
    skill = json.loads(text)["skills"]["fra-00007"]
    assert [record["trace_id"] for record in skill["sources"]] == ["s", "turn-2"]
    assert read_bullets(text).bullets[0].sources == ("s", "turn-2")
    assert text.startswith('{\n  "'), "indented by two, so that a person can read and compare it"


def test_what_is_to_be_avoided_says_so_in_a_skill() -> None:
    bullet = Bullet(id="fra-00007", section="context", content="Adding both", polarity="anti_pattern")
    book = json.loads(format_named("kayba").write(Playbook.of([bullet])))
    assert book["skills"]["fra-00007"]["insight"] == "AVOID: Adding both"
    del book["skills"]["fra-00007"]["ace_graph"]
    (read,) = read_bullets(json.dumps(book)).bullets
    assert (read.content, read.polarity) == ("Adding both", "anti_pattern")


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"insight": None}, "Prices per dozen are compared with prices per piece"),
        ({"insight": ""}, "Prices per dozen are compared with prices per piece"),
        ({"issue": "Draw it", "insight": "Draw it"}, "Draw it"),
        ({"issue": None}, "Bring both prices to one unit"),
    ],
)
def test_a_skill_with_one_text_is_that_text(fields: Json, content: str) -> None:
    assert read_bullets(json.dumps(_v2(**fields))).bullets[0].content == content


def test_a_version_1_skill_keeps_evidence_but_no_justification() -> None:
    book = _v1(
        evidence="30 conversations", justification="It is short", sources=[{"sample_id": "s"}, {"x": 1}]
    )
    reading = read_bullets(json.dumps(book))
    assert reading.bullets[0].sources == ("s", "30 conversations")
    assert reading.left_out == {"justification": 1, "sources": 1}
    assert read_bullets(json.dumps(_v1(evidence="x" * 300))).left_out == {"evidence": 1}


def test_the_oldest_skillbooks_call_their_skills_bullets() -> None:
    book = _v1()
    book["bullets"] = book.pop("skills")
    assert read_bullets(json.dumps(book)).bullets[0].content == "Draw it"


@pytest.mark.parametrize("book", [_v1(status="invalid"), _v2(active=False), _v2(active="no")])
def test_a_removed_skill_is_refused(book: Json) -> None:
    reading = read_bullets(json.dumps(book))
    assert reading.bullets == ()
    assert "removed in kayba" in reading.refused[0].why


def test_an_embedding_and_a_use_count_are_reported() -> None:
    reading = read_bullets(json.dumps(_v2(embedding=[0.1, 0.2], used_count=3)))
    assert reading.left_out == {"embedding": 1, "used_count": 1}


def test_two_skills_with_one_key_are_both_read() -> None:
    one, other = json.dumps(_v1()["skills"]["math-00001"]), json.dumps({"content": "Estimate"})
    reading = read_bullets(f'{{"skills": {{"math-00001": {one}, "math-00001": {other}}}}}')
    assert [bullet.content for bullet in reading.bullets] == ["Draw it", "Estimate"]
    assert {
        bullet.content for bullet in imported(f'{{"skills": {{"a-1": {one}, "a-1": {other}}}}}').bullets()
    } == {
        "Draw it",
        "Estimate",
    }


@pytest.mark.parametrize(
    "skills",
    [
        {"a-1": None},
        {"a-1": "text"},
        {"a-1": {}},
        {"a-1": {"content": 7}},
        {"a-1": {"content": "x", "helpful": "2"}},
    ],
)
def test_a_broken_skill_is_refused_by_its_id(skills: Json) -> None:
    reading = read_bullets(json.dumps({"skills": skills}))
    assert [refusal.what for refusal in reading.refused] == ["a-1"]


def test_sections_that_name_no_skill_are_reported() -> None:
    book = {**_v1(), "sections": {"math": ["math-00001", "gone-00002"], "x": "y", "z": [3]}}
    assert read_bullets(json.dumps(book)).left_out == {"sections": 1}


def test_versions_that_are_not_known_are_errors() -> None:
    with pytest.raises(NewerFormat, match="version 3"):
        read_bullets(json.dumps({**_v2(), "schema_version": "3"}))
    with pytest.raises(FormatError, match="version 2"):
        read_bullets(json.dumps({**_v2(), "schema_version": ["2"]}))
    with pytest.raises(FormatError, match="skillbook"):
        read_bullets('{"bullets": []}', "kayba")
    with pytest.raises(FormatError, match="skillbook"):
        read_bullets("[1]", "kayba-v1")


@pytest.mark.parametrize(("size", "kept"), [(1, True), (256, True), (257, False)])
def test_the_name_of_a_trace_is_kept_up_to_its_greatest_length(size: int, kept: bool) -> None:
    trace = {"trace_uid": "t" * size}
    (bullet,) = imported(json.dumps(_v2(occurrences=[trace]))).bullets()
    assert (("t" * size) in bullet.sources) is kept
