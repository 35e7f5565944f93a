"""The second world of the learning simulation: mostly chat, in words of its own, with a held-out half."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

import pytest

from benchmarks.quality import two_worlds
from benchmarks.quality.chat_wording import CHAT_WORDS, chat_phrases, chat_wording
from benchmarks.quality.duplicates.pairs import Part
from benchmarks.quality.lives import Job
from benchmarks.quality.simulate import Variant, live
from benchmarks.quality.summary import Row
from benchmarks.quality.textbook_bm25 import ordinary_stop_words, rank
from benchmarks.quality.wording import OWN
from benchmarks.quality.world import Setting, make_world

PARTS: tuple[Part, ...] = ("tuning", "held-out")
SHORT = Setting(skills=12, turns=120, wording="chat")


def subjects(part: Part) -> set[str]:
    wording = chat_wording(part)
    named = chain.from_iterable((*wording.actions, *wording.contexts))
    return {*named, *wording.objects}


def test_a_question_is_mostly_chat() -> None:
    held = set[int]()
    for task in make_world(SHORT, 1).tasks:
        subject = set(task.skill.words(0).values())
        words = task.question.split()
        named = [word for word in words if word in subject]
        assert len(words) - len(named) == CHAT_WORDS
        assert set(words) - subject <= chat_wording("tuning").chat
        held.add(len(named))
    assert held == {1, 2}


@pytest.mark.parametrize("part", PARTS)
def test_a_lesson_names_all_three_words_and_its_value(part: Part) -> None:
    words = {"action": "sanding", "object": "fence", "context": "pier"}
    lessons = [said.format(**words, value="beeswax") for said in chat_wording(part).lessons]
    assert lessons
    assert all({*words.values(), "beeswax"} <= set(re.findall(r"\w+", lesson)) for lesson in lessons)


def test_the_halves_share_no_subject_phrase_or_lesson() -> None:
    tuning, held_out = chat_wording("tuning"), chat_wording("held-out")
    assert subjects("tuning").isdisjoint(subjects("held-out"))
    for mine, theirs in zip(chat_phrases("tuning"), chat_phrases("held-out"), strict=True):
        assert set(mine).isdisjoint(theirs)
        assert min(len(mine), len(theirs)) >= 10
    assert set(tuning.lessons).isdisjoint(held_out.lessons)
    assert set(tuning.useless).isdisjoint(held_out.useless)


@pytest.mark.parametrize("part", PARTS)
def test_each_half_has_words_for_all_skills_and_none_of_the_first_world(part: Part) -> None:
    wording = chat_wording(part)
    assert len(wording.actions) * len(wording.objects) >= 120
    first = {*chain.from_iterable((*OWN.actions, *OWN.contexts)), *OWN.objects}
    assert subjects(part).isdisjoint(first)
    assert subjects(part).isdisjoint(wording.chat)


def test_some_chat_words_are_in_no_list_of_stop_words_and_come_in_lessons() -> None:
    wording = chat_wording("tuning")
    lessons = set(" ".join((*wording.lessons, *wording.useless)).casefold().split())
    assert wording.chat & lessons - ordinary_stop_words()


def test_the_second_world_can_be_learned_in() -> None:
    def right(chooser: str) -> float:
        return sum(live(SHORT, seed, Variant(chooser, chooser)).mean() for seed in range(2)) / 2

    found = {name: right(name) for name in ("no memory", "BM25, told the chat words", "ours")}
    assert found["ours"] > found["no memory"] + 0.1
    assert found["BM25, told the chat words"] > found["no memory"] + 0.1


def test_both_worlds_stand_in_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def lived_here(groups: Mapping[tuple[str, Variant], Sequence[Job]]) -> dict[tuple[str, Variant], Row]:
        return {key: Row(key[1].name, [live(*job) for job in jobs]) for key, jobs in groups.items()}

    assert two_worlds.WORLDS["tuning"] == {"first world": Setting(), "second world": Setting(wording="chat")}
    nothing, ours = Variant("no memory", "no memory", contests=False), Variant("ours")
    small = {name: replace(each, skills=12, turns=120) for name, each in two_worlds.WORLDS["tuning"].items()}
    monkeypatch.setenv("SEEDS", "1")
    monkeypatch.setattr(two_worlds, "lived", lived_here)
    monkeypatch.setattr(two_worlds, "WORLDS", {"tuning": small})
    monkeypatch.setattr(two_worlds, "CONTROLS", (nothing,))
    monkeypatch.setattr(two_worlds, "VARIANTS", (nothing, ours))
    rows = [line.strip("| ").split(" | ") for line in two_worlds.report("tuning").splitlines() if "|" in line]
    table = {cells[0]: cells[1:] for cells in rows if len(cells) == 9}
    assert [cell.partition(":")[0] for cell in table["policy"]] == ["first world"] * 4 + ["second world"] * 4
    first, second = (
        [float(table[name][column].split()[0]) for name in ("no memory", "ours")] for column in (0, 4)
    )
    assert first[1] > first[0] + 0.1
    assert second[1] > second[0] + 0.1
    assert table["ours"][:4] != table["ours"][4:]


def test_bm25_ranks_by_rare_shared_words_and_leaves_out_stop_words() -> None:
    texts = {"a": "the kayak of the pier", "b": "the fence of the barn", "c": "fences by the pier"}
    assert rank("the fence at the pier", texts)[0] == "c"
    assert rank("Which fences?", texts) == ["c", "b"]
    assert set(rank("the kayak", texts)) == {"a", "b", "c"}
    assert rank("the kayak", texts, ordinary_stop_words()) == ["a"]
    assert rank("what?", {}) == []
