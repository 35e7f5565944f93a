"""Curating from reflections: the lessons of chosen reflections reach a playbook, in one commit.

    done = await curate(store, "bot", [pattern.memory_id for pattern in found.patterns], "api_client")
    for bullet in done.added:
        print(bullet.id, bullet.text)

The rules are those of a turn: a lesson that the playbook knows strengthens its bullet, and where
ACE_CURATOR_USE_LLM is set the same model curator decides. The same reflections again change nothing. Document
004, 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import LearnerForgotten, UsageError
from ace_graph.base.off_loop import Steps, in_slices, run_off_loop
from ace_graph.learning.batch_reflection import ChosenEmbeddings, chosen_embeddings
from ace_graph.learning.curator import for_review, lessons_to_operations
from ace_graph.learning.reflection import Reflection, StoredReflection, find_reflections
from ace_graph.learning.statements.statement import SensitiveFacts
from ace_graph.learning.statements.turn_source import from_trajectory
from ace_graph.memory.bullet import MAX_EXAMPLES, Bullet
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.classify import infer_topic
from ace_graph.memory.commit import Commit, check_expected, operation_id
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.near import joined_by_meaning
from ace_graph.memory.delta.operations import Add, Analyze, Delta, Operation, Remove, Touch, Update
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.rights import not_found
from ace_graph.memory.similarity.compare import are_distinct, compare
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.views import diff
from ace_graph.memory.vocabulary import Vocabulary, vocabulary_of
from ace_graph.playbooks.content import unknown_examples
from ace_graph.playbooks.handle import PlaybookHandle, open_owned

if TYPE_CHECKING:
    from ace_graph.agent.resources import Resources
    from ace_graph.learning.llm_curator import Curated

MAX_REFLECTIONS = 200
AUTHOR = "ace_curator"
_RIVALS_READ = 20
_LESSONS_AT_ONCE = 10
"""What the model curator decides on in one call: as many as a turn may have."""

OnProgress = Callable[[int, int], None]
"""Called with how many lessons are decided on, and how many there are."""


class BulletText(NamedTuple):
    """A bullet's id and its text, after the change where it is still there."""

    id: str
    text: str


class OutdatedBullet(NamedTuple):
    """A bullet that a person may want to remove, and why; `by` is the id of what would take its place."""

    id: str
    text: str
    why: str
    by: str | None = None


@dataclass(frozen=True)
class CuratedReflections:
    """What curating changed in a playbook: the difference of its version and the one before.

    curated     a version was made
    unchanged   the playbook knew all of it, with the same trajectories behind it
    repeated    these reflections were curated before; nothing was done

    `refused` are lessons that were not taken, and why. `outdated` are bullets that did more harm than good,
    or say something else than a lesson that was added on their subject; they stay. `problem` says that the
    model curator failed, so that the rules have decided.
    """

    status: Literal["curated", "unchanged", "repeated"]
    version: Version
    added: tuple[BulletText, ...] = ()
    updated: tuple[BulletText, ...] = ()
    removed: tuple[BulletText, ...] = ()
    refused: tuple[Rejection, ...] = ()
    problem: str | None = None
    outdated: tuple[OutdatedBullet, ...] = ()


async def curate(
    store: Store,
    owner: str,
    reflection_ids: Collection[str],
    name: str = DEFAULT,
    *,
    resources: Resources | None = None,
    embeddings: ChosenEmbeddings = "settings",
    author: str = AUTHOR,
    clock: Callable[[], datetime] = utc_now,
    progress: OnProgress | None = None,
    expected_etag: str | None = None,
) -> CuratedReflections:
    """Take the lessons of an owner's reflections into one of the owner's playbooks, as one version.

    An id names all lessons of a reflection, `ID#2` the second one alone: what was not chosen stays out. The
    bullets name the reflections' trajectories as examples, so a lesson that comes from a new trajectory
    raises the evidence of its bullet by one. A lesson that says in other words what a bullet or another
    lesson says, by its vector, joins that (`embeddings` as for `batch_reflect`). The rules curate; the model
    does where `resources` have one and their settings say so (ACE_CURATOR_USE_LLM). The rules remove nothing;
    what they would remove is `outdated` in the result, for a person to decide. With `expected_etag` it
    changes the version with that etag only, else it raises PlaybookChanged. Raises UsageError without ids and
    for more than 200, ReflectionNotFound for a reflection or a lesson that the owner does not have,
    PlaybookNotFound, PlaybookForbidden, and what the store raises; then nothing was changed.
    """
    target = await open_owned(store, name, owner)
    names = sorted(set(reflection_ids))
    if not names:
        raise UsageError("no reflections given: reflect --batch and trajectory show list their ids")
    if len(names) > MAX_REFLECTIONS:
        raise UsageError(f"{len(names)} reflections are too many at once: give at most {MAX_REFLECTIONS}")
    found = await find_reflections(store, owner, names)
    op_id = operation_id("curate", target.key, *names)
    base = await target.load()
    check_expected(expected_etag, base.version)
    if await _version_of(target, op_id) is not None:
        return await _with_outdated(CuratedReflections("repeated", base.version), base, target)
    sensitive = "ask" if resources is None else resources.settings.sensitive_facts
    labels = vocabulary_of(base.playbook.entries.values())
    taught = await lessons_of(store, owner, found, sensitive if target.named is None else None, labels)
    lessons = [add for _, add in taught]
    joined = await joined_by_meaning(lessons, base.playbook, chosen_embeddings(embeddings))
    adds = await in_slices(_news(joined, base, target.store.policy, clock()))
    held = [add for add in adds if add.status == "quarantined"]
    decidable = [add for add in adds if add.status == "active"]
    curated = await _curated(decidable, found, base, owner, resources, progress)
    allowed = tuple(_allowed(curated.decided.proposals, base))
    operations = (*curated.decided.lessons, *held, *allowed)
    if not operations:
        unchanged = CuratedReflections("unchanged", base.version, problem=curated.error)
        return await _with_outdated(unchanged, base, target)
    if target.named is not None:  # the own memory has counted them when they were reflected on
        # Count the runs that no bullet of the playbook names yet
        known = {run for bullet in base.playbook.bullets() for run in bullet.examples}
        new = {run for each in found for run in each.reflection.runs} - known
        operations = (*operations, *([Analyze(turn_ids=tuple(sorted(new)))] if new else ()))
    reason = f"curated from {len(found)} reflection{'' if len(found) == 1 else 's'}"
    delta = Delta(
        op_id=op_id,
        now=clock(),
        operations=operations,
        author=author,
        reason=f"{reason}: {curated.reasoning}"[:500] if curated.reasoning else reason,
        expected_etag=expected_etag,
    )
    try:
        commit = await target.store.commit(target.key, delta, base)
    except LearnerForgotten as error:
        raise not_found(target.ref.name) from error
    done = await _result(target, commit, op_id, curated.error)
    await target.drop_old_versions(delta.now)
    return await _with_outdated(done, commit.snapshot, target)


async def lessons_of(
    store: Store,
    owner: str,
    found: Sequence[StoredReflection],
    sensitive: SensitiveFacts | None,
    labels: Vocabulary,
) -> list[tuple[StoredReflection, Add]]:
    """Return an Add for each lesson, with the reflection that it is from.

    Trajectories that were cleaned since are no examples any more.

    With `sensitive`, for the owner's memory, a lesson of one trajectory names it and has its words. What
    comes from an unattributed trajectory is for a review.
    """
    runs = frozenset(name for each in found for name in each.reflection.runs)
    stored = await store.find_turns(owner, TrajectoryFilter(turn_ids=runs), limit=len(runs) * 4)
    unattributed = {turn.turn_id for turn in stored if turn.unattributed}
    taught = list[tuple[StoredReflection, Add]]()
    for each in found:
        made = lessons_to_operations(
            each.lessons,
            topic=each.turn.topic or infer_topic(each.turn.task),
            source=each.reflection.turn_id,
            start=len(taught) + 1,
            vocabulary=labels,
        )
        behind = {
            "examples": each.reflection.runs[-MAX_EXAMPLES:],
            "evidence_count": each.reflection.frequency,
        }
        if sensitive is not None and len(each.reflection.runs) == 1:
            made = await run_off_loop(len(each.turn.task), from_trajectory, made, each.turn, sensitive)
        made = [add.model_copy(update=behind) for add in made]
        made = made if unattributed.isdisjoint(each.reflection.runs) else for_review(made)
        taught += [(each, add) for add in made]
    known = await with_known_examples(store, owner, [add for _, add in taught])
    return [(each, add) for (each, _), add in zip(taught, known, strict=True)]


async def with_known_examples(store: Store, owner: str, adds: Sequence[Add]) -> list[Add]:
    """Return the operations without the trajectories that are not stored any more."""
    gone = await unknown_examples(store, owner, adds)
    return [
        add.model_copy(update={"examples": tuple(name for name in add.examples if name not in gone)})
        for add in adds
    ]


def _news(adds: Sequence[Add], base: Snapshot, policy: Policy, now: datetime) -> Steps[list[Add]]:
    """Return in steps the lessons that say something new, or that a new trajectory supports."""
    news, entries = list[Add](), base.playbook.entries
    for add in adds:
        effect = resolve(base, Delta(op_id="probe", now=now, operations=(add,)), policy)
        if not any(set(add.examples) <= set(entries[name].examples) for name in effect.report.reinforced):
            news.append(add)
        yield
    return news


async def _curated(
    adds: Sequence[Add],
    found: Sequence[StoredReflection],
    base: Snapshot,
    owner: str,
    resources: Resources | None,
    progress: OnProgress | None,
) -> Curated:
    """Decide by the rules, or ask the model curator about ten lessons at a time."""

    from langgraph.runtime import Runtime

    from ace_graph.agent.context import ACEContext
    from ace_graph.agent.models import Usage
    from ace_graph.agent.runtime import Run
    from ace_graph.learning.llm_curator import Curated, Decided, curate_with_model

    if resources is None or not resources.settings.curator_use_llm:
        return Curated(Decided(tuple(adds)), Usage())
    context = ACEContext(learner_id=owner)
    run = Run(resources, context, owner, Runtime(context=context))
    curated = Curated(Decided(()), Usage())
    rewrites = resources.store.policy.max_turn_rewrites
    for start in range(0, len(adds), _LESSONS_AT_ONCE):
        asked = adds[start : start + _LESSONS_AT_ONCE]
        # The reflections that these lessons are from
        runs = {name for add in asked for name in add.examples}
        behind = [each for each in found if runs.intersection(each.reflection.runs)]
        task = "\n".join(dict.fromkeys(each.turn.task for each in behind))
        reply = await curate_with_model(asked, task, _analysis(behind), base, run)
        lessons, used = _with_examples(reply.decided.lessons, asked, rewrites)
        rewrites -= used
        decided = curated.decided
        curated = Curated(
            Decided((*decided.lessons, *lessons), (*decided.proposals, *reply.decided.proposals)),
            curated.usage + reply.usage,
            curated.reasoning or reply.reasoning,
            curated.error or reply.error,
            (*curated.raw, *reply.raw),
        )
        if progress is not None:
            progress(min(start + _LESSONS_AT_ONCE, len(adds)), len(adds))
    return curated


def _analysis(found: Sequence[StoredReflection]) -> Reflection:
    """What the reflections say beside their lessons, for the model curator."""
    insights = dict.fromkeys(each.reflection.insight for each in found if each.reflection.insight)
    advice = dict.fromkeys(line for each in found for line in each.reflection.recommendations)
    return Reflection(key_insight="; ".join(insights), correct_approach="; ".join(advice), lessons=[])


def _with_examples(
    decided: Sequence[Operation], asked: Sequence[Add], rewrites: int
) -> tuple[tuple[Operation, ...], int]:
    """The decisions, with the lesson's trajectories as evidence also where a bullet covers it.

    Of new texts for bullets only `rewrites` are taken; the lessons of the others are added. Returns how many
    were taken, too.
    """
    operations, used = list[Operation](), 0
    for add, operation in zip(asked, decided, strict=True):
        match operation:
            case Touch():
                operations.append(Update(bullet_id=operation.bullet_ids[0], examples=add.examples))
            case Update() if used == rewrites:
                operations.append(add)
            case Update():
                operations.append(operation)
                used += 1
            case _:
                operations.append(operation)
    return tuple(operations), used


def _allowed(proposals: Sequence[Operation], base: Snapshot) -> Iterator[Operation]:
    """The proposals without removals that no evidence supports; merges pass the guards later."""
    for operation in proposals:
        bullet = base.playbook.entries.get(operation.bullet_id) if isinstance(operation, Remove) else None
        if not isinstance(operation, Remove) or (bullet is not None and bullet.harmful > bullet.helpful):
            yield operation


async def _version_of(target: PlaybookHandle, op_id: str) -> int | None:
    """Return the version that this commit has made, None where it has made none."""
    versions = await target.store.versions(target.key)
    return next((each.n for each in reversed(versions) if each.op_id == op_id), None)


async def _result(
    target: PlaybookHandle, commit: Commit, op_id: str, problem: str | None
) -> CuratedReflections:
    done = CuratedReflections("unchanged", commit.version, refused=commit.report.rejected, problem=problem)
    if commit.status == "repeated":  # another process has curated the same at this moment
        return replace(done, status="repeated")
    n = await _version_of(target, op_id)
    if n is None:
        return done
    changed = diff(await target.content_at(n - 1), await target.content_at(n))
    return replace(
        done,
        status="curated",
        added=tuple(map(_text, changed.added)),
        updated=tuple(_text(each.after) for each in changed.updated),
        removed=tuple(map(_text, changed.removed)),
    )


async def _with_outdated(
    done: CuratedReflections, present: Snapshot, target: PlaybookHandle
) -> CuratedReflections:
    new = [present.playbook.entries[each.id] for each in done.added if each.id in present.playbook.entries]
    found = await in_slices(outdated_bullets(present.playbook, new, target.store.policy.similarity))
    return replace(done, outdated=tuple(found))


def outdated_bullets(
    playbook: Playbook, new: Sequence[Bullet], similarity: float
) -> Steps[list[OutdatedBullet]]:
    """Find in steps the bullets that did harm, and the rivals of new ones; those of the core are left out."""
    harmed = [b for b in playbook.bullets() if b.harmful > b.helpful and _may_go(b)]
    found = dict[str, OutdatedBullet]()
    for bullet in harmed:
        why = f"did more harm than good (+{bullet.helpful}/-{bullet.harmful})"
        found[bullet.id] = OutdatedBullet(bullet.id, bullet.content, why)
    yield
    names = {bullet.id for bullet in new}
    for bullet in new:
        near = playbook.index.nominate(bullet.content, _RIVALS_READ)
        for other in map(playbook.entries.__getitem__, near):
            if other.id in names or not _may_go(other) or bullet.status != "active":
                continue
            if not are_distinct(bullet, other) and compare(bullet, other, similarity).outcome == "rival":
                why = f"says something else than {bullet.id}"
                named = OutdatedBullet(other.id, other.content, why, bullet.id)
                found.setdefault(other.id, named)
        yield
    return list(found.values())


def _may_go(bullet: Bullet) -> bool:
    return bullet.status == "active" and not bullet.core


def _text(bullet: Bullet) -> BulletText:
    return BulletText(bullet.id, bullet.content)
