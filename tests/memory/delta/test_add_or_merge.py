"""Adding bullets: ids, reinforcement, profile slots, refusals, and the cap."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import ValidationError

from ace_graph.memory import MAX_CONTENT_CHARS, Policy
from ace_graph.memory.delta import Add, Effect, Remove, Supersede, Tag, Touch, Update
from ace_graph.testing.conformance import NOON
from tests.memory.store_scenario import Life, bullet


def test_an_added_bullet_gets_an_id_of_its_section_and_the_counter() -> None:
    life = Life()
    report = life.does(
        Add(content="Draw a bar", section="filters"), Add(content="Name it", section="Ölfarben")
    ).report
    assert report.added == ("fil-00001", "olf-00002")
    assert life.playbook.next_id == 3
    assert life["fil-00001"].created_at == life["fil-00001"].updated_at == NOON + timedelta(minutes=1)
    assert life["fil-00001"].seen == 1


def test_an_id_is_never_given_twice_after_a_removal() -> None:
    life = Life()
    life.does(Add(content="Draw a bar"))
    life.does(Remove(bullet_id="gen-00001"))
    assert life.does(Add(content="Name the unit")).report.added == ("gen-00002",)


def test_a_requested_id_is_given_when_it_was_certainly_never_used() -> None:
    life = Life(bullet(3))
    effect = life.does(
        Add(content="Draw a bar", id="abc-00009"),
        Add(content="Name the unit", id="gen-00002"),
        Add(content="Estimate first", id="abc-00009"),
        Add(content="Simplify at the end", id="free text"),
    )
    assert effect.report.added == ("abc-00009", "gen-00010", "gen-00011", "gen-00012")


def test_an_id_without_a_number_is_given_only_before_the_first_bullet() -> None:
    life = Life()
    wished = [Add(content=text, id=name) for text, name in (("Draw a bar", "one"), ("Name the unit", "two"))]
    assert life.does(*wished).report.added == ("one", "two")
    assert life.playbook.next_id == 2, "so that no later delta gives such an id"
    assert life.does(Add(content="Estimate first", id="three")).report.added == ("gen-00002",)
    life = Life()
    life.does(Add(content="Draw a bar"), Remove(bullet_id="gen-00001"))
    assert life.does(Add(content="Estimate first", id="three")).report.added == ("gen-00002",)


def test_an_id_with_the_number_of_the_counter_is_given() -> None:
    life = Life(bullet(3))
    assert life.does(Add(content="Draw a bar", id="abc-00004")).report.added == ("abc-00004",)
    assert life.playbook.next_id == 5
    again = life.does(Add(content="Name the unit", id="abc-00004"), Add(content="Estimate", id="x-00007"))
    assert again.report.added == ("gen-00005", "x-00007")


def test_an_id_that_this_delta_gave_and_took_back_is_not_given_again() -> None:
    first, again = Add(content="Draw a bar"), Add(content="Name the unit", id="gen-00001")
    assert Life().does(first, Remove(bullet_id="gen-00001"), again).report.added == ("gen-00001", "gen-00002")


@pytest.mark.parametrize("wanted", ["a\nb-00007", "base:ab-00007", "x" * 128 + "-00007", " gen-00007"])
def test_a_requested_id_that_no_playbook_should_hold_is_not_given(wanted: str) -> None:
    life = Life()
    assert life.does(Add(content="Draw a bar", id=wanted)).report.added == ("gen-00001",)


def test_the_ref_of_an_addition_names_it_for_later_operations() -> None:
    life = Life(bullet(1))
    effect = life.does(
        Add(content="Draw a bar", ref="n1"),
        Tag(bullet_id="n1", tag="helpful"),
        Supersede(bullet_id="gen-00001", by="n1"),
    )
    assert effect.report.refs == {"n1": "gen-00002"}
    assert list(life.playbook.entries) == ["gen-00002"]
    assert life["gen-00002"].helpful == 1


def test_a_lesson_that_comes_again_reinforces_and_is_never_cloned() -> None:
    life = Life()
    life.does(Add(content="Draw a bar for every fraction", helpful=2, tags=("bars",)))
    again = Add(
        content="draw a bar  for every fraction", tags=("drawing",), topic="fractions", helpful=1, ref="n1"
    )
    report = life.does(again).report
    assert (report.added, report.reinforced, report.refs) == ((), ("gen-00001",), {"n1": "gen-00001"})
    assert life["gen-00001"].content == "Draw a bar for every fraction"
    assert (life["gen-00001"].seen, life["gen-00001"].helpful) == (2, 3)
    assert life["gen-00001"].tags == ("bars", "drawing")
    assert life["gen-00001"].topic == "fractions"


def test_reinforcing_is_no_consolidation() -> None:
    life = Life()
    life.does(Add(content="Draw a bar"))
    life.does(Add(content="Draw a bar"))
    assert (life["gen-00001"].seen, life["gen-00001"].consolidated_from) == (2, ())


def test_the_same_lesson_twice_in_one_delta_is_one_bullet() -> None:
    life = Life()
    lesson = Add(content="Draw a bar for every fraction before you add them")
    report = life.does(lesson, lesson).report
    assert (report.added, report.reinforced) == (("gen-00001",), ("gen-00001",))
    assert life["gen-00001"].seen == 2


def test_another_number_is_another_lesson() -> None:
    life = Life(bullet(1, "The least common multiple of 2 and 3 is 6"))
    report = life.does(Add(content="The least common multiple of 2 and 5 is 10")).report
    assert report.added == ("gen-00002",)


def test_a_profile_slot_holds_one_value_and_the_latest_supersedes() -> None:
    life = Life()
    life.does(Add(content="Call me Ada", section="profile", slot="name"))
    report = life.does(Add(content="Call me Grace", section="profile", slot="name")).report
    assert [(pair.kept, pair.gone) for pair in report.superseded] == [("pro-00002", "pro-00001")]
    assert [b.content for b in life.playbook.bullets()] == ["Call me Grace"]
    assert life.refuses(Tag(bullet_id="pro-00001", tag="helpful")) == [("tag", "pro-00001", "superseded")]


def test_the_same_value_of_a_slot_said_again_reinforces() -> None:
    life = Life()
    name = Add(content="Call me Ada", section="profile", slot="name")
    life.does(name)
    assert life.does(name).report.reinforced == ("pro-00001",)
    assert life["pro-00001"].seen == 2


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (Add(content=" \n\u200b "), "empty text"),
        (Add(content="x" * (MAX_CONTENT_CHARS + 1)), f"longer than {MAX_CONTENT_CHARS} characters"),
        (Add(content="Draw a bar", section="x" * 101), "invalid section"),
        (Add(content="Draw a bar", topic="x" * 257), "invalid topic"),
        (Add(content="Draw a bar", section=""), "invalid section"),
    ],
)
def test_an_addition_that_is_no_bullet_is_refused(operation: Add, why: str) -> None:
    life = Life()
    (refusal,) = life.refuses(operation)
    assert refusal == ("add", operation.content[:128], why)
    assert life.does(Add(content="Name the unit")).report.added == ("gen-00001",)


@pytest.mark.parametrize("ttl_days", [0, -1, float("inf"), float("nan"), 1e300])
def test_a_time_to_live_beyond_the_calendar_is_refused(ttl_days: float) -> None:
    with pytest.raises(ValidationError):
        Add(content="Draw a bar", ttl_days=ttl_days)
    with pytest.raises(ValidationError):
        Update(bullet_id="gen-00001", ttl_days=ttl_days)
    with pytest.raises(ValidationError):
        bullet(1, ttl_days=ttl_days)


def _pruned(effect: Effect) -> list[str]:
    return [pruned.id for pruned in effect.report.pruned]


def test_beyond_the_cap_the_weakest_are_archived_and_the_core_never() -> None:
    life = Life(
        bullet(1, helpful=5),
        bullet(2, harmful=3),
        bullet(3, harmful=3, pinned=True),
        bullet(4, harmful=3, section="profile"),
        bullet(5),
        policy=Policy(max_bullets=4),
    )
    effect = life.does(Add(content="Draw a bar", helpful=1))
    assert _pruned(effect) == ["gen-00002", "gen-00005"]
    assert set(life.playbook.entries) == {"gen-00001", "gen-00003", "gen-00004", "gen-00006"}


def test_of_equally_strong_bullets_the_less_helpful_goes_and_of_these_the_oldest() -> None:
    """The order of the baseline, where the strength decides nothing."""
    early, late = NOON - timedelta(days=9), NOON - timedelta(days=1)
    life = Life(
        bullet(1, helpful=2, harmful=2, created_at=late),
        bullet(2, helpful=1, harmful=1, created_at=early),
        bullet(3, helpful=2, harmful=2, created_at=early),
        bullet(4, helpful=2, created_at=early),
        policy=Policy(max_bullets=5),
    )
    gone = [_pruned(life.does(Add(content=f"Rule {n} has {n * 11} parts", helpful=9))) for n in range(1, 5)]
    assert gone == [[], ["gen-00002"], ["gen-00003"], ["gen-00001"]]


def test_a_core_larger_than_the_cap_stays_whole() -> None:
    life = Life(policy=Policy(max_bullets=1))
    for n in range(3):
        life.does(Add(content=f"Fact {n} is about {n * 7}", pinned=True))
    assert len(life.playbook) == 3
    assert _pruned(life.does(Add(content="Draw a bar"))) == ["gen-00004"]


def test_unused_bullets_are_archived_before_used_ones() -> None:
    life = Life(policy=Policy(max_bullets=2))
    life.does(Add(content="Fact 1 is about 7"), Add(content="Fact 2 is about 14"))
    for _ in range(5):
        life.does(Touch(bullet_ids=("gen-00001",)))
    assert _pruned(life.does(Add(content="Draw a bar"))) == ["gen-00002"]


def test_a_large_import_compares_only_what_is_alike() -> None:
    """A thousand lessons in one delta are nominated by the index, not compared pair by pair."""
    life = Life()
    lessons = [Add(content=f"{word(n)} {word(n + 7)} explains {word(n + 31)}") for n in range(1_000)]
    report = life.does(*lessons, *lessons[:10]).report
    assert (len(report.added), len(report.reinforced)) == (1_000, 10)


def word(number: int) -> str:
    """Return a made-up word; numbers below 10,000 give different ones."""
    syllables = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu")
    return "".join(syllables[int(digit)] for digit in f"{number:04d}")
