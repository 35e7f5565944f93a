"""Subjects, relations and names of teams: which texts are one, and when two names look the same."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.base import InvalidGrant
from ace_graph.memory import Subject, checked_relation, checked_team, is_team, team_key


@pytest.mark.parametrize("name", ["Ops", "o" * 256, "Zoé", "two words", "a:b", "営業"])
def test_a_name_of_a_team_is_taken_as_it_is(name: str) -> None:
    assert is_team(name)
    assert checked_team(name) == name
    assert Subject.parse(f"team:{name}") == Subject("team", name)
    assert str(Subject("team", name)) == f"team:{name}"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "o" * 257,
        " ops",
        "ops ",
        "a\nb",
        "a\u200bb",
        "a\u2028b",
        "a\ud800",
        "\u0378",
        "Zoe\u0301",
        None,
        7,
    ],
    ids=ascii,
)
def test_any_other_text_is_no_name_of_a_team(name: object) -> None:
    assert not is_team(name)
    with pytest.raises(InvalidGrant, match=r"^a team's name has 1 to 256 visible characters"):
        checked_team(name)
    if isinstance(name, str):
        with pytest.raises(InvalidGrant, match="a team's name"):
            Subject.parse(f"team:{name}")


@pytest.mark.parametrize("name", ["bob", "b" * 256, "a:b", " bob ", "team:ops", "ß"])
def test_any_id_of_a_learner_is_a_user(name: str) -> None:
    assert Subject.parse(f"user:{name}") == ("user", name)


@pytest.mark.parametrize("name", ["", "b" * 257, "a\x00", "a\ud800b", "\udfff"], ids=ascii)
def test_what_can_not_be_the_id_of_a_learner_is_no_user(name: str) -> None:
    with pytest.raises(InvalidGrant, match=r"^user: takes a name of 1 to 256 characters"):
        Subject.parse(f"user:{name}")


@pytest.mark.parametrize("text", ["bob", "group:bob", "User:bob", "", ":", ":bob", None, 7])
def test_a_subject_says_whether_it_is_a_user_or_a_team(text: object) -> None:
    with pytest.raises(InvalidGrant, match=r"^a subject is written user:NAME, team:NAME or agent:NAME"):
        Subject.parse(text)


def test_there_are_four_relations() -> None:
    names = ("viewer", "contributor", "editor", "owner")
    assert tuple(map(checked_relation, names)) == names
    for other in ("Viewer", "admin", "", None):
        with pytest.raises(
            InvalidGrant, match=r"^unknown relation .*: use viewer, contributor, editor or owner$"
        ):
            checked_relation(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ops", "ops"), ("straße", "STRASSE"), ("ﬁnance", "finance"), ("Zoé", "ZOE\u0301"), ("Ⅻ", "xii")],
)
def test_names_that_look_the_same_have_one_key(one: str, other: str) -> None:
    assert team_key(one) == team_key(other)


@given(st.text(max_size=12))
def test_a_key_is_that_of_every_form_and_case_of_a_name(name: str) -> None:
    key = team_key(name)
    assert key == unicodedata.normalize("NFC", unicodedata.normalize("NFKD", name).casefold())
    assert {team_key(unicodedata.normalize(form, name)) for form in ("NFD", "NFC", "NFKC", "NFKD")} == {key}


@pytest.mark.parametrize(("one", "other"), [("ops", "op"), ("Zoé", "Zoe"), ("a b", "ab")])
def test_names_that_look_different_have_two_keys(one: str, other: str) -> None:
    assert team_key(one) != team_key(other)
