"""Content terms: the same for a bullet and for a question, in any script."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory.languages import guess_language
from ace_graph.memory.search import content_words, terms


def shared(a: str, b: str) -> set[str]:
    return set(terms(a)) & set(terms(b))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("add 1/2 to it", "1/2"),
        ("pi is 3.14", "3.14"),
        ("take 50% off", "50%"),
        ("1,000 samples", "1000"),
        ("½ cup", "1/2"),
        ("٣ apples", "3"),
        ("the 3rd try", "3rd"),
    ],
)
def test_numbers_stay_whole(text: str, number: str) -> None:
    assert number in terms(text)


def test_a_mixed_number_is_separate_from_its_fraction() -> None:
    assert terms("2½") == ("2", "1/2")


@pytest.mark.parametrize(
    ("question", "bullet"),
    [
        ("How do I add fractions?", "Adding a fraction needs a common denominator"),
        ("Wie addiere ich Brüche?", "Brüche addieren: erst den Hauptnenner bestimmen"),
        ("¿Cómo sumo las fracciones?", "Sumar una fracción con la otra es fácil"),
        ("Как сложить дроби?", "Дробь сложить с дробью"),
        ("分数の足し算はどうやりますか", "足し算の前に通分する"),
        ("如何将两个分数相加", "分数相加要先通分"),
        ("분수 덧셈은 어떻게 하나요", "분수의 덧셈은 통분부터"),
        ("บวกเศษส่วนอย่างไร", "เศษส่วนต้องมีตัวส่วนเท่ากัน"),
        ("भिन्न कैसे जोड़ें", "भिन्न जोड़ने का नियम"),
        ("Où est l'hôpital?", "L'hopital est à Lyon"),
    ],
)
def test_a_question_shares_terms_with_a_bullet_about_the_same(question: str, bullet: str) -> None:
    assert shared(question, bullet)


@pytest.mark.parametrize(
    "text",
    ["What is it?", "How do you do that, please?", "hello", "Why can't I?", "thanks", "Was ist das?", ""],
)
def test_a_text_of_stop_words_has_no_terms(text: str) -> None:
    assert terms(text) == ()


def test_case_width_and_composition_make_no_difference() -> None:
    assert terms("CAFÉ Ｆｕｌｌ") == terms("cafe\u0301 full")


def test_a_camel_case_name_is_found_whole_and_by_its_parts() -> None:
    assert {"operatingleas", "oper", "leas"} <= set(terms("OperatingLease"))
    assert shared("github", "GitHub")


def test_a_name_with_underscores_gives_its_parts() -> None:
    assert terms("show_api_doc") == ("api", "doc")


def test_languages_with_a_plus_or_a_hash_keep_it() -> None:
    assert terms("C++ or C#, see issue#5") == ("c++", "c#", "see", "issu", "5")


def test_a_word_of_any_length_has_a_term() -> None:
    assert terms("add " + "x" * 5_000) == ("add", "x" * 5_000)


def test_the_language_guess_prefers_english() -> None:
    assert guess_language(["the", "die", "was", "in", "a", "box"]) == "english"
    assert guess_language(["das", "ist", "nicht", "gut"]) == "german"
    assert guess_language([]) == "english"


def test_content_words_find_what_they_came_from() -> None:
    words = content_words("The denominators of Fractions")
    assert set(words.values()) == {"denominators", "fractions"}
    assert all(terms(word) == (term,) for term, word in words.items())


@given(st.text(max_size=200))
def test_any_text_has_terms_that_are_clean_and_repeatable(text: str) -> None:
    found = terms(text)
    assert found == terms(text)
    assert all(term and not term.isspace() and ":" not in term for term in found)


def test_threads_get_the_same_terms() -> None:
    texts = [f"converting denominators number{i} running classes {i}/7" for i in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(terms, texts * 4)) == [terms(text) for text in texts * 4]


def test_words_that_were_forgotten_have_the_same_terms_when_they_are_read_again() -> None:
    first = terms("Adding fractions")
    terms(" ".join(f"word{number}x" for number in range(17_000)), "english")
    assert terms("Adding fractions") == first
