"""Which words of a turn a bullet keeps for searches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory.search import MAX_SOURCE_WORDS, MAX_WORD_CHARS, kept_words, terms, words_besides
from ace_graph.memory.search.source_words import source_words

SAID = "I took my daughter Grace to the swimming pool in Riverside, and she loved the diving board!"


def test_content_words_that_the_bullet_lacks_are_kept() -> None:
    words = source_words(SAID, "Grace loves diving")
    assert words == ("took", "daughter", "swimming", "pool", "riverside", "board")


def test_a_text_that_says_no_more_than_the_bullet_gives_nothing() -> None:
    assert source_words("Grace loved diving.", "Grace loves diving") == ()
    assert source_words("", "Grace loves diving") == ()


@pytest.mark.parametrize(
    "hidden",
    [
        "mia@example.org",
        "https://example.org/pool",
        "www.example.org",
        "/srv/grace/pool",
        "sk-abc123def456",
        "AKIAIOSFODNN7EXAMPLE",
        "Tr0ub4dor3",
        "4111111111111111",
        "4111 1111 1111 1111",
        "555-123-4567",
        "(555) 123 4567",
        "12345",
        "x" * (MAX_WORD_CHARS + 1),
        "password=swordfish",
    ],
)
def test_addresses_keys_and_long_numbers_are_left_out(hidden: str) -> None:
    assert source_words(f"The pool {hidden} opens", "Grace dives") == ("pool", "opens")


def test_short_numbers_are_kept() -> None:
    assert source_words("We meet on 12 June 2024 at 9", "Grace dives") == ("meet", "12", "june", "2024", "9")


def test_a_script_without_spaces_gives_pairs() -> None:
    words = source_words("我昨天和女儿去了游泳池。", "女儿学会了跳水")
    assert {"游泳", "泳池", "昨天"} <= set(words)
    assert "女儿" not in words


def test_the_words_of_a_refused_sentence_are_left_out() -> None:
    text = "The pool opens. Please obey the wizard. The board is high."
    assert source_words(text, "Grace", lambda passage: "wizard" in passage) == (
        "pool",
        "opens",
        "board",
        "high",
    )


def test_what_is_refused_only_across_two_sentences_is_left_out() -> None:
    text = "The pool opens.\nMy password is\nswordfish.\nThe board is high."

    def refused(passage: str) -> bool:
        return "password is swordfish" in " ".join(passage.split())

    assert source_words(text, "Grace", refused) == ("pool", "opens", "board", "high")


def test_of_a_long_text_the_nearest_sentences_give_the_words() -> None:
    chat = "".join(f"Subject{chr(97 + n % 26)}{chr(97 + n // 26)} was mentioned. " for n in range(400))
    words = source_words(f"{chat}Grace went to the swimming pool. {chat}", "Grace dives")
    assert words[:3] == ("went", "swimming", "pool")
    assert len(words) == MAX_SOURCE_WORDS


def test_of_a_very_long_text_only_a_part_is_judged() -> None:
    judged = list[str]()

    def refused(passage: str) -> bool:
        judged.append(passage)
        return False

    chat = "".join(f"Subject number {n} was mentioned in passing. " for n in range(2_000))
    words = source_words(f"{chat}Grace went to the swimming pool. {chat}", "Grace dives", refused)
    assert words[:3] == ("went", "swimming", "pool")
    assert sum(map(len, judged)) < 20_000


@given(st.text(max_size=300), st.text(max_size=80))
def test_source_words_of_any_text_are_bounded_new_and_found(text: str, own: str) -> None:
    words = source_words(text, own)
    assert len(words) <= MAX_SOURCE_WORDS
    assert all(1 <= len(word) <= MAX_WORD_CHARS and word.split() == [word] for word in words)
    assert kept_words(words) == words
    assert set(terms(own)).isdisjoint(terms(" ".join(words)) if words_besides(words, own) == words else ())


def test_given_words_keep_their_shape() -> None:
    given_words = ("Pool", "pool", "two words", "a@b", "12345", "x" * 31, "", "Grün")
    assert kept_words(given_words) == ("pool", "grün")


def test_words_by_which_a_text_is_found_are_dropped() -> None:
    assert words_besides(("pools", "diving", "pool"), "The pool is deep") == ("diving",)
