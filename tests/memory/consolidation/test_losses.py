"""What a text lacks of its sources is found: numbers, names, code, links, quotations, negations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory.similarity import items_of
from ace_graph.memory.similarity.losses import losses

SOURCE = 'On 429 from /v2/users wait 5 seconds, allow 3 retries, and never call `get_user()` "too early"'


def _found(source: str, text: str) -> set[tuple[str, str]]:
    return {(loss.kind, loss.item) for loss in losses([source], text)}


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        (SOURCE.replace("429", "an error"), ("number", "429")),
        (SOURCE.replace("/v2/users", "the users"), ("code", "/v2/users")),
        (SOURCE.replace("5 seconds", "5 minutes"), ("number", "5 second")),
        (SOURCE.replace("3 retries", "retries"), ("number", "3")),
        (SOURCE.replace("never call", "call"), ("negation", "not call")),
        (SOURCE.replace("get_user", "get_users"), ("quotation", "get_user()")),
        (SOURCE.replace("too early", "early"), ("quotation", "too early")),
    ],
)
def test_what_is_left_out_is_named(text: str, lost: tuple[str, str]) -> None:
    found = _found(SOURCE, text)
    assert (lost[0], lost[1].casefold()) in {(kind, item.casefold()) for kind, item in found}


def test_a_text_that_holds_all_in_other_words_loses_nothing() -> None:
    text = (
        'Never call `get_user()` "too early"; 3 retries at most, and 5 s of waiting, after a 429 of /v2/users'
    )
    assert losses([SOURCE], text) == ()


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("Ask Grace Hopper about compilers", "name"),
        ("The limit is set by AWS", "name"),
        ("See https://example.org/limits first", "link"),
        ("Set max_retries before the call", "code"),
        ("Pass --dry-run to the tool", "code"),
        ("It says « jamais plus » there", "quotation"),
    ],
)
def test_each_kind_is_an_item(source: str, kind: str) -> None:
    assert kind in {item.kind for item in items_of(source)}
    assert kind in {item.kind for item in losses([source], "Something else")}


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_text_never_loses_what_it_holds(source: str, more: str) -> None:
    assert losses([source], source) == ()
    assert {(each.kind, each.key) for each in losses([source], "x")} <= {
        (each.kind, each.key) for each in items_of(source)
    }
    assert losses([], more) == ()


@pytest.mark.parametrize("text", ['"' * 5_000, "„" * 5_000, "A" * 5_000, "/ " * 5_000])
def test_long_texts_are_read(text: str) -> None:
    assert losses([text], text) == ()
