"""Contest: which failed advice a lesson takes the place of, and what is never contested."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory import Bullet
from ace_graph.memory.delta import (
    Add,
    Archived,
    Judge,
    Pin,
    Quarantine,
    Restore,
    contests,
    repeats,
    shared_subject,
)
from tests.memory.store_scenario import Life

OLD = "When rounding invoice totals, round half up"
NEW = "Invoice totals: rounding is always to the even cent"
OTHER = "Sort travel receipts by the day of the purchase"
TEXTS = (OLD, NEW, OTHER, "When rounding invoice totals, round half down", "Check the units first")


def bullet(content: str, key: str = "str-00001", fields: Mapping[str, object] | None = None) -> Bullet:
    return Bullet.model_validate({"id": key, "section": "strategies", "content": content, **(fields or {})})


@pytest.mark.parametrize(
    ("lesson", "failed", "contested"),
    [
        (NEW, OLD, True),
        ("When rounding invoice totals, round half down", OLD, True),
        (OTHER, OLD, False),
        ("Check the units first", OLD, False),
        ("When rounding invoice totals, always round half up", OLD, False),
    ],
    ids=["same subject", "rival", "another subject", "general advice", "says the same"],
)
def test_a_lesson_contests_failed_advice_on_its_own_subject(
    lesson: str, failed: str, contested: bool
) -> None:
    assert contests(bullet(lesson, "str-00002"), bullet(failed), 0.9) is contested


@pytest.mark.parametrize(
    "fields",
    [{"pinned": True}, {"slot": "name"}, {"section": "preferences"}, {"status": "quarantined"}],
    ids=str,
)
def test_the_core_and_the_quarantine_are_never_contested(fields: dict[str, object]) -> None:
    assert not contests(bullet(NEW, "str-00002"), bullet(OLD, fields=fields), 0.9)


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_the_shared_subject_does_not_depend_on_the_order(a: str, b: str) -> None:
    share = shared_subject(bullet(a), bullet(b))
    assert share == shared_subject(bullet(b), bullet(a))
    assert 0 <= share <= 1


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [
        ("Rounding invoices", "Rounding invoices upwards", 1.0),
        ("Rounding invoices upwards always helps", "Rounding invoices takes red paper clips", 0.5),
        ("Rounding invoices", "Rounding upwards", 0.0),
        ("Rounding", "Rounding", 0.0),
        ("of the", "of the", 0.0),
    ],
)
def test_two_common_terms_are_a_subject_and_one_is_none(a: str, b: str, share: float) -> None:
    assert shared_subject(bullet(a), bullet(b)) == share


def test_two_of_five_terms_are_enough_to_contest() -> None:
    failed = bullet("Rounding invoices needs green paper clips")
    assert shared_subject(failed, bullet("Rounding invoices wants sharp red ink pens")) == 0.4
    assert contests(bullet("Rounding invoices wants sharp red ink pens", "str-00002"), failed, 0.9)
    longer = bullet("Rounding invoices needs green paper clips daily")
    assert not contests(bullet("Rounding invoices wants sharp red ink pens", "str-00002"), longer, 0.9)


def test_a_contested_bullet_is_archived_with_a_link_and_can_be_restored() -> None:
    life = Life()
    [old] = life.does(Add(content=OLD)).report.added
    blame = Judge(turn_id="t", source="tool", verdict="failure", bullet_ids=(old,))
    effect = life.does(blame, Add(content=NEW, ref="n1", contests=(old,)))
    [new] = effect.report.added
    assert [(pair.kept, pair.gone) for pair in effect.report.superseded] == [(new, old)]
    assert effect.report.rejected == ()
    assert life.playbook.tombstones == {old: new}
    [gone] = [change for change in effect.changes if isinstance(change, Archived)]
    assert gone.bullet.harmful == 1, "it keeps what spoke against it"
    life.does(Restore(bullet=gone.bullet))
    assert set(life.playbook.entries) == {old, new}
    assert life.playbook.tombstones == {}


def test_a_lesson_that_was_known_already_supersedes_the_failed_one_too() -> None:
    life = Life()
    [old] = life.does(Add(content=OLD)).report.added
    [known] = life.does(Add(content=NEW)).report.added
    report = life.does(Add(content=NEW, contests=(old,))).report
    assert report.reinforced == (known,)
    assert [(pair.kept, pair.gone) for pair in report.superseded] == [(known, old)]


def test_unknown_contested_ids_are_ignored() -> None:
    life = Life()
    [old] = life.does(Add(content=OLD)).report.added
    report = life.does(Add(content=NEW, contests=("base:1234", "gen-99999", old, old))).report
    assert [pair.gone for pair in report.superseded] == [old]
    assert report.rejected == ()


def test_no_contest_of_a_pinned_bullet_or_by_a_quarantined_lesson() -> None:
    life = Life()
    [pinned] = life.does(Add(content=OLD)).report.added
    life.does(Pin(bullet_id=pinned))
    assert life.does(Add(content=NEW, contests=(pinned,))).report.superseded == ()
    [plain] = life.does(Add(content="Rounding invoice totals: cut off the cents")).report.added
    life.does(Quarantine(bullet_id=life.does(Add(content=OTHER)).report.added[0], why="test"))
    told = Add(content="Rounding invoice totals: keep the cents", status="quarantined", contests=(plain,))
    assert life.does(told).report.superseded == ()


def test_repeats_of_failed_advice_are_superseded_with_their_keywords() -> None:
    life = Life()
    [old] = life.does(Add(content="When rounding invoice totals, use the Harvard style")).report.added
    [clone] = life.does(
        Add(content="The estimated invoice totals: choose the Harvard style for rounding")
    ).report.added
    [other] = life.does(Add(content="Rounding invoice totals is taught in the first lesson")).report.added
    effect = life.does(Add(content="For rounding invoice totals, the right way is red ink", contests=(old,)))
    [new] = effect.report.added
    assert {pair.gone for pair in effect.report.superseded} == {old, clone}
    assert other in life.playbook.entries
    assert "estimated" in life[new].keywords


def test_the_subject_of_a_repeat_may_stand_in_its_keywords() -> None:
    failed = bullet("Rounding invoice totals: Harvard style")
    lesson = bullet("Rounding invoice totals needs red ink", "str-00002")
    named = bullet("Invoice: Harvard style", "oth-00001", {"keywords": ("rounding", "totals")})
    half = bullet("Invoice: Harvard style", "oth-00002", {"keywords": ("rounding",)})
    assert repeats(failed, lesson, [named, half], 0.9) == [named]


def test_half_of_the_claim_and_two_terms_repeat_failed_advice() -> None:
    failed, lesson = bullet("Invoices: Harvard style"), bullet("Invoices need red ink", "str-00002")
    texts = ("Invoices: Harvard", "Invoices: blue", "Harvard", "Harvard style for budgets")
    others = [bullet(text, f"oth-{n:05d}") for n, text in enumerate(texts)]
    assert [other.content for other in repeats(failed, lesson, others, 0.9)] == ["Invoices: Harvard"]


def test_the_same_claim_about_another_subject_is_kept() -> None:
    life = Life()
    [old] = life.does(Add(content="When rounding invoice totals, use the Harvard style")).report.added
    [essay] = life.does(Add(content="For rounding travel budgets, use the Harvard style")).report.added
    effect = life.does(Add(content="Choose red ink for rounding invoice totals", contests=(old,)))
    assert [pair.gone for pair in effect.report.superseded] == [old]
    assert essay in life.playbook.entries


def test_advice_that_the_same_reflection_gives_again_is_upheld() -> None:
    life = Life()
    [old] = life.does(Add(content=OLD)).report.added
    report = life.does(
        Add(content=OLD, contests=(old,)),
        Add(content="Double-check the work when rounding invoice totals", contests=(old,)),
    ).report
    assert report.reinforced == (old,)
    assert report.superseded == ()


def test_a_third_of_the_claim_is_no_repeat() -> None:
    failed = bullet("Invoice totals: Harvard style, blue borders")
    lesson = bullet("Invoice totals need red ink", "str-00002")
    texts = ("Invoice totals: Harvard", "Invoice totals: Harvard style")
    others = [bullet(text, f"oth-{n:05d}") for n, text in enumerate(texts)]
    assert [other.content for other in repeats(failed, lesson, others, 0.9)] == [texts[1]]
