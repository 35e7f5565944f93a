"""One line for one subject and relation: the newest value, and what was said earlier."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ace_graph.memory import Bullet
from ace_graph.memory.retrieval import EarlierValue, Retrieval
from ace_graph.memory.retrieval.retrieve import prompt_line
from tests.memory.retrieval.queries import NOW, THEN, ask, bullet, ids, why

ASKED = "Where does Ada live?"


def fact(key: str, content: str, *, day: int = 0, **fields: object) -> Bullet:
    at = THEN + timedelta(days=day)
    return bullet(key, content, section="facts", created_at=at, updated_at=at, **fields)


def lines(found: Retrieval) -> list[str]:
    return [prompt_line(scored).split("] ", 2)[2] for scored in found.retrieved]


def test_the_newest_value_stands_first_and_the_earlier_one_behind_it() -> None:
    homes = [fact("fac-00001", "Ada lives in Berlin"), fact("fac-00002", "Ada lives in Rome.", day=1)]
    assert lines(ask(homes, ASKED)) == ["Ada lives in Rome. (before: Berlin)"]
    assert lines(ask(homes[::-1], ASKED)) == ["Ada lives in Rome. (before: Berlin)"]


def test_of_one_commit_the_higher_number_is_newer() -> None:
    homes = [fact("fac-00010", "Ada lives in Rome"), fact("fac-00009", "Ada lives in Berlin")]
    assert lines(ask(homes, ASKED)) == ["Ada lives in Rome (before: Berlin)"]


def test_a_value_that_is_said_again_is_current_again() -> None:
    berlin = fact("fac-00001", "Ada lives in Berlin").model_copy(update={"updated_at": THEN + timedelta(2)})
    homes = [berlin, fact("fac-00002", "Ada lives in Rome", day=1)]
    assert lines(ask(homes, ASKED)) == ["Ada lives in Berlin (before: Rome)"]


def test_three_earlier_values_are_named_and_the_others_counted() -> None:
    places = ("Berlin", "Rome", "New York", "Oslo", "Paris", "Madrid")
    homes = [fact(f"fac-{n:05}", f"Ada lives in {place}", day=n) for n, place in enumerate(places)]
    assert lines(ask(homes, ASKED)) == ["Ada lives in Madrid (before: Paris; Oslo; New York; and 2 more)"]


def test_the_newest_is_shown_though_an_earlier_one_fits_the_question_better() -> None:
    homes = [fact("fac-00001", "Ada lives in Berlin"), fact("fac-00002", "Ada lives in Rome", day=1)]
    assert lines(ask(homes, "Does Ada live in Berlin?")) == ["Ada lives in Rome (before: Berlin)"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ada's mother sings in a choir", "Ada's mother bakes bread"),
        ("Ada lives in Berlin", "Ada works in Berlin"),
        ("Ada lives in Berlin", "Ida lives in Rome"),
        ("Ada lives in Berlin", "Ada lives in a flat that has a big garden behind it"),
        ("The home of Ada is Berlin", "The home of Ada is where her aunt was born"),
    ],
)
def test_facts_that_differ_in_more_than_a_last_value_are_lines_of_their_own(first: str, second: str) -> None:
    found = ask([fact("a", first), fact("b", second, day=1)], f"{first}? {second}?")
    assert sorted(lines(found)) == sorted([first, second])


@pytest.mark.parametrize(
    ("earlier", "newer", "line"),
    [
        ("Ada wohnt in Berlin", "Ada wohnt in Rom", "Ada wohnt in Rom (before: Berlin)"),
        ("Ada habite à Paris", "Ada habite à Lyon", "Ada habite à Lyon (before: Paris)"),
        ("Ada vive en Lima", "Ada vive en Quito", "Ada vive en Quito (before: Lima)"),
        ("Ада живёт в Москве", "Ада живёт в Риме", "Ада живёт в Риме (before: Москве)"),
    ],
)
def test_values_are_told_in_other_languages_too(earlier: str, newer: str, line: str) -> None:
    assert lines(ask([fact("a", earlier), fact("b", newer, day=1)], newer)) == [line]


@pytest.mark.parametrize(
    "fields",
    [{"memory_type": "procedural"}, {"polarity": "anti_pattern"}, {"pinned": True}],
    ids=lambda fields: next(iter(fields)),
)
def test_advice_and_the_core_are_not_folded(fields: dict[str, object]) -> None:
    berlin = fact("a", "Ada lives in Berlin").model_copy(update=fields)
    found = ask([berlin, fact("b", "Ada lives in Rome", day=1)], ASKED)
    assert not any("said earlier" in prompt_line(scored) for scored in (*found.core, *found.retrieved))


def test_a_lesson_that_evidence_judged_is_contested_and_not_dated() -> None:
    six = bullet("six", "The smallest common denominator of 2 and 3 is 6", helpful=2)
    five = bullet("five", "The smallest common denominator of 2 and 3 is 5", updated_at=NOW)
    assert ids(ask([six, five], six.content)) == ["six"]


def test_what_a_person_said_is_dated_whatever_its_votes() -> None:
    berlin = fact("fac-00001", "Ada lives in Berlin", sources=("learner",), helpful=5)
    rome = fact("fac-00002", "Ada lives in Rome", day=1, sources=("learner",))
    assert lines(ask([berlin, rome], ASKED)) == ["Ada lives in Rome (said 2025-12-03; before: Berlin)"]


def test_a_value_that_a_person_says_again_has_the_day_of_the_last_time() -> None:
    berlin = fact("fac-00001", "Ada lives in Berlin", sources=("learner",), seen=2)
    again = berlin.model_copy(update={"updated_at": THEN + timedelta(9)})
    rome = fact("fac-00002", "Ada lives in Rome", day=1, sources=("learner",))
    assert lines(ask([again, rome], ASKED)) == ["Ada lives in Berlin (said 2025-12-11; before: Rome)"]


def test_what_a_learner_says_in_a_chat_has_one_line_too() -> None:
    zoe = [
        fact(f"pro-0000{n}", f"Learner says: my sister Zoe lives in {place}", day=n, sources=("learner",))
        for n, place in enumerate(("Berlin", "Rome"), 1)
    ]
    told = [each.model_copy(update={"section": "profile"}) for each in zoe]
    found = ask(told, "What is a fraction?")
    [line] = [prompt_line(scored).split("] ", 2)[2] for scored in found.core]
    assert line == "Learner says: my sister Zoe lives in Rome (said 2025-12-04; before: Berlin)"
    assert why(told, "What is a fraction?")["pro-00001"] == EarlierValue("pro-00002")


@pytest.mark.parametrize("section", ["preferences", "misconceptions"])
def test_wishes_stay_lines_of_their_own(section: str) -> None:
    wishes = [
        fact(f"w-{n}", f"Learner says: I like long answers in {each}")
        for n, each in enumerate(("verse", "prose"))
    ]
    kept = [wish.model_copy(update={"section": section}) for wish in wishes]
    assert len(ask(kept, "What is a fraction?").core) == 2


def test_the_subject_is_not_that_somebody_says_it() -> None:
    kept = [fact(f"p-{n}", f"Learner says: I have a {pet}") for n, pet in enumerate(("dog", "cat"))]
    told = [each.model_copy(update={"section": "profile"}) for each in kept]
    assert len(ask(told, "What is a fraction?").core) == 2


def test_a_quarantined_value_is_in_no_line() -> None:
    held = fact("b", "Ada lives in Rome", day=1, status="quarantined", quarantine_reason="test")
    assert lines(ask([fact("a", "Ada lives in Berlin"), held], ASKED)) == ["Ada lives in Berlin"]


def test_it_is_explained_which_line_tells_an_earlier_value() -> None:
    homes = [fact("fac-00001", "Ada lives in Berlin"), fact("fac-00002", "Ada lives in Rome", day=1)]
    assert why(homes, ASKED)["fac-00001"] == EarlierValue("fac-00002")


def test_earlier_values_count_in_the_budget() -> None:
    homes = [fact("fac-00001", "Ada lives in Berlin"), fact("fac-00002", "Ada lives in Rome", day=1)]
    one, both = ask(homes[1:], ASKED), ask(homes, ASKED)
    assert both.tokens > one.tokens
    assert not ask(homes, ASKED, budget_tokens=one.tokens).retrieved
