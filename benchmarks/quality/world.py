"""A learner with hidden rules, and the tasks of one life: all that happens by chance is drawn beforehand.

Every policy meets the same learner, tasks and dice, so two policies differ by what they inject alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Literal

from benchmarks.quality.chat_wording import chat_wording
from benchmarks.quality.wording import OWN, Wording

__all__ = ["Dice", "Kind", "Lesson", "Setting", "Skill", "Task", "World", "make_world"]

Kind = Literal["right", "wrong", "useless"]
WordingName = Literal["own", "chat", "chat, held-out"]
CLAIMS = 6
"""How many values a rule can have; one is right, the others are there for changes and mistakes."""


@dataclass(frozen=True)
class Setting:
    """The shares and sizes of one simulation, as issue and document name them."""

    skills: int = 40
    turns: int = 600
    changes: bool = True
    wrong: float = 0.08
    useless: float = 0.25
    lies: float = 0.0
    reflect_on_failure: float = 0.75
    reflect_on_success: float = 0.25
    feedback: float = 0.7
    misconceptions: float = 0.3
    changed_rules: float = 1 / 3
    hard_wording: bool = False
    wording: WordingName = "own"


@dataclass(frozen=True)
class Skill:
    """What is asked, in its words, and the values its rule can have; `changes` half way or not."""

    number: int
    action: tuple[str, ...]
    object: str
    context: tuple[str, ...]
    claims: tuple[str, ...]
    misconception: bool
    changes: bool

    def words(self, variant: int) -> dict[str, str]:
        """Return the subject's words in one of the four variants."""
        return {
            "action": self.action[variant % len(self.action)],
            "object": self.object,
            "context": self.context[variant % len(self.context)],
        }


@dataclass(frozen=True)
class Lesson:
    """What the reflector says: the text, the skill it is about (None: none), and the value it claims.

    `details` are the words of the subject that the text holds, by their part in it. `others` are further
    skills that it seems to be about, for it holds too few of them to tell (`rewriting.py`).
    """

    text: str
    kind: Kind
    skill: int | None
    claim: str | None
    details: tuple[tuple[str, str], ...] = ()
    others: frozenset[int] = frozenset()

    def about(self, skill: Skill) -> bool:
        """Whether who reads the text takes it to be about this skill."""
        return skill.number == self.skill or skill.number in self.others


@dataclass(frozen=True)
class Dice:
    """The chances of one task, drawn once: compared with the shares of the setting and of the solver."""

    solved: float
    followed: float
    reflected: float
    told: float


@dataclass(frozen=True)
class Task:
    """One turn: the skill, the question, whether its rule has changed, the lessons that may come of it."""

    number: int
    skill: Skill
    question: str
    truth: str
    changed: bool
    lessons: tuple[Lesson, ...]
    dice: Dice


@dataclass(frozen=True)
class World:
    """One learner's life; `chat` are the words of questions that are about nothing."""

    setting: Setting
    seed: int
    tasks: tuple[Task, ...]
    chat: frozenset[str]

    @cached_property
    def half(self) -> int:
        """The first turn after the change."""
        return self.setting.turns // 2


def make_world(setting: Setting, seed: int) -> World:
    """Return the world of a seed: the same seed gives the same world."""
    chance = Random(f"world {seed} {setting.skills}")
    skills = _skills(setting, chance)
    weights = [1 / (i + 2) ** 0.8 for i in range(setting.skills)]
    drawn = chance.choices(skills, weights, k=setting.turns)
    tasks = tuple(_task(n, skill, setting, chance) for n, skill in enumerate(drawn))
    return World(setting, seed, tasks, _wording(setting).chat)


def _wording(setting: Setting) -> Wording:
    if setting.wording == "own":
        return OWN
    return chat_wording("tuning" if setting.wording == "chat" else "held-out")


def _skills(setting: Setting, chance: Random) -> list[Skill]:
    wording = _wording(setting)
    pairs = [(action, thing) for action in wording.actions for thing in wording.objects]
    return [
        Skill(
            number=number,
            action=action,
            object=thing,
            context=chance.choice(wording.contexts)[: 1 + setting.hard_wording],
            claims=tuple(chance.sample(wording.values, CLAIMS)),
            misconception=chance.random() < setting.misconceptions,
            changes=chance.random() < setting.changed_rules and setting.changes,
        )
        for number, (action, thing) in enumerate(chance.sample(pairs, setting.skills))
    ]


def _task(number: int, skill: Skill, setting: Setting, chance: Random) -> Task:
    changed = skill.changes and number >= setting.turns // 2
    truth = skill.claims[1 if changed else 0]
    words = skill.words(chance.randrange(4))
    question = _wording(setting).ask(words, chance)
    lessons = _lessons(skill, truth, words, setting, chance)
    dice = Dice(chance.random(), chance.random(), chance.random(), chance.random())
    return Task(number, skill, question, truth, changed, lessons, dice)


def _lessons(
    skill: Skill, truth: str, words: dict[str, str], setting: Setting, chance: Random
) -> tuple[Lesson, ...]:
    false = chance.choice([claim for claim in skill.claims if claim != truth])
    wording = _wording(setting)
    said, empty = chance.choice(wording.lessons), chance.choice(wording.useless).format(**words)
    wrong = (chance.random() < setting.lies) | (chance.random() < setting.wrong)
    useless = chance.random() < setting.useless
    claim = false if wrong else truth
    text = said.format(**words, value=claim)
    kind: Kind = "wrong" if wrong else "right"
    lesson = Lesson(text[0].upper() + text[1:], kind, skill.number, claim, tuple(words.items()))
    return (lesson, Lesson(empty, "useless", None, None)) if useless else (lesson,)
