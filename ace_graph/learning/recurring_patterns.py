"""Patterns across trajectories: the lessons that several reflections teach, however each of them words it.

Pure: it reads reflections and returns patterns. What a reflection says of an error and its cause analyses
one run and is no advice: only its lessons are compared. Two lessons are one pattern when the comparison
of bullets calls them the same, or when their vectors are close and no guard finds another number, unit,
negation, opposite, direction or order. Strategies, anti-patterns and observations are never mixed.
Document 004, 3.1.

`patterns` finds advice in the order of one run's tool calls; this module counts what runs have in
common.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from ace_graph.base.text import clean_line
from ace_graph.learning.reflection import says_nothing
from ace_graph.memory.bullet import Bullet, Polarity
from ace_graph.memory.commit import operation_id
from ace_graph.memory.search.index import Index
from ace_graph.memory.similarity.compare import compare
from ace_graph.memory.similarity.vectors import Vectors, are_near, unit_vectors
from ace_graph.memory.turn import ReflectedLesson, TurnReflection

SIMILARITY = 0.9
"""The similarity that the comparison of texts needs, as in a playbook."""
_NOMINATED = 50
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class RecurringPattern:
    """Something that reflections on several trajectories say.

    `text` is its oldest wording, and `id` follows from it; `lesson` has its other fields. `frequency` counts
    distinct trajectories; `trajectory_ids` are theirs, in the order in which they were reflected on.
    `wordings` are all its wordings, the oldest first.
    `confidence` is that of a bullet which as many trajectories support: 0.67 for one, 0.75 for two.
    """

    id: str
    text: str
    polarity: Polarity
    frequency: int
    trajectory_ids: tuple[str, ...]
    confidence: float
    lesson: ReflectedLesson
    wordings: tuple[str, ...] = ()


class _Line(NamedTuple):
    polarity: Polarity
    text: str


@dataclass
class _Group:
    """Lines of one pattern while they are collected: the first one, all, and the trajectories of all."""

    first: Bullet
    texts: list[str] = field(default_factory=list[str])
    trajectories: dict[str, None] = field(default_factory=dict[str, None])


def extract_patterns(
    reflections: Iterable[TurnReflection], *, similarity: float = SIMILARITY, vectors: Vectors | None = None
) -> tuple[RecurringPattern, ...]:
    """Return the patterns in these reflections, the most frequent first; their order makes no difference.

    `similarity` (0-1) is what the comparison of two texts needs; `vectors` are embeddings by text, where
    there are any.
    """
    ordered = sorted(reflections, key=lambda each: (each.at, each.reflection_id))
    runs: dict[_Line, dict[str, None]] = {}
    lessons: dict[_Line, ReflectedLesson] = {}
    for reflection in ordered:
        for lesson in reflection.lessons:
            line = _Line(lesson.polarity, clean_line(lesson.content))
            if says_nothing(line.text):
                continue
            runs.setdefault(line, {}).update(dict.fromkeys(reflection.runs))
            lessons.setdefault(line, lesson)
    groups = _grouped(runs, similarity, unit_vectors(vectors or {}))
    order = dict.fromkeys(run for reflection in ordered for run in reflection.runs)
    place = {run: number for number, run in enumerate(order)}
    found = (_pattern(group, lessons, place) for group in groups)
    return tuple(sorted(found, key=lambda pattern: -pattern.frequency))


def _grouped(runs: Mapping[_Line, Iterable[str]], similarity: float, units: Vectors) -> list[_Group]:
    """Put each line into one group: the first whose oldest line says the same, else a new one."""
    bullets = {
        line: Bullet(
            id=str(number),
            section="lessons",
            content=line.text,
            polarity=line.polarity,
            created_at=_EPOCH,
            updated_at=_EPOCH,
        )
        for number, line in enumerate(runs)
    }
    index = Index.build(bullets.values())
    groups: dict[str, _Group] = {}
    founded = list[_Group]()
    for line, bullet in bullets.items():
        nominated = (groups[name] for name in index.nominate(line.text, _NOMINATED) if name in groups)
        alike = (each for each in nominated if each.first.polarity == line.polarity)
        same = (each for each in alike if compare(each.first, bullet, similarity).outcome == "same")
        group = next(same, None)
        if group is None and line.text in units:
            group = next((each for each in founded if are_near(each.first, bullet, units)), None)
        if group is None:
            group = _Group(bullet)
            founded.append(group)
        groups[bullet.id] = group
        group.texts.append(line.text)
        group.trajectories.update(dict.fromkeys(runs[line]))
    return founded


def _pattern(
    group: _Group, lessons: Mapping[_Line, ReflectedLesson], place: Mapping[str, int]
) -> RecurringPattern:
    line = _Line(group.first.polarity, group.first.content)
    frequency = len(group.trajectories)
    return RecurringPattern(
        id=operation_id("pattern", line.polarity, line.text),
        text=line.text,
        polarity=line.polarity,
        frequency=frequency,
        trajectory_ids=tuple(sorted(group.trajectories, key=place.__getitem__)),
        confidence=(1 + frequency) / (2 + frequency),
        lesson=lessons[line],
        wordings=tuple(group.texts),
    )
