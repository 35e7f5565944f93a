"""The Curator: lessons and verdicts become the operations of the turn's delta.

Heuristic and deterministic: every lesson becomes an Add with its metadata inferred where the reflector
left it out. Whether it is new, or reinforces a bullet that says the same, is decided where the delta is
resolved, against the newest state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from ace_graph.learning.reflection import BulletVerdict, Lesson
from ace_graph.learning.statements.forms import holds_word, is_sensitive
from ace_graph.memory.bullet import PROFILE_SECTIONS, Bullet
from ace_graph.memory.classify import infer_memory_type, infer_topic
from ace_graph.memory.delta.operations import Add, Judge, Operation, Touch, Update
from ace_graph.memory.evidence import EVIDENCE_SOURCES, Evidence, Verdict, tag_of, verdict_of
from ace_graph.memory.languages.detection import spoken_language
from ace_graph.memory.sharing import leaves_owner
from ace_graph.memory.vocabulary import NO_LABELS, Vocabulary

UNATTRIBUTED = "it is not sure who said this: release it if it is right"
"""Why what an unattributed trajectory says is in quarantine."""

_SECTION_CHARS = 100
_EVIDENCE = "evidence: "
_PERSONS = ("own", "mine", "others")
_LEARNERS = ("learner", "student", "pupil", "user")


def lessons_to_operations(
    lessons: Sequence[Lesson],
    *,
    topic: str | None,
    source: str,
    start: int = 1,
    contests: Sequence[str] = (),
    evidence: Sequence[Evidence] = (),
    vocabulary: Vocabulary = NO_LABELS,
) -> list[Add]:
    """Return one Add per lesson, named `n1`, `n2`, ... so that a vote of the same delta can name them.

    `topic` is that of the question, `source` the turn that the lessons are from, which the bullets name as an
    example; the kinds of `evidence` there was are their sources. `contests` are the bullets whose advice
    failed in it: those that a lesson corrects are superseded by it. A lesson never lands in a profile
    section: only what a learner or the host says explicitly does. Where the reflector left topic, concept or
    tags out, those of `vocabulary` that the lesson has all words of take their place.
    """
    said = (item for item in evidence if item.verdict != "unknown")
    kinds = tuple(dict.fromkeys(f"{_EVIDENCE}{item.source} {item.verdict}" for item in said))
    return [
        Add(
            ref=f"n{n}",
            content=lesson.content,
            section=_section(lesson),
            memory_type=lesson.memory_type or infer_memory_type(lesson.content),
            polarity=lesson.polarity,
            topic=_short(lesson.topic)
            or infer_topic(lesson.content)
            or vocabulary.topic_of(lesson.content)
            or topic,
            concept=_short(lesson.concept) or vocabulary.concept_of(lesson.content),
            tags=tuple(tag[:256] for tag in lesson.tags[:10] if tag.strip())
            or vocabulary.tags_of(lesson.content),
            examples=(source,),
            sources=kinds,
            contests=tuple(contests),
        )
        for n, lesson in enumerate(lessons, start)
    ]


def is_judged(lesson: Add) -> bool:
    """Whether there was evidence on the turn that a lesson is from."""
    return any(source.startswith(_EVIDENCE) for source in lesson.sources)


def for_review(adds: Iterable[Add]) -> list[Add]:
    """Return the operations so that no prompt holds what they add until a person releases it."""
    held = {"status": "quarantined", "quarantine_reason": UNATTRIBUTED}
    return [add.model_copy(update=held) for add in adds]


def _section(lesson: Lesson) -> str:
    section = "_".join(lesson.section.casefold().split())[:_SECTION_CHARS] or "lessons"
    return f"learned_{section}" if section in PROFILE_SECTIONS else section


def _short(text: str | None) -> str | None:
    return (text or "").strip()[:256] or None


def judge_bullets(
    turn_id: str,
    evidence: Sequence[Evidence],
    *,
    injected: Sequence[str],
    cited: Sequence[str],
    tags: Sequence[BulletVerdict] = (),
) -> list[Judge]:
    """Return one vote per source of evidence; without evidence there is none.

    Credit and blame go to bullets that the answer cites, and to injected ones that the reflector tags in
    agreement with the verdict; a cited bullet that it tags otherwise gets no vote.
    """
    said = {tag.id: tag.tag for tag in tags}
    votes = list[Judge]()
    for source in EVIDENCE_SOURCES:
        verdicts: list[Verdict] = [
            item.verdict for item in evidence if item.source == source and item.verdict != "unknown"
        ]
        if not verdicts:
            continue
        verdict = verdicts[-1]
        named = [
            name
            for name in injected
            if said.get(name) == tag_of(verdict) or (name in cited and name not in said)
        ]
        votes.append(Judge(turn_id=turn_id, source=source, verdict=verdict, bullet_ids=tuple(named)))
    return votes


def credit_lessons(votes: Sequence[Judge], lessons: Sequence[Operation]) -> list[Judge]:
    """Return the votes with the lessons named in those of success: a lesson of a turn that is known to have
    gone well, new or come again, counts as that vote.
    """
    names = tuple(name for lesson in lessons for name in _carriers(lesson))
    return [
        vote.model_copy(update={"bullet_ids": tuple(dict.fromkeys((*vote.bullet_ids, *names)))})
        if vote.verdict == "success"
        else vote
        for vote in votes
    ]


def _carriers(lesson: Operation) -> tuple[str, ...]:
    """The bullets that carry a lesson: a new one by its ref, or those that it touches or makes more exact."""
    match lesson:
        case Add(ref=str(ref)):
            return (ref,)
        case Update():
            return (lesson.bullet_id,)
        case Touch():
            return lesson.bullet_ids
        case _:
            return ()


def failed_advice(votes: Sequence[Judge], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the bullets blamed for a turn whose strongest evidence says failure."""
    if verdict_of(evidence) != "failure":
        return ()
    blamed = (name for vote in votes if vote.verdict == "failure" for name in vote.bullet_ids)
    return tuple(dict.fromkeys(blamed))


def stays_own(lesson: Add) -> bool:
    """Whether a lesson is kept from named playbooks, which others may read, now or later.

    These are experiences with the learner, what is in quarantine or belongs there, and what tells something
    sensitive of a person.
    """
    fields = {"section", "content", "memory_type", "topic", "concept", "tags", "status", "quarantine_reason"}
    given = lesson.model_dump(include=fields, exclude_none=True)
    try:
        bullet = Bullet.model_validate({"id": "lesson", **given})
    except ValidationError:
        return True  # the own memory's report will say what is wrong with it
    text, language = bullet.content, spoken_language(bullet.content)
    names_a_person = any(holds_word(text, language, role) for role in _PERSONS) or any(
        word in text.casefold() for word in _LEARNERS
    )
    return not leaves_owner(bullet) or (names_a_person and is_sensitive(text, language))
