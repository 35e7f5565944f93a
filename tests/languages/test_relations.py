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
