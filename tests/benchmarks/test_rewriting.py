"""Rewriting always, gated and never: the model that drops details, and what the gates keep out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from benchmarks.quality import rewriting
from benchmarks.quality.lives import Job
from benchmarks.quality.rewriting_memory import Rewriter, RewritingMemory, rewritten
from benchmarks.quality.simulate import Life, Variant, live
from benchmarks.quality.summary import Row
from benchmarks.quality.world import Lesson, Setting, Skill, make_world

SHORT = Setting(skills=12, turns=150)
NEVER = Variant("never")
SKILLS = (
    Skill(0, ("rounding", "trimming"), "invoice", ("tax office",), ("red ink", "blue ink"), False, False),
    Skill(1, ("sorting",), "invoice", ("tax office",), ("a table", "red ink"), False, False),
    Skill(2, ("sorting",), "map", ("city museum",), ("the long form", "red ink"), False, False),
)
LESSON = Lesson(
    "When rounding the invoice of the tax office, use red ink",
    "right",
    0,
    "red ink",
    (("action", "rounding"), ("object", "invoice"), ("context", "tax office")),
)

_LIVES: dict[str, Life] = {}


def lived(variant: Variant, seed: int = 1) -> Life:
    """Return a simulated life; several tests look at the same ones."""
    key = repr((variant, seed))
    if key not in _LIVES:
        _LIVES[key] = live(SHORT, seed, variant)
    return _LIVES[key]


class Losing(Random):
    """Chances that lose the details with these numbers: action, object, context, value."""

    def __init__(self, *lost: int) -> None:
        super().__init__()
        self._chances = iter(0.0 if number in lost else 1.0 for number in range(4))

    def random(self) -> float:
        return next(self._chances)


def test_a_model_that_loses_nothing_says_the_same_in_other_words() -> None:
    again = rewritten(LESSON, 0.0, Random(1), SKILLS)
    assert again.text == "For rounding the invoice of the tax office, use red ink"
    assert (again.skill, again.claim, again.others) == (0, "red ink", frozenset())


def test_a_text_that_lost_its_value_says_nothing() -> None:
    empty = rewritten(LESSON, 0.5, Losing(3), SKILLS)
    assert empty.text == "Take care with rounding the invoice of the tax office"
    assert (empty.kind, empty.skill, empty.claim) == ("useless", None, None)
    nothing = rewritten(empty, 0.5, Losing(0, 1, 2), SKILLS)
    assert nothing.text == "Take care"
    assert rewritten(nothing, 0.5, Losing(0, 1, 2, 3), SKILLS) == nothing


def test_a_text_that_lost_words_of_its_subject_seems_to_be_about_more() -> None:
    wider = rewritten(LESSON, 0.5, Losing(0), SKILLS)
    assert wider.text == "For the invoice of the tax office, use red ink"
    assert [skill.number for skill in SKILLS if wider.about(skill)] == [0, 1]
    widest = rewritten(wider, 0.5, Losing(1, 2), SKILLS)
    assert widest.text == "Use red ink"
    assert all(widest.about(skill) for skill in SKILLS)


def test_a_lesson_without_details_stays_as_it_is() -> None:
    platitude = Lesson("Be patient", "useless", None, None)
    assert rewritten(platitude, 1.0, Random(1), SKILLS) == platitude


def test_a_life_with_a_rewriting_model_is_deterministic() -> None:
    variant = Variant("always", rewriter=Rewriter(0.15))
    assert live(SHORT, 1, variant) == lived(variant)


def test_what_a_model_loses_at_will_costs_more_than_what_gets_through_the_gates() -> None:
    def right(variant: Variant) -> float:
        return sum(lived(variant, seed).mean() for seed in (1, 2)) / 2

    never = right(NEVER)
    always = right(Variant("always", rewriter=Rewriter(0.3)))
    gated = right(Variant("gated", rewriter=Rewriter(0.3, gated=True)))
    assert always < never - 0.1
    assert gated > (always + never) / 2


def test_the_gates_keep_out_nearly_all_texts_that_lost_everything() -> None:
    life = lived(Variant("gated", rewriter=Rewriter(1.0, gated=True)))
    assert 10 * life.rewritten < life.refused
    assert lived(Variant("always", rewriter=Rewriter(1.0))).rewritten > 10 * life.rewritten


def test_a_commit_through_the_gates_is_that_of_a_turn() -> None:
    world = make_world(SHORT, 1)
    memories = [
        RewritingMemory(world, NEVER.policy, rewriter=Rewriter(0.0, gated=gated)) for gated in (True, False)
    ]
    assert [memory.origin for memory in memories] == ["turn", "host"]


def test_all_ways_of_rewriting_stand_in_one_table_of_both_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    def lived_here(groups: Mapping[tuple[str, Variant], Sequence[Job]]) -> dict[tuple[str, Variant], Row]:
        return {key: Row(key[1].name, [live(*job) for job in jobs]) for key, jobs in groups.items()}

    assert sorted(rewriting.LENGTHS) == [600, 2_400]
    assert {drop for drop in rewriting.DROPS if drop} == {0.05, 0.15, 0.3}
    few = (rewriting.NOTHING, rewriting.NEVER, rewriting.GATED[0.15], rewriting.ALWAYS[0.15])
    monkeypatch.setattr(rewriting, "VARIANTS", few)
    lengths = {60: 1, 90: 1}
    told = rewriting.tables(lived_here(rewriting.groups(lengths)), lengths)
    rows = [line.strip("| ").split(" | ") for line in told.splitlines() if line.startswith("| ")]
    ratios = rows[: len(few)]
    assert ratios[0] == [
        "first world, 60 turns",
        "second world, 60 turns",
        "first world, 90 turns",
        "second world, 90 turns",
    ]
    assert ratios[1][1:] == ["1.00 / 1.00"] * 4
    assert [row[0] for row in ratios[1:]] == [variant.name for variant in few[1:]]
    assert told.count("1 to 15") == 2, "a life is told in six parts"
    assert sum(row[0] == "no memory" for row in rows) == 4


def test_a_quick_run_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lived_here(groups: Mapping[tuple[str, Variant], Sequence[Job]]) -> dict[tuple[str, Variant], Row]:
        found = Life((True, False) * 6, (False,) * 12, (1,) * 12, 0, 0, 0, 3)
        none = Life((False,) * 12, (False,) * 12, (0,) * 12, 0, 0, 0, 0)
        return {
            key: Row(key[1].name, [none if key[1] == rewriting.NOTHING else found for _ in jobs])
            for key, jobs in groups.items()
        }

    written = list[str]()

    def write(page: Path, name: str, text: str) -> None:
        written.append(page.name)

    monkeypatch.setenv("QUICK", "1")
    monkeypatch.setattr(rewriting, "lived", lived_here)
    monkeypatch.setattr(rewriting, "replace_section", write)
    rewriting.main()
    assert "What is left of the gain" in capsys.readouterr().out
    assert written == []
    monkeypatch.setenv("QUICK", "0")
    rewriting.main()
    assert written == ["RESULTS_REWRITING.md"]
