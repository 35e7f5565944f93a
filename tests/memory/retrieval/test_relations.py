"""One line for one subject and relation, in whatever words its values were said."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory import Bullet, Playbook, Policy
from ace_graph.memory.retrieval import EarlierValue, Retrieval
from ace_graph.memory.retrieval.current_values import current_first, of_one_relation
from ace_graph.memory.retrieval.explain import InCore
from ace_graph.memory.retrieval.retrieve import prompt_line
from tests.memory.retrieval.queries import THEN, ask, bullet, why

PAIRS = Path(__file__).with_name("relation_pairs.tsv")
NOT_TOLD = {
    "Der Aufsatz ist am Freitag fällig",
    "Der Besitzer des Hauses ist Felix",
    "Отчёт нужно сдать в пятницу",
    "The start of our meeting was moved to 10 am",
    "The workshop's location is Room 15",
}
"""Newer facts of which no rule tells what they replace: the cases of a subject differ, or the nouns."""
ASKED = "Where does Ada live?"


class Pair(NamedTuple):
    """A row of the table."""

    language: str
    verdict: str
    older: str
    newer: str


def pairs() -> list[Pair]:
    rows = PAIRS.read_text("utf-8").splitlines()
    return [Pair(*row.split("\t")) for row in rows if not row.startswith("#")]


def fact(key: str, content: str, *, day: int = 0, **fields: object) -> Bullet:
    at = THEN + timedelta(days=day)
    section = {"section": "facts", "created_at": at, "updated_at": at}
    return bullet(key, content, **(section | fields))


def lines(found: Retrieval) -> list[str]:
    return [prompt_line(scored).split("] ", 2)[2] for scored in (*found.core, *found.retrieved)]


def replaces(pair: Pair, *, one_value: bool = False) -> bool:
    """Whether one line tells the newer fact and what was before it; what it has not may be nowhere lost."""
    both = [fact("fac-00001", pair.older), fact("fac-00002", pair.newer, day=1)]
    told = lines(ask(both, f"{pair.older} {pair.newer}", policy=Policy(one_value=one_value)))
    replaced = [line for line in told if "(before: " in line]
    assert len(replaced) <= 1
    assert all(line.startswith(pair.newer) for line in replaced), "the newer one is current"
    return len(told) == 1 and len(replaced) == 1


def test_there_are_200_pairs_in_ten_languages() -> None:
    found = pairs()
    assert len(found) == 200
    assert len({pair.language for pair in found}) == 10
    assert sum(pair.verdict != "one" for pair in found) >= 20


def test_a_newer_value_in_other_words_replaces_the_older_one() -> None:
    wrong = [pair for pair in pairs() if pair.verdict == "one" and not replaces(pair)]
    assert {pair.newer for pair in wrong} == NOT_TOLD, wrong


def test_what_holds_many_values_is_replaced_by_none() -> None:
    wrong = [pair for pair in pairs() if pair.verdict != "one" and replaces(pair)]
    assert wrong == []


def test_where_every_relation_holds_one_value_those_are_replaced_too() -> None:
    every = [pair for pair in pairs() if pair.verdict == "every"]
    assert [pair for pair in every if not replaces(pair, one_value=True)] == []


def test_a_newer_value_is_shown_though_it_shares_no_word_with_the_question() -> None:
    homes = [fact("fac-00001", "Ada lives in Berlin"), fact("fac-00002", "Ada moved to Rome", day=1)]
    homes += [fact(f"fac-1{n:04}", f"Ada lives for her hobby number {n}") for n in range(60)]
    told = lines(ask(homes, "In which city in Berlin does she live?"))
    assert "Ada moved to Rome (before: Berlin)" in told
    assert why(homes, "In which city in Berlin does she live?")["fac-00001"] == EarlierValue("fac-00002")


def test_a_form_that_may_be_turned_round_needs_one_that_is_certain() -> None:
    mornings = [fact("a", "Ada runs every morning"), fact("b", "Bob runs every morning", day=1)]
    assert len(lines(ask(mornings, "Who runs every morning?"))) == 2
    shop = [fact("a", "Ada runs the shop"), fact("b", "The shop is run by Bob", day=1)]
    assert lines(ask(shop, "Who runs the shop?")) == ["The shop is run by Bob (before: Ada)"]


def test_of_what_is_turned_round_each_subject_has_a_line() -> None:
    books = [fact("a", "Ruth is the author of Night Ferry"), fact("b", "Ruth is the author of Glass Orchard")]
    assert len(lines(ask(books, "Which books is Ruth the author of?"))) == 2


def test_a_value_that_is_said_again_in_other_words_is_no_earlier_value() -> None:
    homes = [fact("a", "Ada lives in Rome"), fact("b", "Ada's home is Rome", day=1)]
    assert lines(ask(homes, ASKED)) == ["Ada's home is Rome"]


def test_two_values_of_one_message_are_both_true() -> None:
    homes = [
        fact("a-1", "Ada lives in Rome", turn_id="t"),
        fact("a-2", "Ada lives in Bari", turn_id="t"),
    ]
    assert lines(ask(homes, ASKED)) == ["Ada lives in Bari (said earlier: Rome)"]
    other = [home.model_copy(update={"turn_id": home.id}) for home in homes]
    assert lines(ask(other, ASKED)) == ["Ada lives in Bari (before: Rome)"]


def test_two_values_that_were_affirmed_later_are_both_true() -> None:
    rome = fact("a-1", "Ada lives in Rome", seen=2, updated_at=THEN + timedelta(2))
    bari = fact("a-2", "Ada lives in Bari", day=1, seen=2, updated_at=THEN + timedelta(3))
    assert lines(ask([rome, bari], ASKED)) == ["Ada lives in Bari (said earlier: Rome)"]
    once = bari.model_copy(update={"seen": 1})
    assert lines(ask([rome, once], ASKED)) == ["Ada lives in Bari (before: Rome)"]


def test_a_newer_fact_of_a_person_takes_the_line_of_a_pinned_one() -> None:
    berlin = fact("a-1", "Ada lives in Berlin", pinned=True)
    rome = fact("a-2", "Ada moved to Rome", day=1, sources=("learner",))
    found = ask([berlin, rome], "What is a fraction?")
    assert [prompt_line(scored).split("] ", 2)[2] for scored in found.core] == [
        "Ada moved to Rome (said 2025-12-03; before: Berlin)"
    ]
    reasons = why([berlin, rome], "What is a fraction?")
    assert reasons == {"a-2": InCore("pinned"), "a-1": EarlierValue("a-2")}


def test_a_lesson_does_not_take_the_line_of_a_pinned_fact() -> None:
    berlin = fact("a-1", "Ada lives in Berlin", pinned=True)
    found = ask([berlin, fact("a-2", "Ada moved to Rome", day=1)], "What is a fraction?")
    assert [scored.bullet.id for scored in found.core] == ["a-1"]


def test_a_pinned_fact_tells_what_was_before_it() -> None:
    rome = fact("a-2", "Ada moved to Rome", day=1, pinned=True)
    told = lines(ask([fact("a-1", "Ada lives in Berlin"), rome], ASKED))
    assert told == ["Ada moved to Rome (before: Berlin)"]


def test_an_earlier_value_is_not_lost_where_the_core_has_no_room() -> None:
    rome = fact("a-2", "Ada moved to Rome", day=1, pinned=True)
    homes = [fact("a-1", "Ada lives in Berlin"), rome]
    one = ask(homes[1:], ASKED).tokens
    for budget in range(one, 3 * one):
        told = " ".join(lines(ask(homes, ASKED, budget_tokens=budget)))
        assert "Berlin" not in told or "Rome" in told, "the old value alone is never shown"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I prefer short answers", "I prefer long answers"),
        ("I like formal answers", "I like informal answers"),
    ],
)
def test_of_wishes_that_exclude_each_other_the_newest_is_told(older: str, newer: str) -> None:
    wishes = [
        fact(f"pre-{day}", f"Learner says: {text}", day=day, section="preferences")
        for day, text in enumerate((older, newer))
    ]
    assert lines(ask(wishes, "What is a fraction?")) == [f"Learner says: {newer} (before: {older})"]
    assert why(wishes, "What is a fraction?")["pre-0"] == EarlierValue("pre-1")


def test_wishes_side_by_side_stay_so() -> None:
    texts = ("I prefer short answers", "I prefer answers with examples")
    wishes = [fact(f"pre-{n}", text, section="preferences") for n, text in enumerate(texts)]
    assert len(lines(ask(wishes, "What is a fraction?"))) == 2


NAMES = st.sampled_from(("Ada", "Bob", "the shop", "I"))
FORMS = st.sampled_from(
    ("{0} lives in {1}", "{0} moved to {1}", "{1} is where {0} lives", "{0} speaks {1}", "{0} likes the {1}")
)
PLACES = st.sampled_from(("Rome", "Berlin", "Oslo"))
FACTS = st.lists(st.tuples(FORMS, NAMES, PLACES, st.integers(0, 3)), max_size=12)


def grouped(bullets: list[Bullet]) -> set[frozenset[str]]:
    rows = of_one_relation([(each, False) for each in bullets])
    return {frozenset(bullets[place].id for place in row) for row in rows}


@given(st.data())
def test_groups_don_t_depend_on_the_order_and_no_fact_is_in_two(data: st.DataObject) -> None:
    told = [
        fact(f"f-{n}", form.format(name, place), day=day)
        for n, (form, name, place, day) in enumerate(data.draw(FACTS))
    ]
    rows = grouped(told)
    assert rows == grouped(data.draw(st.permutations(told)))
    assert sum(map(len, rows)) == len(frozenset[str]().union(*rows))


@given(FACTS)
def test_no_value_is_lost(facts: list[tuple[str, str, str, int]]) -> None:
    told = [
        fact(f"f-{n}", form.format(name, place), day=day, pinned=True)
        for n, (form, name, place, day) in enumerate(facts)
    ]
    prompt = lines(ask(told, "What is a fraction?", budget_tokens=100_000))
    for form, name, place, _ in facts:
        told_of = [line for line in prompt if name in line]
        assert any(place in line or "; and " in line for line in told_of), form.format(name, place)


def test_5000_facts_of_one_subject_are_one_row() -> None:
    facts = [(fact(f"f-{n}", f"Ada lives in Town{n}"), False) for n in range(5_000)]
    [row] = of_one_relation(facts)
    assert row == list(range(5_000))


def test_a_changed_playbook_lists_the_relations_that_a_new_one_does() -> None:
    homes = [fact("a", "Ada lives in Berlin"), fact("b", "Ada moved to Rome"), fact("c", "Bob bakes bread")]
    known = Playbook.of(homes)
    assert known.stating == {"home|ada": ("a", "b")}
    for changed in (homes[1:], homes[2:], [*homes, fact("d", "Ada moved to Oslo")], homes[:1]):
        playbook = Playbook.of(changed)
        playbook.inherit(known)
        assert "stating" in vars(playbook), "it was carried over"
        assert playbook.stating == Playbook.of(changed).stating


def test_a_bullet_that_says_something_else_states_its_relation_no_more() -> None:
    home = fact("a", "Ada lives in Berlin")
    known = Playbook.of([home, fact("b", "Ada moved to Rome")])
    assert known.stating
    other = home.model_copy(update={"content": "Ada speaks French"})
    playbook = Playbook.of([other, fact("b", "Ada moved to Rome")])
    playbook.inherit(known)
    assert playbook.stating == {"home|ada": ("b",), "language|ada": ("a",)}


@pytest.mark.parametrize("values", [200, 800])
def test_a_question_looks_at_the_newest_values_of_a_relation_however_many_there_are(
    values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = list[Bullet]()
    newer = current_first

    def counted(rivals: Sequence[Bullet], on: date) -> list[Bullet]:
        looked_at.extend(rivals)
        return newer(rivals, on)

    monkeypatch.setattr(sys.modules["ace_graph.memory.retrieval.retrieve"], "current_first", counted)
    homes = [fact(f"fac-{n:05}", f"Ada lives in Town{n}", day=n) for n in range(values)]
    [line] = lines(ask(homes, ASKED, now=THEN + timedelta(days=values)))
    assert line.startswith(f"Ada lives in Town{values - 1} (")
    assert 0 < len(looked_at) <= 2 * 64
