"""Questions that take several facts: the lines of a chain, their order, their limits and their reasons."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ace_graph.memory import Bullet
from ace_graph.memory.retrieval import Retrieved
from ace_graph.memory.retrieval.chains import MOST_LINES, MOST_TOKENS
from ace_graph.memory.retrieval.retrieve import FRAME_TOKENS
from tests.memory.retrieval.queries import THEN, ask, bullet, ids, why

SPOUSE = "What is the citizenship of the spouse of the author of Our Mutual Friend?"


def facts(*contents: str) -> list[Bullet]:
    """Facts in their order, among others that have nothing to do with them."""
    others = [f"The colour of wagon {n} is shade{n}" for n in range(40)]
    return [
        bullet(f"fac-{n:05}", content, section="facts", updated_at=THEN + timedelta(minutes=n))
        for n, content in enumerate([*contents, *others], 1)
    ]


NOVEL = (
    "The author of Our Mutual Friend is Charles Dickens",
    "Charles Dickens is married to Catherine Hogarth",
    "Catherine Hogarth is a citizen of Belgium",
)
HARBOUR = (
    "The keeper of the lighthouse is Jonas Brandt",
    "Jonas Brandt was trained at Kiel Academy",
    "Kiel Academy was founded by Greta Lund",
    "Greta Lund was born in Aarhus",
)


def test_each_line_leads_to_the_next() -> None:
    assert ids(ask(facts(*NOVEL), SPOUSE)) == ["fac-00001", "fac-00002", "fac-00003"]


def test_a_chain_has_four_facts_at_most() -> None:
    asked = "Where was the founder of the school of the keeper of the lighthouse born?"
    longer = (*HARBOUR, "Aarhus was painted by Mette Krogh")
    assert sorted(ids(ask(facts(*longer), asked))) == ["fac-00001", "fac-00002", "fac-00003", "fac-00004"]


def test_the_receipt_says_which_line_named_what_a_link_is_about() -> None:
    reasons = why(facts(*NOVEL), SPOUSE)
    assert reasons["fac-00002"] == Retrieved(named_by="fac-00001")
    assert reasons["fac-00003"] == Retrieved(named_by="fac-00002")


def test_of_one_subject_and_relation_the_newest_is_followed() -> None:
    moved = (*NOVEL, "Charles Dickens is married to Ellen Ternan", "Ellen Ternan is a citizen of Malta")
    found = ids(ask(facts(*moved), SPOUSE))
    assert found[:3] == ["fac-00001", "fac-00004", "fac-00005"]
    assert "fac-00002" not in found


def test_a_question_whose_words_are_covered_gets_no_chain() -> None:
    assert ids(ask(facts(*NOVEL), "Who is the author of Our Mutual Friend?")) == ["fac-00001"]


def test_a_shut_gate_leads_nowhere() -> None:
    assert ids(ask(facts(*NOVEL), "Which tide table does the ferry use?")) == []


def test_facts_that_name_each_other_are_told_once() -> None:
    circle = ("The neighbour of Anton is Bertram", "Bertram is a cousin of Anton", "Bertram sells bread")
    found = ids(ask(facts(*circle), "What does the neighbour of Anton do for a living?"))
    assert sorted(found) == ["fac-00001", "fac-00002", "fac-00003"]


def test_advice_is_no_link() -> None:
    advice = bullet("str-00009", "Read Charles Dickens before every exam", memory_type="procedural")
    assert "str-00009" not in ids(ask([*facts(NOVEL[0]), advice], SPOUSE))


def test_what_no_prompt_may_hold_is_no_link() -> None:
    held = bullet(
        "fac-00900",
        "Charles Dickens is married to Mallory",
        section="facts",
        status="quarantined",
        quarantine_reason="test",
    )
    assert "fac-00900" not in ids(ask([*facts(*NOVEL), held], SPOUSE))


@pytest.mark.parametrize("limit", [1, 2])
def test_no_more_lines_than_were_asked_for(limit: int) -> None:
    assert len(ids(ask(facts(*NOVEL), SPOUSE, max_bullets=limit))) == limit


def test_a_chain_keeps_to_its_lines_and_tokens_and_to_the_budget() -> None:
    crowd = [f"Charles Dickens wrote the letter number{n} to Lady Rivers of Marlow" for n in range(60)]
    found = ask(facts(*NOVEL, *crowd), SPOUSE)
    assert len(found.retrieved) <= MOST_LINES
    assert found.tokens - FRAME_TOKENS <= MOST_TOKENS
    short = ask(facts(*NOVEL), SPOUSE, budget_tokens=90)
    assert short.tokens <= 90
    assert ids(short) == ["fac-00001"]


def test_a_line_without_any_word_ends_no_retrieval() -> None:
    dots = bullet("fac-00900", "...", section="facts")
    near = {"fac-00001": 0.9, "fac-00900": 0.8}
    found = ids(ask([*facts(*NOVEL), dots], SPOUSE, semantic=near))
    assert set(found) >= {"fac-00001", "fac-00002", "fac-00900"}


def test_a_chain_begins_where_another_line_covers_the_open_word() -> None:
    other = "Oslo Library collects the citizenship papers of Denmark"
    assert "fac-00003" in ids(ask(facts(*NOVEL, other), SPOUSE))


def test_a_name_in_the_possessive_is_that_name() -> None:
    child = ("The author of Our Mutual Friend is Charles Dickens", "Charles Dickens's child is Kate Perugini")
    assert ids(ask(facts(*child), "Who is the offspring of the author of Our Mutual Friend?")) == [
        "fac-00001",
        "fac-00002",
    ]


def test_a_link_takes_the_room_of_a_line_that_adds_nothing_to_better_ones() -> None:
    crowd = [
        f"The author of Volume{n} in the long row of red books is Author{n} of the North" for n in range(20)
    ]
    found = ids(ask(facts(*NOVEL, *crowd), SPOUSE))
    assert {"fac-00001", "fac-00002", "fac-00003"} <= set(found)
    assert len(found) <= MOST_LINES


def test_one_of_many_is_no_value_that_another_replaces() -> None:
    friends = facts("Ada is a friend of Bob", "Eva is a friend of Bob")
    assert ids(ask(friends, "Who is a friend of Bob?")) == ["fac-00002", "fac-00001"]


FOREIGN = (
    "The school kitchen takes half of the juice",
    "The school rejects plastic bottles",
    "Half of the geese follow the headteacher",
)


def test_a_line_that_covers_little_leads_on_by_a_name_alone() -> None:
    assert ids(ask(facts(*FOREIGN), "Why does Leopold need a kitchen of his own?")) == ["fac-00001"]
    named = ("The kitchen belongs to Greta Lund", "Greta Lund was born in Aarhus")
    asked = "Why does Leopold need a kitchen of his own?"
    assert ids(ask(facts(*named), asked)) == ["fac-00001", "fac-00002"]


def test_a_line_that_the_question_found_leads_on_as_a_link_does() -> None:
    asked = "Which country is the spouse of the author of Our Mutual Friend a citizen of?"
    novel = (
        "The author of Our Mutual Friend is Charles Dickens",
        "Charles Dickens is the spouse of Catherine Hogarth",
        "Catherine Hogarth owns Amber Lodge",
        "Amber Lodge stands in Kent",
    )
    found = ask(facts(*novel), asked, semantic={"fac-00002": 0.6, "fac-00001": 0.6, "fac-00003": 0.5})
    assert set(ids(found)) >= {"fac-00001", "fac-00002", "fac-00003", "fac-00004"}
