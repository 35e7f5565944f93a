"""The operation Merge passes the guards, unless a person forces it."""

from __future__ import annotations

from typing import Any

import pytest

from ace_graph.memory.delta import Merge
from tests.memory.store_scenario import Life, bullet

BOTH = ("gen-00001", "gen-00002")
BAR = "Draw a bar for every fraction"
Fields = dict[str, Any]  # Any: the fields of a Bullet


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ({"content": "Always retry"}, {"content": "Never retry"}, "don't say the same (negation)"),
        ({"content": "Retry 3 times"}, {"content": "Retry 5 times"}, "don't say the same (number)"),
        ({"content": BAR}, {"content": "Name the unit"}, "don't say the same (too little alike)"),
        ({"content": BAR}, {"content": BAR, "polarity": "anti_pattern"}, "differ in type, polarity"),
        ({"content": BAR, "topic": "fractions"}, {"content": BAR, "topic": "drawing"}, "or topic"),
        ({"content": BAR, "section": "profile"}, {"content": BAR}, "section"),
    ],
)
def test_two_claims_are_not_merged(first: Fields, second: Fields, why: str) -> None:
    life = Life(bullet(1, **first), bullet(2, **second))
    ((op, named, refused),) = life.refuses(Merge(bullet_ids=BOTH))
    assert (op, named) == ("merge", "gen-00001 gen-00002")
    assert why in refused
    assert len(life.playbook) == 2
    assert life.does(Merge(bullet_ids=BOTH, force=True)).report.rejected == (), "a person answers for it"
    assert len(life.playbook) == 1


def test_a_merge_checks_every_pair_before_it_changes_anything() -> None:
    life = Life(bullet(1, BAR), bullet(2, f"{BAR}."), bullet(3, f"Never {BAR.lower()}"))
    effect = life.does(Merge(bullet_ids=(*BOTH, "gen-00003")))
    assert [refusal.why for refusal in effect.report.rejected] == [
        "gen-00001 and gen-00003 don't say the same (negation)"
    ]
    assert effect.changes == ()


def test_bullets_that_say_the_same_are_merged() -> None:
    life = Life(bullet(1, BAR, helpful=1), bullet(2, f"Always {BAR.lower()}."))
    report = life.does(Merge(bullet_ids=BOTH, content=f"Please {BAR.lower()}")).report
    assert [(pair.kept, pair.gone) for pair in report.merged] == [BOTH]
    assert life["gen-00001"].content == f"Please {BAR.lower()}"
    assert life["gen-00001"].consolidated_from == BOTH


def test_the_new_text_of_a_merge_is_guarded_too() -> None:
    life = Life(bullet(1, BAR), bullet(2, f"{BAR}."))
    ((_, _, why),) = life.refuses(Merge(bullet_ids=BOTH, content="Draw no bar for any fraction"))
    assert "the new text don't say the same" in why


@pytest.mark.parametrize("fields", [{"pinned": True}, {"section": "preferences"}])
def test_a_merge_gives_a_bullet_of_the_core_no_other_text(fields: Fields) -> None:
    section = fields.get("section", "general")
    life = Life(bullet(1, BAR, **fields), bullet(2, f"{BAR}.", helpful=9, section=section))
    ((_, _, why),) = life.refuses(Merge(bullet_ids=BOTH, content=f"{BAR}!"))
    assert why == "gen-00001 is in every prompt: its text stays"


def test_a_pinned_bullet_survives_a_merge_with_its_text() -> None:
    life = Life(bullet(1, BAR, pinned=True), bullet(2, f"Always {BAR.lower()}", helpful=9))
    life.does(Merge(bullet_ids=("gen-00002", "gen-00001")))
    (survivor,) = life.playbook.bullets()
    assert (survivor.id, survivor.content, survivor.helpful) == ("gen-00001", BAR, 9)
