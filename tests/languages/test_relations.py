"""Which relation of which subject a text states, and which value."""

from __future__ import annotations

import pytest

from ace_graph.memory.languages import relation_of, same_value


@pytest.mark.parametrize(
    ("text", "name", "subject", "value"),
    [
        ("Ada lives in the city of Rome.", "home", "ada", "Rome"),
        ("Rome is where Ada lives", "home", "ada", "Rome"),
        ("Learner says: I live in Rome", "home", "I", "Rome"),
        ("my home is Rome", "home", "I", "Rome"),
        ("The workshop's deadline is Monday", "deadline", "workshop", "Monday"),
        ("Orsa's place of birth is Graz", "birthplace", "orsa", "Graz"),
        ("The place of birth of Orsa is Graz", "birthplace", "orsa", "Graz"),
        ("The keeper of the lighthouse is Jonas", "the keeper", "lighthouse", "Jonas"),
        ("Ada est née à Rome", "birthplace", "ada", "Rome"),
        ("小乐12岁", "age", "小乐", "12"),
        ("今は札幌に住んでいます", "home", "I", "札幌"),
    ],
)
def test_a_form_tells_relation_subject_and_value(text: str, name: str, subject: str, value: str) -> None:
    found = relation_of(text)
    assert found is not None
    assert (found.name, found.subject, found.value) == (name, subject, value)
    assert found.holds_one


@pytest.mark.parametrize(
    "text",
    [
        "Does Ada live in Rome?",
        "Ada used to live in Rome",
        "Ada no longer lives in Rome",
        "Ada says Bob lives in Rome",
        "If Ada lives in Rome, she takes the bus",
        "She lives in Rome",
        "Ada lives in a small flat",
        "Ada lives in Rome and works at Google",
        "Ada lives in Rome. Bob bakes bread",
        "彼は札幌に住んでいます",
        "Ada lives in " + "Rome" * 100,
        "",
    ],
)
def test_what_is_doubtful_states_nothing(text: str) -> None:
    assert relation_of(text) is None


def test_what_may_hold_many_values_does_not_hold_one() -> None:
    for text in ("Ada speaks French", "Ada likes opera", "Ada's mother is tall", "Ada's friend is Bob"):
        found = relation_of(text)
        assert found is not None
        assert not found.holds_one, text


def test_a_form_that_is_turned_round_may_be_uncertain() -> None:
    by, active = relation_of("The shop is run by Eva"), relation_of("Bob runs the shop")
    assert by is not None
    assert active is not None
    assert (by.certain, active.certain) == (True, False)
    assert by.key == active.key


def test_values_are_the_same_whatever_their_case_and_article() -> None:
    one = relation_of("The owner of the inn is the Baker family")
    other = relation_of("The inn is owned by Baker Family")
    assert one is not None
    assert other is not None
    assert same_value(one, other)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Paris is part of France", "Paris is part of the European Union"),
        ("Lyon belongs to France", "Lyon belongs to the European Union"),
        ("Paris ist ein Teil von Frankreich", "Paris ist Teil von Europa"),
        ("Lyon fait partie de la France", "Lyon fait partie de l'Europe"),
        ("París forma parte de Francia", "París es parte de Europa"),
        ("Lyon appartient à la France", "Lyon appartient à l'Europe"),
    ],
)
def test_a_place_may_be_part_of_several(text: str, other: str) -> None:
    for each in (text, other):
        found = relation_of(each)
        assert found is None or not found.holds_one, each


def test_what_a_place_is_part_of_is_told_of_the_place() -> None:
    found = relation_of("Paris is part of France")
    assert found is not None
    assert (found.name, found.subject, found.value) == ("part", "paris", "France")


def test_a_thing_belongs_to_one() -> None:
    for text in ("The bike belongs to Ada", "Ada's old boat belongs to Bob", "Das Fahrrad gehört Ada"):
        found = relation_of(text)
        assert found is not None
        assert found.holds_one, text
