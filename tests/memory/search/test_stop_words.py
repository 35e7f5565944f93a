"""Which words of a question ask for something, and which only say that somebody asks."""

from __future__ import annotations

import pytest

from ace_graph.memory.search.tokenize import terms


@pytest.mark.parametrize(
    ("said", "asked", "language"),
    [
        ("I think I already told you something about kettles yesterday, sorry", "kettles", "english"),
        ("Wofür braucht man eigentlich Dünger?", "Dünger", "german"),
        ("Il faut toujours, je dois dire, tailler les rosiers ?", "dire tailler rosiers", "french"),
        ("Creo que todavía debo afinar la guitarra", "afinar guitarra", "spanish"),
    ],
)
def test_talk_around_a_question_is_no_term(said: str, asked: str, language: str) -> None:
    assert terms(said) == terms(asked, language)


def test_a_mean_is_something_to_ask_for_and_a_child_is_in_german() -> None:
    assert "mean" in terms("How do I get the mean of these values?")
    assert terms("Das Kind ist in der Schule") == terms("Kind Schule", "german")
