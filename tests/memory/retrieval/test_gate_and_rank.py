"""The gate decides whether anything is shown, rank how much; and what finds a bullet that shares no word."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ace_graph.memory import Access, Bullet, QuestionTerms, after_questions, asked_terms
from ace_graph.memory.retrieval import Retrieval
from tests.memory.retrieval.queries import THEN, ask, bullet, ids

THINGS, PLACES = ("rake", "spade", "hose", "ladder"), ("shed", "cellar", "garage")
GARDEN = [
    bullet(f"{thing}-{place}", f"The {thing} in the {place} is kept for the garden")
    for thing in THINGS
    for place in PLACES
]


def test_a_question_about_something_else_gets_nothing_and_a_known_one_up_to_ten_lines() -> None:
    assert ask(GARDEN, "Which composer wrote the Moonlight Sonata?") == Retrieval()
    found = ask(GARDEN, "What is kept in the garden?")
    assert len(ids(found)) == 10
    short = ask(GARDEN, "What is kept in the garden?", budget_tokens=120)
    assert 0 < len(ids(short)) < 10
    assert short.tokens <= 120


def test_a_question_that_names_one_thing_gets_it_first_and_nothing_far_from_it() -> None:
    found = ids(ask(GARDEN, "Where in the garden is the ladder kept, in the cellar?"))
    assert found[0] == "ladder-cellar"
    assert all("ladder" in key or "cellar" in key for key in found)


def test_everyday_words_open_no_gate() -> None:
    lesson = bullet("a", "It takes time to say good morning in the right way")
    question = "Good morning! How do chlorophyll, stomata and sunlight contribute to photosynthesis?"
    assert ids(ask([lesson], question)) == []
    assert ids(ask([lesson], "What is the right way to say good morning?")) == ["a"]


@pytest.mark.parametrize(
    ("known", "question"),
    [
        ("Der Sauerteig braucht zwei Tage", "Was ist mit dem Teig?"),
        ("Im Teig ist Roggen", "Was gehört in den Sauerteig?"),
        ("De fietsband is lek", "Wat is er met de band?"),
        ("Лесной мёд хранится в погребе", "Что хранится в лесу?"),
    ],
)
def test_a_compound_is_found_by_its_part_and_a_part_by_its_compound(known: str, question: str) -> None:
    assert ids(ask([bullet("a", known), bullet("b", "Die Katze heißt Mia")], question)) == ["a"]


def test_english_words_are_no_compounds() -> None:
    lesson = bullet("a", "Both ends of the pattern are anchored when an input is validated")
    assert ids(ask([lesson], "Recommend me something that does not bother the cat at the weekend")) == []


def test_a_word_of_the_source_finds_a_bullet_that_does_not_hold_it() -> None:
    fact = bullet("a", "The learner rents a place by the river", source_words=("apartment", "landlord"))
    other = bullet("b", "The learner sings in a choir")
    assert ids(ask([fact, other], "Who is my landlord?")) == ["a"]
    assert ids(ask([fact.model_copy(update={"source_words": ()}), other], "Who is my landlord?")) == []


def test_a_word_of_the_text_counts_more_than_one_of_the_source() -> None:
    told = bullet("told", "The learner moved house", source_words=("piano",))
    held = bullet("held", "The learner owns a piano")
    assert ids(ask([told, held], "Where is the piano?"))[0] == "held"


def _said(key: str, content: str, turn: str, conversation: str = "c", minute: int = 0) -> Bullet:
    return bullet(
        key, content, turn_id=turn, conversation_id=conversation, created_at=THEN.replace(minute=minute)
    )


def test_bullets_of_the_same_turn_and_of_those_beside_it_are_found_together() -> None:
    said = [
        _said("best", "The regatta of the cousin is in Bergen", "t-2", minute=2),
        _said("same", "The dress is borrowed", "t-2", minute=2),
        _said("before", "The train leaves at dawn", "t-1", minute=1),
        _said("after", "A hotel is booked", "t-3", minute=3),
        _said("far", "The cellar is damp", "t-4", minute=4),
        _said("elsewhere", "The lamp is broken", "t-2", conversation="d", minute=2),
    ]
    loud = bullet("c", "The christening was loud")
    question = "Is the regatta of the cousin before the christening?"
    assert ids(ask([*said, loud], question))[0] == "best"
    assert set(ids(ask([*said, loud], question))[1:]) == {"c", "same", "before", "after"}
    apart = [each.model_copy(update={"turn_id": None, "conversation_id": None}) for each in said]
    assert set(ids(ask([*apart, loud], question))) == {"best", "c"}
    # What covers little of the question may be about something else: it takes no neighbour along.
    others = [loud, bullet("f", "The funeral was in May"), bullet("w", "The wedding was wet")]
    asked = "Is there a regatta, a christening, a wedding or a funeral?"
    assert set(ids(ask([*said, *others], asked))) == {"best", "c", "f", "w"}


def _after(questions: Sequence[str]) -> Access:
    return Access(asked=after_questions(QuestionTerms(), map(asked_terms, questions)))


def test_what_is_asked_often_and_held_seldom_says_little() -> None:
    planks = [bullet(f"o-{n}", f"Varnish the oak plank number{n}") for n in range(30)]
    lessons = [bullet("boss", "The boss wants the invoice by Friday"), *planks]
    question = "My boss again: how do I varnish maple?"
    asked = _after([f"My boss again: what about the plank number {n}?" for n in range(40)])
    assert "boss" in ids(ask(lessons, question))
    assert "boss" not in ids(ask(lessons, question, access=asked))
    assert ids(ask(lessons, question, access=asked))


def test_a_question_of_another_language_or_of_signs_alone_is_answered() -> None:
    for question in ("😀😀😀", "Ŝajne neniu komprenas tiun lingvon", "Hvor er nøglen til skuret?", "¿? — …"):
        assert ids(ask(GARDEN, question)) == []
