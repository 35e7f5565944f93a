"""Stop words: which words of a question say what it is about, and which only say that somebody asks."""

from __future__ import annotations

import pytest

from ace_graph.memory.search import terms


@pytest.mark.parametrize(
    ("said", "asked", "language"),
    [
        ("I think I already told you something about kettles yesterday, sorry", "kettles", "english"),
        ("Wofür braucht man eigentlich Dünger?", "Dünger", "german"),
        ("Il faut toujours, je dois dire, tailler les rosiers ?", "dire tailler rosiers", "french"),
        ("Creo que todavía debo afinar la guitarra", "afinar guitarra", "spanish"),
    ],
)
def test_words_that_only_ask_are_no_terms(said: str, asked: str, language: str) -> None:
    assert terms(said) == terms(asked, language)


def test_content_words_like_mean_and_kind_are_terms() -> None:
    assert "mean" in terms("How do I get the mean of these values?")
    assert terms("Das Kind ist in der Schule") == terms("Kind Schule", "german")
