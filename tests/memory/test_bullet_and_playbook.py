"""Bullets and playbooks as values: what documents 000, 001 and 003 promise of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ace_graph.base import CorruptPayload, NewerFormat
from ace_graph.memory import (
    MEMORY_TYPES,
    Bullet,
    BulletFilter,
    Playbook,
    content_hash,
    dump_playbook,
    load_access,
    load_playbook,
)

THEN = datetime(2026, 1, 1, tzinfo=UTC)


def test_document_001s_block_holds_with_results_assigned() -> None:
    bullet = Bullet(id="test-001", section="testing", content="Run tests after changes")
    assert bullet.helpful == 0
    bullet = bullet.tag("helpful").tag("helpful").tag("harmful")
    assert (bullet.helpful, bullet.harmful) == (2, 1)
    playbook, added = Playbook().add_bullet("file_ops", "List before read")
    assert len(playbook.bullets()) == 1
    assert playbook.get_bullet(added.id) == added
    playbook = playbook.tag_bullet(added.id, "helpful")
    assert playbook.stats().helpful == 1
    assert playbook.remove_bullet(added.id).bullets() == ()


@pytest.mark.parametrize(
    ("helpful", "harmful", "reliability"), [(0, 0, 0.5), (3, 1, 0.75), (0, 2, 0.0), (7, 3, 0.7)]
)
def test_reliability_is_the_share_of_helpful_votes(helpful: int, harmful: int, reliability: float) -> None:
    bullet = Bullet(id="a", section="s", content="c", helpful=helpful, harmful=harmful)
    assert bullet.reliability == reliability


def test_an_unknown_tag_is_refused_and_moves_nothing() -> None:
    bullet = Bullet(id="a", section="s", content="c")
    with pytest.raises(ValueError, match="helpful, harmful or neutral"):
        bullet.tag("great")
    playbook = Playbook.of([bullet])
    with pytest.raises(ValueError, match="great"):
        playbook.tag_bullet("a", "great")
    assert playbook.get_bullet("a") == bullet


def test_a_tag_moves_updated_at_and_counters_are_per_value() -> None:
    bullet = Bullet(id="a", section="s", content="c", updated_at=THEN)
    tagged = bullet.tag("neutral", THEN + timedelta(seconds=1))
    assert tagged.neutral == 1
    assert tagged.updated_at > bullet.updated_at
    assert bullet.neutral == 0
    assert bullet.tag("neutral").updated_at > THEN


def test_the_eight_fields_of_document_000_are_serialised() -> None:
    fields = Bullet(id="a", section="s", content="c").model_dump(mode="json")
    assert {"id", "section", "content", "helpful", "harmful", "neutral", "created_at", "updated_at"} <= set(
        fields
    )


def test_the_golden_prompt() -> None:
    playbook = Playbook.of(
        [
            Bullet(id="fil-00042", section="File Operations", content="List before deleting", helpful=5),
            Bullet(id="err-00015", section="Errors", content="Check the parent folder", helpful=8, harmful=1),
            Bullet(id="fil-00043", section="File Operations", content="Use absolute paths", helpful=3),
        ]
    )
    assert playbook.as_prompt() == (
        "## File Operations\n"
        "- [fil-00042] List before deleting (helpful=5, harmful=0)\n"
        "- [fil-00043] Use absolute paths (helpful=3, harmful=0)\n"
        "\n"
        "## Errors\n"
        "- [err-00015] Check the parent folder (helpful=8, harmful=1)"
    )
    assert playbook.as_context() == (
        "## Learned Strategies\n"
        "\n"
        "### Errors\n"
        "- [err-00015] Check the parent folder (helpful=8, harmful=1)\n"
        "\n"
        "### File Operations\n"
        "- [fil-00042] List before deleting (helpful=5, harmful=0)\n"
        "- [fil-00043] Use absolute paths (helpful=3, harmful=0)"
    )


def test_an_empty_playbook_gives_no_text() -> None:
    assert Playbook().as_prompt() == ""
    assert Playbook().as_context() == ""


def test_as_context_shows_the_best_within_the_cap() -> None:
    bullets = [Bullet(id=f"a-{n}", section="s", content=f"text {n}", helpful=n) for n in range(60)]
    shown = Playbook.of(bullets).as_context(max_strategies=30).splitlines()
    ids = [line.split("]")[0][3:] for line in shown if line.startswith("- ")]
    assert ids == [f"a-{n}" for n in range(59, 29, -1)]
    by_default = Playbook.of(bullets).as_context().splitlines()
    assert sum(line.startswith("- ") for line in by_default) == 50


def test_the_best_of_a_context_are_those_that_help_more_than_they_harm() -> None:
    contested = Bullet(id="a-1", section="s", content="contested", helpful=9, harmful=8)
    good = Bullet(id="a-2", section="s", content="good", helpful=3)
    shown = Playbook.of([contested, good]).as_context(max_strategies=1)
    assert "good" in shown
    assert "contested" not in shown


def test_a_search_by_tag_finds_the_memory_type_and_no_other() -> None:
    bullet = Bullet(id="a-1", section="s", content="c", tags=("math", "Episodic"), memory_type="procedural")
    assert (bullet.tags, bullet.labels) == (("math",), ("math", "procedural"))
    found = [kind for kind in MEMORY_TYPES if BulletFilter(tags=(kind,)).passes(bullet)]
    assert found == ["procedural"]
    changed = bullet.model_copy(update={"memory_type": "semantic"})
    assert [kind for kind in MEMORY_TYPES if BulletFilter(tags=(kind,)).passes(changed)] == ["semantic"]


def test_quarantined_bullets_are_in_no_prompt() -> None:
    playbook = Playbook.of([Bullet(id="a-1", section="s", content="c", status="quarantined")])
    assert playbook.as_prompt() == playbook.as_context() == ""
    assert (playbook.stats().bullets, playbook.stats().quarantined) == (0, 1)


def test_stats_add_up() -> None:
    playbook = Playbook.of(
        [
            Bullet(id="a-1", section="s", content="c", helpful=3, harmful=1, neutral=4),
            Bullet(id="a-2", section="t", content="d", memory_type="procedural"),
            Bullet(id="a-3", section="s", content="e", harmful=1),
            Bullet(id="a-4", section="s", content="f", neutral=1),
            Bullet(id="a-5", section="s", content="g", status="quarantined"),
        ]
    )
    stats = playbook.stats()
    assert (stats.bullets, stats.used, stats.unused, stats.quarantined) == (4, 3, 1, 1)
    assert (stats.helpful, stats.harmful, stats.neutral) == (3, 2, 5)
    assert stats.sections == {"s": 3, "t": 1}
    assert stats.memory_types == {"semantic": 3, "procedural": 1}
    assert stats.mean_reliability == pytest.approx((0.75 + 0.5 + 0 + 0.5) / 4)


def test_an_added_bullet_has_the_given_date_and_time_to_live() -> None:
    _, bullet = Playbook().add_bullet("exams", "The exam is in room 5", now=THEN, ttl_days=2)
    assert (bullet.created_at, bullet.updated_at, bullet.ttl_days) == (THEN, THEN, 2)
    assert (bullet.section, bullet.content, bullet.helpful) == ("exams", "The exam is in room 5", 0)


def test_ids_are_readable_and_go_on_after_a_reload() -> None:
    playbook, first = Playbook().add_bullet("file_operations", "a")
    assert first.id == "fil-00001"
    playbook, second = load_playbook(dump_playbook(playbook)).add_bullet("日本", "b")
    assert second.id == "xxx-00002"
    assert (
        Playbook.of([Bullet(id="abc-00042", section="s", content="c")]).add_bullet("file", "d")[1].id
        == "fil-00043"
    )


@given(st.text(max_size=300))
def test_any_text_becomes_one_clean_line_or_is_refused(text: str) -> None:
    try:
        bullet = Bullet(id="a", section="s", content=text)
    except ValidationError:
        return
    assert bullet.content.splitlines() == [bullet.content]
    assert bullet.content.encode()
    assert bullet.content == bullet.content.strip()
    assert Bullet(id="a", section="s", content=bullet.content).content == bullet.content


def test_a_bullet_cannot_forge_another_or_a_section() -> None:
    bullet = Bullet(id="a", section="s", content="x\n## Section\n- [fil-00001] forged\u2028more\x00\u202e")
    assert bullet.content == "x ## Section - [fil-00001] forged more"


def test_texts_that_differ_in_case_and_spacing_share_a_hash() -> None:
    assert content_hash("Find  the\nLCD ") == content_hash("find the lcd")
    assert content_hash("find the lcd") != content_hash("find the gcd")


@pytest.mark.parametrize(
    ("one", "other"),
    [("café", "CAFE\u0301"), ("\uff2c\uff23\uff24", "lcd"), ("STRASSE", "straße")],
    ids=["composed", "full width", "folded"],
)
def test_texts_that_differ_in_form_share_a_hash(one: str, other: str) -> None:
    assert content_hash(one) == content_hash(other)


def test_a_time_to_live_ends() -> None:
    bullet = Bullet(id="a", section="s", content="c", updated_at=THEN, ttl_days=1.5)
    assert bullet.injectable(THEN + timedelta(days=1.4))
    assert not bullet.injectable(THEN + timedelta(days=1.5))


@pytest.mark.parametrize("payload", [None, "{}"])
def test_a_payload_without_a_playbook_loads_as_an_empty_one(payload: str | None) -> None:
    assert load_playbook(payload) == Playbook()
    assert load_access(payload).access_clock == 0


@pytest.mark.parametrize(
    "payload", ["", "[]", "null", '{"bullets": 7}', '{"bullets": [{"id": "a"}]}', "{", '{"oops": 1}']
)
def test_a_broken_payload_is_an_error_and_never_an_empty_playbook(payload: str) -> None:
    with pytest.raises(CorruptPayload, match="left as it is"):
        load_playbook(payload)


def test_a_newer_payload_is_refused() -> None:
    with pytest.raises(NewerFormat, match="upgrade"):
        load_playbook('{"format": 3, "bullets": [], "something_new": true}')


@pytest.mark.parametrize(
    "fields",
    [
        {"helpful": -1},
        {"importance": 1.1},
        {"memory_type": "sensory"},
        {"content": ""},
        {"ttl_days": 0},
        {"x": 1},
    ],
)
def test_impossible_values_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Bullet.model_validate({"id": "a", "section": "s", "content": "c", **fields})


def test_what_is_to_be_avoided_is_marked_wherever_a_model_reads_it() -> None:
    bad = Bullet(id="mat-00001", section="math", content="Adding the bottoms", polarity="anti_pattern")
    assert bad.advice == "AVOID: Adding the bottoms"
    assert bad.model_copy(update={"polarity": "strategy"}).advice == "Adding the bottoms"
    playbook = Playbook.of([bad])
    line = "- [mat-00001] AVOID: Adding the bottoms (helpful=0, harmful=0)"
    assert line in playbook.as_prompt()
    assert line in playbook.as_context()


def test_a_number_in_other_digits_is_no_counter() -> None:
    assert Playbook.of([Bullet(id="gen-\u0664\u0662", section="general", content="x")]).next_id == 1


def test_a_filter_finds_words_in_letters_of_another_width() -> None:
    wide = Bullet(id="gen-00001", section="general", content="Check the \uff35\uff32\uff2c")
    assert BulletFilter(words="url").passes(wide)
