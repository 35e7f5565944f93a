"""What a memory hears of learners' own words: the sets are sound, and no half falls below today's figures."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.quality.duplicates.pairs import Part
from benchmarks.quality.heard.run import (
    Heard,
    hear_asides,
    hear_changes,
    hear_wishes,
    read_changes,
    read_wishes,
    report,
)

HALVES: tuple[Part, ...] = ("tuning", "held-out")


def right(found: list[Heard]) -> int:
    return sum(not each.wrong for each in found)


def test_each_half_has_half_of_the_messages_and_all_languages() -> None:
    for part in HALVES:
        wishes, harmless = read_wishes(part)
        changes = read_changes(part)
        assert (len(wishes), len(harmless), len(changes)) == (20, 20, 15)
        for found in (wishes, harmless, changes):
            languages = Counter(each.language for each in found)
            assert languages.keys() == {"en", "de", "fr", "it", "es"}
            assert min(languages[each] for each in ("en", "de", "fr")) >= 3


def test_the_halves_share_no_message() -> None:
    for name in ("wishes", "asides"):
        first, second = (
            {each.message for found in read_wishes(part, name) for each in found} for part in HALVES
        )
        assert first.isdisjoint(second)
    one, other = ({each.said[-1][1] for each in read_changes(part)} for part in HALVES)
    assert one.isdisjoint(other)


@pytest.mark.parametrize(("part", "kept"), [("tuning", 18), ("held-out", 11)])
def test_wishes_are_kept_and_what_looks_like_one_is_not(part: Part, kept: int) -> None:
    wishes, harmless = hear_wishes(part)
    assert right(wishes) >= kept
    assert [each.text for each in harmless if each.wrong] == []


@pytest.mark.parametrize(
    ("part", "name", "sizes", "least"),
    [
        ("tuning", "asides", (23, 20, 12), (20, 20)),
        ("held-out", "asides", (17, 20, 8), (15, 18)),
        ("held-out", "later", (12, 12, 6), (12, 12)),
    ],
)
def test_what_is_said_beside_a_question_is_kept(
    part: Part, name: str, sizes: tuple[int, int, int], least: tuple[int, int]
) -> None:
    instructions, preferences, harmless = hear_asides(part, name)
    assert (len(instructions), len(preferences), len(harmless)) == sizes
    assert right(instructions) >= least[0]
    assert right(preferences) >= least[1]
    assert [each.text for each in harmless if each.wrong] == []


@pytest.mark.parametrize(
    ("part", "quotes", "told", "outdated"),
    [
        ("tuning", False, 5, 0),
        ("tuning", True, 14, 0),
        ("held-out", False, 4, 0),
        ("held-out", True, 13, 1),
    ],
)
def test_the_newest_fact_is_told(part: Part, quotes: bool, told: int, outdated: int) -> None:
    found = hear_changes(part, quotes=quotes)
    assert right(found) >= told
    assert sum("nothing outdated" in each.wrong for each in found) <= outdated


def test_the_report_names_what_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Heard("Call me Max.", {"kept": "nothing"}, frozenset({"kept", "shown"}))

    def wishes(part: Part) -> tuple[list[Heard], list[Heard]]:
        return [wrong], [Heard("Hello!", {}, frozenset({"nothing kept"}))]

    def asides(part: Part, name: str = "asides") -> tuple[list[Heard], list[Heard], list[Heard]]:
        return [], [wrong], []

    def changes(part: Part, *, quotes: bool) -> list[Heard]:
        return []

    monkeypatch.setattr("benchmarks.quality.heard.run.hear_asides", asides)
    monkeypatch.setattr("benchmarks.quality.heard.run.hear_wishes", wishes)
    monkeypatch.setattr("benchmarks.quality.heard.run.hear_changes", changes)
    text = report("tuning")
    assert "| standing instructions | 0 of 1 | kept 0 of 1, shown 1 of 1 |" in text
    assert "| preferences beside a question | 0 of 1 |" in text
    assert "- Call me Max.: kept: nothing" in text
