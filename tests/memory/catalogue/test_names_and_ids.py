"""Names of playbooks and ids of the bullets that a reader sees of them, for any text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ace_graph.base import InvalidPlaybook
from ace_graph.memory import (
    Label,
    Playbook,
    PlaybookRef,
    as_foreign,
    checked_name,
    foreign_prefix,
    is_foreign,
    name_key,
    playbook_of,
    read_only_bullets,
    source_of,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=40)
(BULLET,) = Playbook().add_bullet("lessons", "Draw a bar")[0].bullets()


def _foreign(owner: str, name: str, bullet_id: str) -> str:
    (bullet,) = as_foreign(foreign_prefix(owner, name), [BULLET.model_copy(update={"id": bullet_id})])
    return bullet.id


@given(TEXTS, TEXTS, TEXTS)
def test_a_foreign_id_is_known_as_one_and_holds_nothing_that_ends_it(owner: str, name: str, key: str) -> None:
    made = _foreign(owner, name, key)
    assert is_foreign(made)
    assert made.split() == [made]
    assert not set(made) & set("[],<>\"'`")


@given(st.tuples(TEXTS, TEXTS, TEXTS), st.tuples(TEXTS, TEXTS, TEXTS))
def test_two_bullets_have_two_foreign_ids(one: tuple[str, str, str], two: tuple[str, str, str]) -> None:
    assume(one != two)
    assert _foreign(*one) != _foreign(*two)


@given(
    st.from_regex(r"[a-z]{3}-[0-9]{5}", fullmatch=True)
    | st.sampled_from(["a:b", "x/y", "a/:b", "/a:b", "a/b:"])
)
def test_an_id_of_the_own_memory_is_not_foreign(name: str) -> None:
    assert not is_foreign(name)


@given(TEXTS)
def test_a_name_is_the_same_in_any_case_and_normal_form(text: str) -> None:
    try:
        name = checked_name(text)
    except InvalidPlaybook:
        return
    assert name == unicodedata.normalize("NFC", text)
    assert name_key(name) == name_key(unicodedata.normalize("NFD", name)) == name_key(name.casefold())
    assert checked_name(name) == name


@given(TEXTS, TEXTS)
def test_an_owner_and_a_name_are_read_back(owner: str, text: str) -> None:
    try:
        name = checked_name(text)
    except InvalidPlaybook:
        return
    assert PlaybookRef.parse(f"{owner}/{name}", "somebody") == (owner, name)
    assert PlaybookRef.parse(name, owner) == (owner, name)


@given(st.lists(st.booleans(), max_size=30))
def test_a_label_never_goes_back(replacements: list[bool]) -> None:
    labels = [Label()]
    for replaced in replacements:
        labels.append(labels[-1].after(replaced=replaced))
    assert labels == sorted(set(labels))
    assert labels[1:2] in ([], [Label(1, 0)])


@pytest.mark.parametrize("core", [{"section": "profile"}, {"pinned": True}, {"slot": "name"}], ids=str)
def test_a_bullet_of_the_core_is_no_core_for_a_reader(core: dict[str, object]) -> None:
    mine = BULLET.model_copy(update={"section": "http", **core})
    (bullet,) = as_foreign("ada/api:", [mine])
    (based,) = read_only_bullets(Playbook.of([mine]))
    assert (bullet.section, bullet.pinned, bullet.slot, bullet.core) == ("lessons", False, None, False)
    assert (based.section, based.pinned, based.slot, based.core) == ("lessons", False, None, False)
    assert (bullet.id, based.id) == (f"ada/api:{mine.id}", f"base:{mine.content_hash}")
    plain = BULLET.model_copy(update={"section": "http"})
    assert [
        each.section for each in (*as_foreign("a/b:", [plain]), *read_only_bullets(Playbook.of([plain])))
    ] == [
        "http",
        "http",
    ]


def test_only_active_bullets_are_read_by_others() -> None:
    held = BULLET.model_copy(update={"status": "quarantined"})
    assert as_foreign("a/b:", [held]) == read_only_bullets(Playbook.of([held])) == []


@pytest.mark.parametrize(
    ("bullet_id", "source"),
    [
        ("base:1f8e", None), ("base:", None), ("gen-00001", None), ("ada/api:x", "ada/api"),
        ("ada/api:x:y", "ada/api"), ("a%20b/c:x", "a%20b/c"), ("a b/c:x", None), ("a/b c:x", None),
    ],
)  # fmt: skip
def test_the_source_of_a_bullet_is_what_its_id_begins_with(bullet_id: str, source: str | None) -> None:
    assert source_of(bullet_id) == source
    assert is_foreign(bullet_id) is (source is not None or bullet_id.startswith("base:"))
    assert playbook_of(bullet_id) == (source or ("base" if bullet_id.startswith("base:") else "default"))
