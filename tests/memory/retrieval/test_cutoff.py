"""The cutoff: beside the best bullet, for each sentence and subject of a message, and after a failure."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ace_graph.memory import Playbook
from tests.memory.retrieval.queries import ADD, NOW, THEN, ask, bullet, ids
from tests.memory.retrieval.questions import LESSONS, NEEDED, UNRELATED

SCHOOL = Playbook.of(bullet(key, content) for key, content in LESSONS.items())
CHATS = (
    "Hi! I hope you had a nice weekend. We went to the lake with my cousins and grilled sausages. {} "
    "My teacher says I should practise more. Thanks a lot, you are the best tutor.",
    "Sorry for bothering you again today, it has been a very long week with the move and the new flat. {}",
)
HALF = "Different denominators are a frequent reason for mistakes"
WHOLE = "Add fractions with different denominators by finding the least common one"


@pytest.mark.parametrize("chat", CHATS)
def test_small_talk_around_a_question_does_not_hide_its_lesson(chat: str) -> None:
    missed = [question for question, key in NEEDED if key not in ids(ask(SCHOOL, chat.format(question)))]
    assert len(missed) <= 8, missed


@pytest.mark.parametrize("chat", CHATS)
def test_small_talk_alone_finds_nothing(chat: str) -> None:
    found = {question: ids(ask(SCHOOL, chat.format(question))) for question in UNRELATED}
    assert {question: keys for question, keys in found.items() if keys} == {}


def test_a_bullet_far_below_the_best_is_cut() -> None:
    assert ids(ask([bullet("half", HALF)])) == ["half"]
    assert ids(ask([bullet("half", HALF), bullet("whole", WHOLE)])) == ["whole"]


def test_a_question_about_two_things_gets_the_lessons_on_both() -> None:
    question = "How do I add fractions with different denominators, and where does the thesis statement go?"
    assert {"essay", "lcd"} <= set(ids(ask(SCHOOL, question)))
    pairs = [(NEEDED[n], NEEDED[(n + 7) % len(NEEDED)]) for n in range(len(NEEDED))]
    both = [{a, b} <= set(ids(ask(SCHOOL, f"{first} {second}"))) for (first, a), (second, b) in pairs]
    assert sum(both) >= 28


def test_every_sentence_has_its_own_best() -> None:
    long = "How do I add fractions with different denominators when a recipe calls for halves and thirds?"
    question = f"{long} Does my exam need a calculator?"
    bullets = [bullet("lcd"), bullet("exam", "The chemistry exam allows a calculator")]
    assert sorted(ids(ask(bullets, question))) == ["exam", "lcd"]


def test_unknown_names_in_a_question_do_not_hide_its_lesson() -> None:
    others = [bullet(f"o-{n}", f"Item{n} of the job interview is kept in folder{n}") for n in range(40)]
    lesson = bullet("a", "Choose the Harvard style for estimating the ticket in the job interview")
    question = "Jensen wants me to finish approximating the job interview ticket until Thursday."
    assert ids(ask([*others, lesson], question))[0] == "a"


def test_a_bullet_of_the_questions_topic_is_not_cut() -> None:
    pizza = bullet("pizza", "Draw both parts as slices of a pizza", topic="fraction_addition")
    question = "How do I add the fractions 1/2 and 1/3 with different denominators?"
    assert sorted(ids(ask([pizza, bullet("lcd")], question, topic="fraction_addition"))) == ["lcd", "pizza"]


def test_a_bullet_with_a_similar_embedding_is_not_cut() -> None:
    bullets = [bullet("half", HALF), bullet("whole", WHOLE)]
    assert sorted(ids(ask(bullets, semantic={"half": 0.7, "whole": 0.7}))) == ["half", "whole"]


def test_failed_advice_is_superseded_by_a_later_lesson_on_its_subject() -> None:
    failed = bullet(
        "failed", "Add fractions with different denominators by a calculator", setbacks=1, helpful=3
    )
    since = bullet("since", updated_at=NOW, content="Draw fractions with different denominators and add them")
    before = since.model_copy(update={"updated_at": THEN - timedelta(days=1)})
    doubted = since.model_copy(update={"setbacks": 1, "helpful": 1})
    assert ids(ask([failed, since])) == ["since"]
    assert sorted(ids(ask([failed, before]))) == ["failed", "since"]
    assert sorted(ids(ask([failed, doubted]))) == ["failed", "since"]
    assert ids(ask([failed])) == ["failed"]
    other = bullet("other", "Fractions are named by their denominators", updated_at=NOW)
    assert "failed" in ids(ask([failed, other]))


def test_two_lessons_on_one_subject_are_shown_while_none_failed() -> None:
    bullets = [
        bullet("a", "When adding fractions with different denominators, find the common one first"),
        bullet("b", "When adding fractions with different denominators, simplify the result at the end"),
    ]
    assert sorted(ids(ask(bullets, ADD))) == ["a", "b"]
