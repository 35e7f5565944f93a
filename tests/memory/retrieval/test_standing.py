"""Standing instructions in prompts: always, on a condition, at most so many."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ace_graph.memory import Bullet, Policy
from ace_graph.memory.retrieval import in_words
from tests.memory.retrieval.queries import THEN, ask, bullet, why

VERSIONS = "Learner says: Whenever I ask about dependencies, list the version numbers"


def wish(key: str, content: str, context: str | None = None, *, day: int = 0, **fields: object) -> Bullet:
    at = THEN + timedelta(days=day)
    given = {"section": "preferences", "context": context, "created_at": at, "updated_at": at, **fields}
    return bullet(key, content, **given)


def shown(bullets: list[Bullet], question: str, *, most: int = 20, **similar: float) -> list[str]:
    found = ask(bullets, question, policy=Policy(max_instructions=most), semantic=similar)
    return [scored.bullet.id for scored in found.core]


@pytest.mark.parametrize(
    ("condition", "question", "holds"),
    [
        (None, "What is 2 + 2?", True),
        ("Whenever I ask about dependencies", "Which dependencies does Flask have?", True),
        ("Whenever I ask about dependencies", "Is this dependency outdated?", True),
        ("Whenever I ask about dependencies", "What is 2 + 2?", False),
        ("when I ask for a comparison", "Rust or Go?", True),
        ("when I ask for code", "What is 2 + 2?", True),
        ("Wenn ich nach Rezepten frage", "Hast du ein Rezept für Brot?", True),
        ("Wenn ich nach Rezepten frage", "Was ist ein Vektor?", False),
        ("当我问到依赖", "这个项目有哪些依赖？", True),
        ("当我问到依赖", "什么是向量？", False),
    ],
)
def test_it_is_shown_where_its_condition_holds(condition: str | None, question: str, holds: bool) -> None:
    assert shown([wish("pre-00001", VERSIONS, condition)], question) == (["pre-00001"] if holds else [])


def test_a_condition_that_never_holds_is_named_and_the_wish_is_still_found_by_its_words() -> None:
    waits = [wish("pre-00001", VERSIONS, "Whenever I ask about dependencies")]
    told = in_words(why(waits, "What is 2 + 2?")["pre-00001"])
    assert told == "its condition does not hold: Whenever I ask about dependencies"
    found = ask(waits, "When do you list the version numbers?")
    assert [scored.bullet.id for scored in found.retrieved] == ["pre-00001"]


def test_the_topic_of_a_question_opens_a_condition_that_none_of_its_words_does() -> None:
    pictures = [
        wish(
            "pre-00001",
            "Learner says: Whenever I ask about fractions, draw",
            "Whenever I ask about fractions",
        )
    ]
    told = [
        len(ask(pictures, "What is 1/2 + 1/3?", topic=topic).core)
        for topic in ("fraction_addition", "units", None)
    ]
    assert told == [1, 0, 0]


def test_meaning_opens_a_condition_too() -> None:
    waits = [wish("pre-00001", VERSIONS, "Whenever I ask about dependencies")]
    near = ask(waits, "Which packages do I need?", semantic={"pre-00001": 0.6})
    far = ask(waits, "Which packages do I need?", semantic={"pre-00001": 0.4})
    assert [len(found.core) for found in (near, far)] == [1, 0]
    assert far.retrieved == ()  # a little likeness brings no instruction that waits


def test_of_many_the_newest_are_shown_and_pinned_ones_beside_them() -> None:
    texts = ("show the units", "draw a picture", "use short words", "name the sources", "end with a joke")
    wishes = [wish(f"pre-{n:05}", f"Learner says: {text}", day=n) for n, text in enumerate(texts)]
    pinned = wish("pre-00009", "Learner says: always do the pinned thing", pinned=True)
    assert sorted(shown([*wishes, pinned], "What is 2 + 2?", most=2)) == [
        "pre-00003",
        "pre-00004",
        "pre-00009",
    ]
    reasons = why(wishes, "What is 2 + 2?", policy=Policy(max_instructions=2))
    assert in_words(reasons["pre-00000"]) == "as many newer instructions are shown as may be"
