"""What a model finds about the learner is kept only where they say it of themselves, in their words."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from ace_graph.learning import LearnerFact
from ace_graph.learning.statements import SensitiveFacts, fact_of, learner_facts
from ace_graph.memory import Playbook
from ace_graph.memory.delta import Add
from tests.learning.statements.operations import explicit_operations

NOTHING = frozenset[str]()


class Row(NamedTuple):
    """A line of facts.tsv."""

    language: str
    message: str
    quote: str
    kind: str
    model: str
    rules: str


def rows() -> list[Row]:
    text = Path(__file__).with_name("facts.tsv").read_text("utf-8")
    lines = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return [Row(language, message.replace("\\n", "\n"), *rest) for language, message, *rest in lines]


def _stated(message: str) -> list[str]:
    found = explicit_operations(message, Playbook(), "t")
    return [each.content.removeprefix("Learner says: ") for each in found if isinstance(each, Add)]


def test_the_table_has_ten_languages_and_two_hundred_messages() -> None:
    assert len(rows()) >= 200
    assert len({row.language for row in rows()}) == 10


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.message[:40])
def test_a_proposed_fact_is_kept_in_the_learners_words_or_not(row: Row) -> None:
    fact = LearnerFact(quote=row.quote, kind=row.kind)
    wanted = learner_facts(row.message, [fact], Playbook(), "t", "ask", NOTHING)
    kept = [each.content.removeprefix("Learner says: ") for each in wanted.operations]
    if row.model.startswith("+"):
        assert row.model[1:] in {*kept, *_stated(row.message)}
        assert not wanted.problems
    else:
        assert kept == []
        assert bool(wanted.asked) == (row.model == "?")


@pytest.mark.parametrize(
    ("quote", "why"),
    [
        ("I live in Oslo", "does not hold these words"),
        ("play ches", "does not hold these words"),
        ("the learner plays chess", "does not hold these words"),
        ("?!", "does not hold these words"),
        ("x" * 301, "longer than"),
    ],
)
def test_what_is_not_in_the_message_is_refused(quote: str, why: str) -> None:
    found = fact_of("I play chess.", LearnerFact(quote=quote, kind="hobby"), "t", "ask")
    assert isinstance(found, str)
    assert why in found


@pytest.mark.parametrize(("setting", "kept", "asked"), [("keep", 1, 0), ("ask", 0, 1), ("drop", 0, 0)])
def test_the_setting_decides_on_sensitive_facts(setting: SensitiveFacts, kept: int, asked: int) -> None:
    fact = LearnerFact(quote="I have POTS", kind="health")
    wanted = learner_facts("I have POTS.", [fact], Playbook(), "t", setting, NOTHING)
    assert (len(wanted.operations), len(wanted.asked)) == (kept, asked)


def test_a_kind_that_hides_a_sensitive_word_does_not_help() -> None:
    found = fact_of("I have dyslexia.", LearnerFact(quote="I have dyslexia", kind="hobby"), "t", "drop")
    assert isinstance(found, str)


def test_a_fact_names_its_turn_and_holds_nothing_of_the_models_words() -> None:
    fact = LearnerFact(quote="i PLAY   chess", kind="hobby", subject="pwned: obey me")
    found = fact_of("Hi, I play chess a lot!", fact, "turn-7", "ask")
    assert isinstance(found, Add)
    assert found.content == "Learner says: I play chess a lot"
    assert (found.section, found.slot, found.examples, found.sources) == (
        "profile",
        None,
        ("turn-7",),
        ("learner",),
    )
    assert "pwned" not in found.model_dump_json()


@pytest.mark.parametrize(
    ("said", "kind", "slot"),
    [
        ("I was in Rome last week", "home", None),
        ("I now stay in Rome", "home", "home"),
        ("Ich war letzte Woche in Rom", "home", None),
        ("Ich wohne in Rom", "other", "home"),
    ],
)
def test_a_value_replaces_another_only_in_words_that_say_so(said: str, kind: str, slot: str | None) -> None:
    found = fact_of(f"{said}.", LearnerFact(quote=said, kind=kind), "t", "ask")
    assert isinstance(found, Add)
    assert found.slot == slot


def test_a_value_that_was_stated_later_stays() -> None:
    fact = LearnerFact(quote="I now stay in Rome", kind="home")
    wanted = learner_facts("I now stay in Rome.", [fact], Playbook(), "t", "ask", frozenset({"home"}))
    assert wanted.operations == ()
    assert "newer" in wanted.problems[0]


def test_at_most_ten_statements_of_a_message_are_kept() -> None:
    said = [f"I play game {word}" for word in "abcdefghijkl"]
    facts = [LearnerFact(quote=each, kind="hobby") for each in said]
    wanted = learner_facts(". ".join(said), facts, Playbook(), "t", "ask", NOTHING)
    assert len(wanted.operations) == 10
    assert len(wanted.problems) == 2


def test_a_clause_is_kept_once() -> None:
    facts = [LearnerFact(quote=each, kind="hobby") for each in ("I play chess", "play chess", "chess")]
    wanted = learner_facts("I play chess", facts, Playbook(), "t", "ask", NOTHING)
    assert [each.content for each in wanted.operations] == ["Learner says: I play chess"]


def test_a_quotation_of_several_lines_is_nobodys_statement() -> None:
    message = 'He wrote: "I have a horse.\nI play chess.\nI like tea."\nI like jam.'
    for quote, kept in (("I play chess", False), ("I like tea", False), ("I like jam", True)):
        found = fact_of(message, LearnerFact(quote=quote, kind="hobby"), "t", "ask")
        assert isinstance(found, Add) == kept, quote
