"""Chat words are terms that the tokenizer gives, and words of subjects are none of them."""

from __future__ import annotations

import pytest

from ace_graph.memory.languages import SPACELESS, chat_words, languages
from ace_graph.memory.search import chat_terms, language_of, terms


@pytest.mark.parametrize("language", languages("chat"))
def test_every_chat_word_is_read_by_the_tokenizer(language: str) -> None:
    words = chat_words(language)
    assert 60 <= len(words) <= 170
    spoken = "english" if language in SPACELESS else language
    assert [word for word in sorted(words) if not terms(word, spoken)] == []
    assert {term for word in words for term in terms(word, spoken)} <= chat_terms(spoken)


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Quick question, could you walk me through my homework about osmosis?", "osmosi"),
        ("Kannst du mir kurz bei einer Frage zu Primzahlen helfen?", "primzahl"),
        ("Est-ce que tu peux m'aider avec un exercice sur la photosynthèse ?", "photosynthes"),
        ("Tengo una duda, ¿me explicas los logaritmos?", "logaritm"),
        ("Tenho uma dúvida sobre triângulos, podes ajudar?", "triangul"),
        ("Scusa, non capisco le derivate, mi puoi spiegare?", "der"),
        ("Ik snap mijn huiswerk over vulkanen niet, kun je even helpen?", "vulkaan"),
        ("Подскажите, пожалуйста, у меня вопрос про интегралы", "интеграл"),
        ("请问可以帮我解释光合作用吗？", "光合"),
        ("すみません、微分について教えてください", "微分"),
    ],
)
def test_what_is_left_of_a_question_is_its_subject(question: str, subject: str) -> None:
    chat = chat_terms(language_of(question))
    left = [term for term in terms(question) if term not in chat]
    assert subject in left
    assert len(left) < len(terms(question))


def test_a_language_without_a_list_has_no_chat_words() -> None:
    assert chat_words("klingon") == frozenset()
    assert "解释" in chat_terms("swedish")
