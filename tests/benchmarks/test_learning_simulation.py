"""A short learning simulation: the real memory learns, follows a change, and does not keep lies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest

from ace_graph.memory import Policy, Verdict
from benchmarks.quality.lies import Lies
from benchmarks.quality.results import looks, replace_section
from benchmarks.quality.simulate import Life, Variant, live
from benchmarks.quality.solver import Outcome, solve
from benchmarks.quality.summary import Row, learning_table
from benchmarks.quality.transcript_log import TranscriptLog
from benchmarks.quality.world import Lesson, Setting, make_world

SHORT = Setting(skills=12, turns=240)
SEEDS = range(3)
NOTHING = Variant("no memory", "no memory")


_LIVES: dict[str, Life] = {}


def lived(setting: Setting, seed: int, variant: Variant) -> Life:
    """Return a simulated life; several tests look at the same ones."""
    key = repr((setting, seed, variant))
    if key not in _LIVES:
        _LIVES[key] = live(setting, seed, variant)
    return _LIVES[key]


def share(setting: Setting, variant: Variant, start: int = 0) -> float:
    return mean(lived(setting, seed, variant).mean(start) for seed in SEEDS)


def test_a_seed_is_deterministic() -> None:
    assert make_world(SHORT, 1) == make_world(SHORT, 1) != make_world(SHORT, 2)
    assert live(SHORT, 1, Variant("ours")) == lived(SHORT, 1, Variant("ours"))


def test_the_memory_beats_no_memory_and_the_newest_lessons() -> None:
    ours = share(SHORT, Variant("ours"))
    assert ours > share(SHORT, NOTHING) + 0.3
    assert ours > share(SHORT, Variant("last five lessons", "last five lessons")) + 0.2


def test_the_last_transcripts_are_worth_something_and_less_than_lessons() -> None:
    control = Variant("last", "last transcripts, 2,000 tokens")
    assert share(SHORT, NOTHING) + 0.1 < share(SHORT, control) < share(SHORT, Variant("ours"))
    assert all(max(lived(SHORT, seed, control).tokens) <= 2_100 for seed in SEEDS)


def test_a_transcript_tells_the_rule_where_the_turn_did() -> None:
    task = make_world(SHORT, 1).tasks[0]
    log = TranscriptLog()
    turns: list[tuple[bool, Verdict, tuple[Lesson, ...]]] = [
        (True, "success", ()),
        (True, "unknown", ()),
        (False, "failure", ()),
        (False, "failure", task.lessons),
    ]
    for number, (success, verdict, reflected) in enumerate(turns):
        log.add(replace(task, number=number), success=success, verdict=verdict, reflected=reflected)
    drawn = [log.drawn[key] for key in log.shown(2_000)[0]]
    assert [lesson.claim for lesson in drawn] == [task.truth, None, None, task.lessons[0].claim]
    assert [lesson.skill is None for lesson in drawn] == [False, True, True, False]
    assert log.shown(200)[0] == log.shown(2_000)[0][-len(log.shown(200)[0]) :]
    assert log.shown(200)[1] < log.shown(2_000)[1]


def test_a_gain_is_paired_by_lives() -> None:
    def row(name: str, *lives: tuple[bool, ...]) -> Row:
        return Row(name, [Life(right, right, (0,) * len(right), 0, 0, 0, 0) for right in lives])

    ours = row("ours", (True, True), (True, False))
    control = row("control", (True, False), (False, False))
    assert ours.half_interval() > 0
    assert ours.gain_over(control) == (0.5, 0), "half in each life, though the lives differ"
    assert ours.gain_over(control, start=1) == (0.5, pytest.approx(1.96 / 2))
    table = learning_table("Lives", [control, ours])
    assert "| control | 0.250 ± 0.490 | +0.500 ± 0.000 |" in table


def test_contest_lets_less_outdated_advice_into_prompts() -> None:
    def outdated(contests: bool) -> int:
        return sum(lived(SHORT, seed, Variant("ours", contests=contests)).outdated for seed in SEEDS)

    assert outdated(True) < 0.9 * outdated(False)


def test_false_lessons_are_dropped() -> None:
    lies = Setting(skills=12, turns=240, lies=1.0)
    without_trust = Variant("ours", policy=Policy(holdout_rate=0))
    late = 120
    assert share(lies, without_trust, late) < share(lies, NOTHING, late) - 0.05
    assert share(lies, Variant("ours"), late) > share(lies, NOTHING, late) - 0.05


def test_the_solver_follows_what_is_in_its_prompt() -> None:
    task = next(task for task in make_world(SHORT, 0).tasks if task.dice.solved < 0.1)
    known = {
        "right": Lesson("r", "right", task.skill.number, task.truth),
        "wrong": Lesson("w", "wrong", task.skill.number, "another value"),
        "other": Lesson("o", "useless", None, None),
    }
    found = solve(task, ("right", "other"), known)
    assert (found.success, found.cited, found.unrelated) == (True, ("right",), 1)
    assert solve(task, ("wrong",), known).cited == ("wrong",)
    assert solve(task, (), known).cited == ()
    assert solve(task, ("right", "wrong"), known).cited in (("right",), ("wrong",))


def test_wrong_advice_shown_after_two_failures_is_counted() -> None:
    world = make_world(SHORT, 0)
    told = [task for task in world.tasks if task.dice.told < SHORT.feedback]
    wrong = Lesson("w", "wrong", told[0].skill.number, "another value")
    followed = {True: Outcome(True, ("w",), 0, 1, 0), False: Outcome(False, ("w",), 0, 1, 0)}
    lies = Lies(world)
    for task, success in zip(told, (False, True, False, False, False), strict=False):
        lies.count(task, followed[success], {"w": wrong, "u": Lesson("u", "useless", None, None)})
    assert (lies.late, lies.lucky) == (1, 1)


def test_advice_that_failed_twice_is_hidden_until_a_success() -> None:
    lies = Setting(skills=12, turns=240, lies=1 / 3)
    lives = [lived(lies, seed, Variant("ours")) for seed in SEEDS]
    patient = Variant("patient", policy=Policy(setbacks_allowed=99))
    assert sum(life.late_lies for life in lives) == 0
    assert any(lived(lies, seed, patient).late_lies for seed in range(8))


def test_a_benchmark_replaces_its_own_section_only(tmp_path: Path) -> None:
    page = tmp_path / "RESULTS.md"
    replace_section(page, "One", "first")
    replace_section(page, "Two", "second")
    replace_section(page, "One", "again")
    text = page.read_text("utf-8")
    assert "first" not in text
    assert text.index("again") < text.index("second")
    assert text.count("## ") == 2


def test_a_page_says_when_the_held_out_half_was_looked_at(tmp_path: Path) -> None:
    page = tmp_path / "RESULTS.md"
    replace_section(page, "Set", "tuning")
    assert looks(page, "Set") == "The held-out half has not been looked at."
    replace_section(page, "Set: the held-out half, looked at on 2030-01-02 03:04 UTC", "figures")
    assert "2030-01-02 03:04 UTC" in looks(page, "Set")
    assert looks(page, "Another set") == "The held-out half has not been looked at."
