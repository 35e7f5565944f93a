"""Mixed languages, emoji alone, and languages that no table knows: no error, and nothing is made up."""

from __future__ import annotations

import pytest

from ace_graph.learning import doubts, is_platitude, read_feedback
from ace_graph.learning.statements import read_statements
from ace_graph.memory import Playbook
from ace_graph.memory.languages import guess_language, languages, likely_languages, spoken_language
from ace_graph.memory.screening.screen import screen
from tests.memory.retrieval.queries import ask, bullet, ids

TEXTS = [
    "",
    "👍🏽",
    "🙂🙂🙂 🎉",
    "¯\\_(ツ)_/¯",
    "Ich think que c'est 不错 はい да",
    "Tama ba ang sagot na ito?",
    "Vastaus on väärin, se on viisi.",
    "መልሱ ትክክል ነው።",
    "الجواب صحيح",
    "उत्तर सही है",
    "\u202e\u0000\ufeff",
    "\ud83d",
    "é " * 10_000,
    "。" * 20_000,
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_of_any_kind_is_read_without_an_error(text: str) -> None:
    assert spoken_language(text) in languages("persons")
    assert set(likely_languages(text)) <= set(languages("persons"))
    assert guess_language(text.split())
    assert read_feedback(text, "The answer is 5.") is None
    assert not doubts(text)
    assert read_statements(text, Playbook(), "t") == []
    assert screen(text) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Ich wohne in Rome, and you?", "german"),
        ("I live in München", "english"),
        ("请解释 photosynthesis", "chinese"),
        ("これは photosynthesis の質問です", "japanese"),
        ("🙂 J'habite à Rome 🙂", "french"),
    ],
)
def test_a_mixed_line_has_the_language_of_most_of_its_words(text: str, language: str) -> None:
    assert spoken_language(text) == language


def test_statements_beside_another_language_are_kept() -> None:
    found = read_statements("Ich heiße Sam. What is photosynthesis? 🙂", Playbook(), "t")
    assert [each.words for each in found] == ["Ich heiße Sam"]


@pytest.mark.parametrize(
    ("right", "wrong", "question"),
    [
        ("Yhteenlasku: etsi yhteinen nimittäjä", "Kertolasku: kerro osoittajat", "Mikä on nimittäjä?"),
        ("Pagsasama: hanapin ang kaparehong panghati", "Pagbawas: bilangin ang daliri", "Ano ang panghati?"),
        ("भिन्न जोड़ने के लिए समान हर खोजो", "अंश गिनो", "भिन्न का समान हर क्या है?"),
        ("ክፍልፋይ ለመደመር የጋራ አካፋይ ፈልግ", "ማባዛት ቁጥር", "የጋራ አካፋይ ምንድን ነው?"),
    ],
)
def test_a_playbook_in_a_language_that_no_table_knows_is_found(right: str, wrong: str, question: str) -> None:
    found = ids(ask([bullet("wrong", wrong), bullet("right", right)], question))
    assert found[:1] == ["right"]
    assert not is_platitude(right)
