"""Which words may change places without another claim: parts of a list, a phrase, a clause, a little else."""

from __future__ import annotations

from itertools import product

import pytest

from ace_graph.memory import Bullet
from ace_graph.memory.similarity import ClaimComparison
from ace_graph.memory.similarity.compare import compare

ONE = ("salt", "brown sugar", "dry white wine")
OTHER = ("pepper", "olive oil", "thick sour cream")


def bullet(content: str, slot: str | None = None) -> Bullet:
    return Bullet(id="str-00001", section="strategies", content=content, slot=slot)


def compared(a: str, b: str) -> ClaimComparison:
    found = compare(bullet(a), bullet(b), 0.9)
    assert found == compare(bullet(b), bullet(a), 0.9)
    return found


@pytest.mark.parametrize(("one", "other", "joint"), list(product(ONE, OTHER, ("and", "or"))))
def test_up_to_three_words_on_each_side_of_a_list_change_places(one: str, other: str, joint: str) -> None:
    listed = f"Store {{}} {joint} {{}} under the kitchen window"
    assert compared(listed.format(one, other), listed.format(other, one)).outcome == "same"


def test_a_word_of_a_list_does_not_leave_it() -> None:
    listed = "Store {} and {} under the {} window"
    other = compared(listed.format("salt", "pepper", "kitchen"), listed.format("kitchen", "pepper", "salt"))
    assert other.outcome == "rival"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("With a warm spoon stir the cold soup", "Stir the cold soup with a warm spoon"),
        ("After the third lesson, ask for a picture", "Ask for a picture after the third lesson"),
    ],
)
def test_a_phrase_behind_a_preposition_moves_from_one_end_to_the_other(a: str, b: str) -> None:
    assert compared(a, b).outcome == "same"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The cold soup stirs a warm spoon", "A warm spoon stirs the cold soup"),
        ("Stir the cold soup with a warm spoon", "Stir a warm spoon with the cold soup"),
    ],
)
def test_words_without_a_joint_keep_their_order(a: str, b: str) -> None:
    found = compared(a, b)
    assert found.outcome == "rival"
    assert found.guard in ("order", "direction")


@pytest.mark.parametrize(
    ("a", "b"), [("Ada", "Grace"), ("Ada", "Ada Lovelace"), ("Ada of London", "Ada of Paris")]
)
def test_two_values_of_one_slot_are_rivals_whatever_their_words(a: str, b: str) -> None:
    found = compare(bullet(a, "name"), bullet(b, "name"), 0.9)
    assert found.outcome == "rival"
    assert found.guard == ("slot" if found.score == 0 else "words")
    assert compare(bullet(a, "name"), bullet(b, "goal"), 0.9).outcome == "different"
    assert compare(bullet(a, "name"), bullet(b), 0.9).outcome == "different"
