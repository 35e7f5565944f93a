"""A memory whose lines a model writes anew, and now and then drops a detail: at will, or through the gates.

The model is a simulated one. After every turn with a lesson it is given the lessons and the lines of the
prompt. It knows what each is about: what is on one subject it writes as one text with the newest value, and
every other line once more. Its only fault: each detail of a text (action, object, context, value) is lost
with the probability `drop`. A text that has lost its value says nothing; one that has lost words of its
subject seems to be about every skill that has those that are left.

Not `gated`, its texts take the place of the old ones at once. `gated`, they go where the package lets a model
write: the curator's decision on a lesson, a merge that it proposes, and from time to time a consolidation.
What is kept is then said by the package's own code: `decide`, the limits of a turn, the guards of a merge,
the losses of a consolidation, and the questions that have to find what they found before. A line that no
lesson is about has no such way, so the model is not asked for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from random import Random

from ace_graph.learning.llm_curator import CuratorOperation, Decided, LessonDecision, MergeItems, decide
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.commit import CommitPlan
from ace_graph.memory.consolidation import Group, Options, Outlook, make_plan, questions_of
from ace_graph.memory.delta.effect import Archived
from ace_graph.memory.delta.operations import Add, Delta, Distinguish, Operation, Remove, Update
from ace_graph.memory.turn import TurnRecord
from benchmarks.quality.learner_memory import LearnerMemory
from benchmarks.quality.world import Lesson, Skill, Task

__all__ = ["Rewriter", "RewritingMemory", "rewritten"]

CONSOLIDATED_EVERY = 100
"""Turns from one consolidation to the next."""
QUESTIONS_KEPT = 50
"""So many of the last questions a consolidation is measured with."""
_PARTS = ("action", "object", "context")


@dataclass(frozen=True)
class Rewriter:
    """A model that loses each detail of a text with the probability `drop`."""

    drop: float
    gated: bool = False


def rewritten(lesson: Lesson, drop: float, chance: Random, skills: Iterable[Skill]) -> Lesson:
    """Return the lesson in other words, without the details that were lost; one without any stays.

    One with a value is about all skills that have the words of the subject that are left.
    """
    lost = {part: chance.random() < drop for part in (*_PARTS, "value")}
    if not lesson.details and lesson.claim is None:
        return lesson
    details = tuple((part, word) for part, word in lesson.details if not lost[part])
    claim = None if lost["value"] else lesson.claim
    about = frozenset(skill.number for skill in skills if _fits(skill, details))
    return Lesson(
        _text(dict(details), claim),
        "useless" if claim is None else lesson.kind,
        lesson.skill if claim is not None else None,
        claim,
        details,
        about - {lesson.skill} if claim is not None else frozenset(),
    )


def _fits(skill: Skill, details: Iterable[tuple[str, str]]) -> bool:
    words = {"action": skill.action, "object": (skill.object,), "context": skill.context}
    return all(word in words[part] for part, word in details)


def _text(details: dict[str, str], claim: str | None) -> str:
    subject = " ".join(
        said.format(details[part])
        for part, said in zip(_PARTS, ("{}", "the {}", "of the {}"), strict=True)
        if part in details
    )
    if claim is None:
        return f"Take care with {subject}" if subject else "Take care"
    return f"For {subject}, use {claim}" if subject else f"Use {claim}"


@dataclass
class RewritingMemory(LearnerMemory):
    """The real memory, with a model that writes its lines anew."""

    rewriter: Rewriter = Rewriter(0.0)
    offered: int = 0
    kept: int = 0
    archive: dict[str, Bullet] = field(default_factory=dict[str, Bullet])
    records: list[TurnRecord] = field(default_factory=list[TurnRecord])

    def __post_init__(self) -> None:
        self.origin = "turn" if self.rewriter.gated else "host"

    @property
    def texts_of_model(self) -> tuple[int, int]:
        """How many texts of the model became a line of the memory, and how many did not."""
        return self.kept, self.offered - self.kept

    @cached_property
    def skills(self) -> Sequence[Skill]:
        """All skills that the learner is ever asked about."""
        return list({task.skill.number: task.skill for task in self.world.tasks}.values())

    def curated(
        self, task: Task, adds: Sequence[Add], lessons: Sequence[Lesson], shown: Sequence[str]
    ) -> Decided:
        """Return what becomes of the lessons and of the lines of the prompt once the model has seen them."""
        if not adds:
            return Decided(())
        left = list(shown)
        items, free = list[CuratorOperation](), list[Operation]()
        for number, lesson in enumerate(lessons, 1):
            same = [key for key in left if lesson.claim is not None and self._is_about(key, task.skill)]
            if not same:
                free.append(adds[number - 1])
                continue
            first, *others = same
            left = [key for key in left if key not in same]
            text = self._write(lesson, task, first)
            items.append(LessonDecision(type="UPDATE", lesson=number, bullet_id=first, content=text))
            free.append(Update(bullet_id=first, content=text, examples=adds[number - 1].examples))
            if others:
                items.append(MergeItems(type="MERGE", bullet_ids=same))
                free.extend(Remove(bullet_id=key) for key in others)
        if self.rewriter.gated:
            entries = self.snapshot.playbook.entries
            return decide(adds, items, [entries[key] for key in shown])
        alone = {key: self._write(self._lesson(key), task, key) for key in left}
        return Decided(tuple(free), tuple(Update(bullet_id=key, content=alone[key]) for key in alone))

    def _is_about(self, key: str, skill: Skill) -> bool:
        lesson = self._lesson(key)
        return lesson.claim is not None and lesson.about(skill)

    def _write(self, lesson: Lesson, task: Task, place: str) -> str:
        """Write a lesson anew at this place of the memory, and return the text."""
        chance = Random(f"rewrite {self.world.seed} {task.number} {place}")
        written = rewritten(lesson, self.rewriter.drop, chance, self.skills)
        self.lessons[written.text] = written
        self.offered += written.text != self.snapshot.playbook.entries[place].content
        return written.text

    def commit(self, delta: Delta, record: TurnRecord | None) -> CommitPlan:
        """Apply a delta, consolidate where it is time, and return what the delta came to."""
        before = self.snapshot.playbook.entries
        planned = super().commit(delta, record)
        after = planned.snapshot.playbook.entries
        for operation in delta.operations:
            if isinstance(operation, Update) and operation.bullet_id in after:
                new = after[operation.bullet_id].content
                self.kept += new == operation.content != before[operation.bullet_id].content
        changes = planned.effect.changes
        self.archive.update({c.bullet.id: c.bullet for c in changes if isinstance(c, Archived)})
        if record is not None:
            self.records.append(record)
            if self.rewriter.gated and len(self.records) % CONSOLIDATED_EVERY == 0:
                self._consolidate(delta.now)
        return planned

    def _consolidate(self, now: datetime) -> None:
        """Consolidate as `ace-graph playbook consolidate` does: by rules, and with texts of the model."""
        questions = questions_of(self.records[-QUESTIONS_KEPT:], self.snapshot.playbook)
        outlook = Outlook(self.snapshot, self.policy, now, self.archive.get, questions)
        texts, distinct = dict[tuple[str, ...], str](), list[Operation]()
        for group in make_plan(outlook, Options()).for_model:
            text = self._one_text(group)
            if text is None:
                distinct.append(Distinguish(bullet_ids=group.ids))
            else:
                texts[group.ids] = text
        planned = make_plan(outlook, Options(), texts)
        self.offered += len(texts)
        self.kept += sum(group.group.ids in texts for group in planned.groups)
        operations = [tuple(group.operation for group in batch) for batch in planned.batches]
        for number, batch in enumerate((*operations, tuple(distinct))):
            if batch:
                op_id = f"consolidation-{len(self.records)}-{number}"
                self.commit(Delta(op_id=op_id, now=now, operations=batch), None)

    def _one_text(self, group: Group) -> str | None:
        """The model's text for bullets that say one thing, None where they say several."""
        said = [self._lesson(key) for key in group.ids]
        if len({(lesson.skill, lesson.claim) for lesson in said}) > 1:
            return None
        chance = Random(f"consolidation {self.world.seed} {len(self.records)} {group.ids[0]}")
        written = rewritten(said[0], self.rewriter.drop, chance, self.skills)
        self.lessons[written.text] = written
        return written.text
