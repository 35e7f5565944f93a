"""The set of long conversations is sound, its halves are apart, and its figures are counted right."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.quality.conversations.conversation import (
    DATA,
    Asked,
    Conversation,
    Fact,
    Turn,
    as_case,
    read_conversation,
    read_half,
)
from benchmarks.quality.conversations.metrics import answer
from benchmarks.quality.retrieval.cases import Case, Question
from benchmarks.quality.retrieval.methods import Shown

LANGUAGES = {"english", "german", "french", "spanish", "chinese", "russian"}
SCRIPTS = {"chinese": re.compile(r"[\u4e00-\u9fff]"), "russian": re.compile(r"[а-яё]", re.IGNORECASE)}
FILES = sorted(DATA.glob("*.tsv"))

SMALL = Conversation(
    "english_small",
    (Turn("1.1", "Ann: The red kettle leaks."), Turn("1.2", "Bob: Mine is blue and whistles.")),
    (Fact("1.1a", "Ann's red kettle leaks."), Fact("1.2a", "Bob's blue kettle whistles.")),
    (
        Asked("ask", ("1.1a",), "Whose kettle leaks?"),
        Asked("cross", ("1.1a", "1.2a"), "What is wrong with the kettles?"),
        Asked("absent", (), "How much was the kettle?"),
        Asked("other", (), "What is a prime?"),
    ),
)


@pytest.fixture(scope="module")
def conversations() -> list[Conversation]:
    return [read_conversation(file) for file in FILES]


def test_both_halves_have_all_languages(conversations: list[Conversation]) -> None:
    assert len(conversations) >= 12
    for part in ("tuning", "held-out"):
        assert {each.language for each in conversations if each.part == part} == LANGUAGES


def test_the_halves_hold_all_conversations_and_share_no_line(conversations: list[Conversation]) -> None:
    halves = [read_half("tuning"), read_half("held-out")]
    assert sorted(each.name for half in halves for each in half) == [each.name for each in conversations]
    lines = [{said.text for c in half for said in (*c.turns, *c.facts, *c.questions)} for half in halves]
    assert lines[0].isdisjoint(lines[1])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_conversation_is_long_and_asked_about_in_every_way(file: Path) -> None:
    read = read_conversation(file)
    assert 30 <= len(read.turns) <= 90
    assert len({turn.id.partition(".")[0] for turn in read.turns}) >= 3
    kinds = Counter(asked.kind for asked in read.questions)
    assert kinds["ask"] >= 30
    assert min(kinds["cross"], kinds["absent"], kinds["other"]) >= 6


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_all_evidence_exists_and_nothing_comes_twice(file: Path) -> None:
    read = read_conversation(file)
    facts = {fact.id: fact for fact in read.facts}
    assert {fact.turn for fact in read.facts} <= {turn.id for turn in read.turns}
    for asked in read.questions:
        assert set(asked.evidence) <= facts.keys()
        assert {"ask": 1, "cross": 2}.get(asked.kind, 0) <= len(asked.evidence) <= 3
        assert (asked.kind in ("absent", "other")) == (not asked.evidence)
    for texts in (read.turns, read.facts, read.questions):
        assert len({said.text for said in texts}) == len(texts)
    assert len(facts) == len(read.facts)
    assert len({turn.id for turn in read.turns}) == len(read.turns)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_is_in_the_language_of_its_conversation(file: Path) -> None:
    read = read_conversation(file)
    for said in (*read.turns, *read.facts, *read.questions):
        for language, script in SCRIPTS.items():
            assert (script.search(said.text) is not None) == (read.language == language), said


def test_facts_become_bullets_by_turn_and_questions_name_their_ids() -> None:
    case = as_case(SMALL)
    assert [bullet.content for bullet in case.playbook.bullets()] == [fact.text for fact in SMALL.facts]
    ids = list(case.playbook.entries)
    assert [question.relevant for question in case.questions] == [{ids[0]}, set(ids), set(), set()]


def test_turns_become_bullets_where_they_are_asked_for() -> None:
    case = as_case(SMALL, turns=True)
    assert [bullet.content for bullet in case.playbook.bullets()] == [turn.text for turn in SMALL.turns]
    assert len(case.questions[1].relevant) == 2


def test_a_fact_that_was_merged_away_stays_as_evidence_and_is_not_found() -> None:
    twice = replace(SMALL, facts=(*SMALL.facts, Fact("1.2b", "bob's blue kettle whistles")))
    asked = replace(twice, questions=(Asked("ask", ("1.2b",), "Which kettle whistles?"),))
    case = as_case(asked)
    assert case.questions[0].relevant.isdisjoint(case.playbook.entries)


def test_recall_tokens_and_what_is_shown_for_nothing_are_counted() -> None:
    def first(case: Case, question: Question) -> Shown:
        return Shown(tuple(case.playbook.entries)[:1], 7) if "kettle" in question.text else Shown((), 0)

    found = answer([SMALL], first)
    assert found.recall(10) == pytest.approx(0.75)
    assert found.recall(10, lambda row: row.kind == "cross") == pytest.approx(0.5)
    assert found.tokens() == 7
    assert found.for_nothing("absent") == (7, 1)
    assert found.for_nothing("other") == (0, 0)


def test_learners_of_one_language_are_asked_each_others_questions() -> None:
    asked = list[str]()

    def nothing(case: Case, question: Question) -> Shown:
        asked.append(f"{case.name}: {question.text}")
        return Shown((), 0)

    other = replace(SMALL, name="english_other", questions=(Asked("ask", ("1.1a",), "What leaks?"),))
    german = replace(SMALL, name="german_other", questions=(Asked("ask", ("1.1a",), "Was tropft?"),))
    found = answer([SMALL, other, german], nothing)
    assert "english_small: What leaks?" in asked
    assert "english_other: Whose kettle leaks?" in asked
    assert "english_small: Was tropft?" not in asked
    assert sum(row.kind == "other" for row in found.rows) == 1 + 1 + 2


def test_a_line_of_no_kind_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "english_bad.tsv"
    file.write_text("turn\t1.1\tHello\nfact 1.1a without tabs\n", "utf-8")
    with pytest.raises(ValueError, match="after tabs"):
        read_conversation(file)
