"""Playbooks as files: what is written is read back, and one bad bullet never costs the good ones."""

from __future__ import annotations

import json
import string
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.errors import FormatError, NewerFormat
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta import Delta
from ace_graph.memory.effect import apply
from ace_graph.memory.formats.registry import FORMATS, format_named, read_bullets
from ace_graph.memory.payload import load_playbook
from ace_graph.memory.playbook import Playbook, mint_id
from ace_graph.memory.policy import Policy
from ace_graph.memory.resolve import resolve
from ace_graph.memory.snapshot import Snapshot

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BRACKETS = st.sampled_from(["[fil-00001] ", "- ", "(helpful=3, harmful=4)", "## ", "", "", ""])
WORDS = st.text(alphabet=string.ascii_letters + "äß中¿'\"()[]{}#-*=:,.%", min_size=1, max_size=12)


@st.composite
def _bullet(draw: st.DrawFn, number: int) -> Bullet:
    section = draw(st.sampled_from(["lessons", "profile", "API hints", "x: y"]))
    # The number keeps the texts apart, so that no two of them are the same lesson.
    words = " ".join(draw(st.lists(WORDS, min_size=1, max_size=4)))
    return Bullet(
        id=mint_id(section, number),
        section=section,
        content=f"{draw(BRACKETS)}{words} {number}{number}{number} {draw(BRACKETS)}",
        helpful=draw(st.integers(0, 9)),
        harmful=draw(st.integers(0, 9)),
        neutral=draw(st.integers(0, 9)),
        seen=draw(st.integers(1, 9)),
        memory_type=draw(st.sampled_from(["semantic", "episodic", "procedural"])),
        polarity=draw(st.sampled_from(["strategy", "anti_pattern", "observation"])),
        topic=draw(st.none() | st.just("fractions")),
        tags=tuple(draw(st.lists(st.sampled_from(["a", "b"]), unique=True))),
        keywords=tuple(draw(st.lists(st.sampled_from(["c", "d"]), unique=True))),
        importance=draw(st.sampled_from([0.0, 0.5, 1.0])),
        pinned=draw(st.booleans()),
        slot=f"slot{number}" if draw(st.booleans()) else None,
        status=draw(st.sampled_from(["active", "quarantined"])),
        created_at=NOW,
        updated_at=NOW,
        ttl_days=draw(st.none() | st.just(2.5)),
        sources=tuple(draw(st.lists(st.just("turn-1"), max_size=1))),
        consolidated_from=tuple(draw(st.lists(st.just("les-00900"), max_size=1))),
    )


@st.composite
def playbooks(draw: st.DrawFn) -> Playbook:
    return Playbook.of([draw(_bullet(number)) for number in range(1, 1 + draw(st.integers(1, 5)))])


def _imported(text: str, name: str) -> Playbook:
    operations = read_bullets(text, name).bullets
    delta = Delta(op_id="import", now=NOW, operations=operations)
    return apply(Playbook(), resolve(Snapshot(), delta, Policy()))


@given(playbooks())
def test_json_read_into_an_empty_learner_gives_the_same_bullets(playbook: Playbook) -> None:
    written = format_named("json").write(playbook)
    assert dict(_imported(written, "auto").entries) == dict(playbook.entries)


@given(playbooks())
def test_json_is_what_a_base_playbook_is_read_from(playbook: Playbook) -> None:
    assert load_playbook(format_named("json").write(playbook)).bullets() == playbook.bullets()


@given(playbooks())
def test_text_read_into_an_empty_learner_gives_id_section_text_and_votes(playbook: Playbook) -> None:
    def known(bullets: Playbook) -> set[tuple[str, str, str, int, int]]:
        return {(b.id, b.section, b.content, b.helpful, b.harmful) for b in bullets.bullets()}

    active = Playbook.of(b for b in playbook.bullets() if b.status == "active")
    written = format_named("text").write(playbook)
    if not active.bullets():
        assert written == ""
        return
    assert known(_imported(written, "auto")) == known(active)


def test_text_written_by_hand_is_read() -> None:
    text = (
        "notes about Ben\n\n# Rules\n* Draw a picture\n- [abc-00007] Ask first (helpful=2, harmful=1)\n- \n"
    )
    first, second = read_bullets(text).bullets
    assert (first.section, first.content, first.id, first.helpful) == ("Rules", "Draw a picture", None, 0)
    assert (second.content, second.id, second.helpful, second.harmful) == ("Ask first", "abc-00007", 2, 1)


def test_the_output_of_show_and_a_bare_list_are_read_too() -> None:
    bullet = {"id": "les-00001", "section": "lessons", "content": "Draw it", "tags": ["x"]}
    for document in ({"version": 3, "bullets": [bullet]}, [bullet]):
        (found,) = read_bullets(json.dumps(document)).bullets
        assert (found.id, found.content, found.tags) == ("les-00001", "Draw it", ("x",))


def test_a_bad_bullet_is_refused_with_the_reason_and_the_good_ones_are_kept() -> None:
    bullets = [
        {"content": "good"},
        {"content": "bad", "helpful": -1},
        "no object",
        {"id": "a-1", "colour": "red"},
    ]
    reading = read_bullets(json.dumps(bullets))
    assert [add.content for add in reading.bullets] == ["good"]
    assert [refusal.what for refusal in reading.refused] == ["bad", "no object", "a-1"]
    assert len(reading) == 4
    assert "helpful" in reading.refused[0].why


def test_a_text_bullet_that_is_too_long_is_refused() -> None:
    reading = read_bullets(f"- short\n- {'x' * 2001}\n")
    assert [add.content for add in reading.bullets] == ["short"]
    assert "2000" in reading.refused[0].why


@pytest.mark.parametrize(
    "text", ["", "Dear Ben,\nhello.\n", "[]", '{"bullets": []}', '{"a": 1}', "{", "[" * 100_000, "\x00\x01"]
)
def test_a_file_without_a_bullet_is_an_error(text: str) -> None:
    with pytest.raises(FormatError):
        read_bullets(text)


def test_a_newer_file_asks_for_an_upgrade() -> None:
    with pytest.raises(NewerFormat, match="upgrade"):
        read_bullets('{"format": 2, "bullets": [{"content": "x"}]}')


def test_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(FormatError, match=", ".join(each.name for each in FORMATS)):
        read_bullets("- x", "yaml")
