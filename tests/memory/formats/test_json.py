"""Our own JSON: strict about every field of a bullet, tolerant of everything around it."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from ace_graph.base import FormatError, NewerFormat
from ace_graph.memory import Bullet, Playbook
from ace_graph.memory.formats import FORMATS, FormatName, format_named, read_bullets, read_playbook


def test_the_output_of_show_and_a_bare_list_are_read_too() -> None:
    bullet = {"id": "les-00001", "section": "lessons", "content": "Draw it", "tags": ["x"]}
    for document in ({"version": 3, "bullets": [bullet]}, [bullet]):
        (found,) = read_bullets(json.dumps(document)).bullets
        assert (found.id, found.content, found.tags) == ("les-00001", "Draw it", ("x",))


def test_a_bad_bullet_is_refused_and_the_others_are_kept() -> None:
    bullets = [{"content": "good"}, {"content": "bad", "helpful": -1}, "no object", {"id": "a-1"}, 7]
    reading = read_bullets(json.dumps(bullets))
    assert [add.content for add in reading.bullets] == ["good"]
    assert [refusal.what for refusal in reading.refused] == ["bad", "no object", "a-1", "bullet 5"]
    assert "helpful" in reading.refused[0].why
    assert reading.refused[2].why == "empty text"
    assert len(reading) == 5


def test_a_bullet_that_ends_before_it_begins_is_refused_and_the_others_are_kept() -> None:
    bullets = [
        {"content": "bad", "valid_from": "2026-05-01", "valid_until": "2026-01-01"},
        {"content": "good"},
    ]
    reading = read_bullets(json.dumps(bullets))
    assert [add.content for add in reading.bullets] == ["good"]
    assert [(refusal.what, refusal.why) for refusal in reading.refused] == [
        ("bad", "valid_until 2026-01-01 is before valid_from 2026-05-01: exchange them, or leave one out")
    ]


def test_an_unknown_field_is_counted_and_its_bullet_kept() -> None:
    bullets = [
        {"content": "a", "colour": "red"},
        {"content": "b", "colour": "blue"},
        {"content": "c", "mood": ""},
    ]
    reading = read_bullets(json.dumps({"bullets": bullets, "votes": {"t": {}}}))
    assert len(reading.bullets) == 3
    assert reading.left_out == {"colour": 2, "votes": 1}


def test_no_more_than_thirty_such_fields_are_named() -> None:
    bullet = {"content": "a", **{f"field{n}": n for n in range(100)}}
    left_out = read_bullets(json.dumps([bullet])).left_out
    assert len(left_out) == 31
    assert left_out["other fields"] == 70


def test_a_file_can_not_act_on_bullets_that_are_there_already() -> None:
    hostile = {"content": "I replace yours", "contests": ["les-00001"], "op": "remove", "ref": "b7"}
    reading = read_bullets(json.dumps([hostile]))
    assert (reading.bullets[0].contests, reading.bullets[0].ref) == ((), None)
    assert reading.left_out == {"contests": 1, "op": 1, "ref": 1}


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("helpful", "3", "helpful"),
        ("helpful", 3.5, "helpful"),
        ("helpful", True, "helpful"),
        ("helpful", 10**12, "more than 999999999"),
        ("importance", 2, "importance"),
        ("content", ["x"], "content"),
        ("content", {"$ref": "#/bullets/0"}, "content"),
        ("content", "\n\t\u200b", "empty text"),
        ("content", "x" * 20_000, "longer than 2000 characters"),
        ("section", "s" * 101, "section: longer than 100 characters"),
        ("id", 7, "id"),
        ("id", "i" * 129, "id: longer than 128 characters"),
        ("tags", "a", "tags"),
        ("tags", [1], "tags.0"),
        ("status", "deleted", "status"),
        ("created_at", "yesterday", "created_at"),
        ("created_at", "2026-01-01T00:00:00", "created_at"),
        ("ttl_days", 0, "ttl_days"),
        ("pinned", "yes", "pinned"),
    ],
)
def test_a_wrong_value_is_refused_and_named(field: str, value: object, why: str) -> None:
    reading = read_bullets(json.dumps([{"content": "fine"}, {"content": "fine too", field: value}]))
    assert [add.content for add in reading.bullets] == ["fine"]
    assert why in reading.refused[0].why
    assert len(reading.refused[0].what) <= 61


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_non_finite_numbers_are_refused(number: str) -> None:
    reading = read_bullets(f'[{{"content": "a", "importance": {number}}}, {{"content": "b"}}]')
    assert [add.content for add in reading.bullets] == ["b"]
    assert "importance" in reading.refused[0].why


def test_a_field_that_stands_twice_is_refused_with_its_bullet() -> None:
    reading = read_bullets('[{"content": "Add", "content": "Never add"}, {"content": "b"}]')
    assert [add.content for add in reading.bullets] == ["b"]
    assert reading.refused[0].why == "content occurs twice in it"


def test_lists_that_are_too_long_keep_their_newest_part() -> None:
    bullet = {"content": "a", "sources": [f"turn-{n}" for n in range(5000)]}
    reading = read_bullets(json.dumps([bullet]))
    assert reading.bullets[0].sources == tuple(f"turn-{n}" for n in range(4936, 5000))
    assert reading.left_out == {"sources": 1}


def test_the_type_of_the_routes_names_every_format() -> None:
    assert get_args(FormatName) == tuple(each.name for each in FORMATS)


def test_a_lone_surrogate_is_replaced() -> None:
    (bullet,) = read_bullets('[{"content": "a \\ud800 b", "tags": ["\\udfff"]}]').bullets
    assert "\ud800" not in bullet.content
    bullet.model_dump_json()


def test_a_list_of_no_bullets_is_an_empty_playbook_but_nothing_to_import() -> None:
    assert len(read_playbook('{"bullets": []}')) == 0
    with pytest.raises(FormatError, match="no bullet was found"):
        read_bullets('{"bullets": []}')


def test_a_newer_file_asks_for_an_upgrade() -> None:
    with pytest.raises(NewerFormat, match="upgrade"):
        read_bullets('{"format": 3, "bullets": [{"content": "x"}]}')


def test_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(
        FormatError, match=f"use {', '.join(each.name for each in FORMATS[:-1])} or {FORMATS[-1].name}"
    ):
        read_bullets("- x", "yaml")


@pytest.mark.parametrize("name", ["json", "kayba", "kayba-v1"])
def test_a_playbook_is_written_for_people_to_read_too(name: str) -> None:
    playbook = Playbook.of([Bullet(id="a-00001", section="s", content="Brüche kürzen")])
    text = format_named(name).write(playbook)
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2) + "\n"
    assert "Brüche" in text
