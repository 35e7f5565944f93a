"""Consolidation: which bullets could be one, what of them must not be lost, and how it is taken back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, ValidationError

from ace_graph.base.errors import CorruptPayload, UsageError
from ace_graph.base.frozen import Frozen
from ace_graph.base.off_loop import Steps, finish
from ace_graph.memory.bullet import LEFT_OUT, Bullet, MemoryType, Text
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.commit import CommitPlan, Pending, PendingItem, operation_id
from ace_graph.memory.delta.consolidate import merged_away, protection_of
from ace_graph.memory.delta.effect import Consolidated, Effect, apply
from ace_graph.memory.delta.operations import Consolidate, Delta, Source
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.retrieve import retrieve
from ace_graph.memory.serialization import dump_playbook
from ace_graph.memory.similarity.compare import are_distinct, compare, mergeable_scope
from ace_graph.memory.similarity.losses import items_of, losses
from ace_graph.memory.snapshot import Snapshot, touched
from ace_graph.memory.turn import TurnRecord
from ace_graph.memory.views import BulletFilter, BulletKind, BulletStatus, kind_of

# Groups of bullets that could be one, in a playbook.
#
#     by rules    every member says what the first one says (`compare`), so its text stands for all
#     for a model  the members are alike, but no rule can tell whether they say the same
#
# The first one of a group is its most informative text: the most numbers, names and the like, then the
# longest. That depends on texts alone, not on votes; so a second pass over what the first one made finds
# nothing.


MAX_GROUP = 64
"""The most members of a group by rules."""
MAX_PROPOSED = 8
"""The most members of a group for a model, which has to read them all."""
_NOMINATED = 64
_ALIKE = 0.5
"""The similarity from which a pair that no rule can judge is shown to a model."""
_OPEN_GUARDS = (None, "words", "subject", "symbol")
"""What may differ between such a pair; numbers, units, negations, opposites, directions and order may not."""


@dataclass(frozen=True)
class Group:
    """Bullets that could be one, the most informative first; `by` says who can tell if they are."""

    bullets: tuple[Bullet, ...]
    by: Literal["rules", "model"] = "rules"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the members."""
        return tuple(bullet.id for bullet in self.bullets)


@dataclass(frozen=True)
class Candidates:
    """The bullets to group, the most informative first, and for each the ids of those that may be alike."""

    playbook: Playbook
    ordered: tuple[Bullet, ...]
    close: Mapping[str, set[str]]


Fits = Callable[[Sequence[Bullet], Bullet], bool]
"""Whether one more bullet may join the members of a group, of whom there is at least one."""


def find_groups(playbook: Playbook, bullets: Iterable[Bullet], similarity: float) -> tuple[Group, ...]:
    """Return the groups among `bullets` of the playbook, those by rules first; a bullet is in one at most.

    `similarity` (0-1) is what two texts need to count as the same. The order of the bullets changes nothing.
    """
    candidates = finish(find_candidates(playbook, bullets, _NOMINATED))
    by_rules = grouped(candidates, partial(_same, similarity), MAX_GROUP)
    taken = {name for members in by_rules for name in (bullet.id for bullet in members)}
    for_model = grouped(candidates, partial(_alike, similarity), MAX_PROPOSED, taken)
    return (
        *(Group(tuple(members)) for members in by_rules),
        *(Group(tuple(members), "model") for members in for_model),
    )


def find_candidates(playbook: Playbook, bullets: Iterable[Bullet], nominated: int) -> Steps[Candidates]:
    """Return in steps which bullets may be alike: those of one text, and the likeliest of each.

    Of one text each is close to the next MAX_GROUP alone, and the likeliest are looked for once, so that the
    work grows with the number of bullets however many say the same.
    """
    ordered = sorted(bullets, key=_information)
    close: dict[str, set[str]] = {bullet.id: set() for bullet in ordered}
    of_text: dict[str, list[str]] = {}
    for bullet in ordered:
        of_text.setdefault(bullet.content_hash, []).append(bullet.id)
    for names in of_text.values():
        likeliest = playbook.index.nominate(playbook.entries[names[0]].content, nominated)
        others = close.keys() & set(likeliest) - set(names)
        for place, name in enumerate(names):
            yield
            for other in (*others, *names[place + 1 : place + MAX_GROUP]):
                close[name].add(other)
                close[other].add(name)
    return Candidates(playbook, tuple(ordered), close)


def similar_groups(playbook: Playbook, similarity: float = 0.9) -> tuple[tuple[str, ...], ...]:
    """Return the ids of bullets that could be one, group by group, of a whole playbook."""
    return tuple(group.ids for group in find_groups(playbook, playbook.bullets(), similarity))


def _information(bullet: Bullet) -> tuple[int, int, str, str]:
    return -len(items_of(bullet.content)), -len(bullet.content), bullet.content, bullet.id


def grouped(candidates: Candidates, fits: Fits, most: int, taken: Collection[str] = ()) -> list[list[Bullet]]:
    """Group each bullet that is left with those left that fit, beginning with the most informative."""
    place = {bullet.id: at for at, bullet in enumerate(candidates.ordered)}
    used, found = set(taken), list[list[Bullet]]()
    for first in candidates.ordered:
        if first.id in used:
            continue
        members = [first]
        for name in sorted(candidates.close[first.id] - used, key=place.__getitem__):
            other = candidates.playbook.entries[name]
            apart = (are_distinct(each, other) or not mergeable_scope(each, other) for each in members)
            if len(members) < most and not any(apart) and fits(members, other):
                members.append(other)
        if len(members) > 1:
            used.update(bullet.id for bullet in members)
            found.append(members)
    return found


def _same(similarity: float, members: Sequence[Bullet], other: Bullet) -> bool:
    """Whether the first one's text can stand for the other one, too."""
    first = members[0]
    if first.content_hash == other.content_hash:
        return True
    if losses([other.content], first.content) or compare(first, other, similarity).outcome != "same":
        return False
    return all(compare(each, other, similarity).outcome != "rival" for each in members[1:])


def _alike(similarity: float, members: Sequence[Bullet], other: Bullet) -> bool:
    """Whether a model should tell if the other one says what the members say."""
    compared = [compare(each, other, similarity) for each in members]
    return all(
        each.outcome != "rival" and each.guard in _OPEN_GUARDS and each.score >= _ALIKE for each in compared
    )


# Whether bullets are still found by the questions that they came from, once some of them are one.
#
# For every question the memory is searched before and after. A bullet of that question counts as found
# where it is retrieved, or the bullet that took it up. The search is the lexical one of every turn, with
# the same budget of tokens; embeddings are left out, so that the figures are the same wherever they are
# computed.


@dataclass(frozen=True)
class Question:
    """The question of a turn, and the bullets that were learned from it or cited in its answer.

    `turn_id` and `verdict` are those of the turn.
    """

    text: str
    topic: str | None
    bullet_ids: tuple[str, ...]
    turn_id: str = ""
    verdict: Verdict = "unknown"


class Figures(NamedTuple):
    """How many pairs of a question and a bullet of it there are, and in how many the bullet is found."""

    pairs: int = 0
    before: int = 0
    after: int = 0

    @property
    def lowered(self) -> bool:
        """Whether fewer are found than before."""
        return self.after < self.before

    def __str__(self) -> str:
        return f"found {self.before} of {self.pairs} before, {self.after} after"


def questions_of(turns: Iterable[TurnRecord], playbook: Playbook) -> tuple[Question, ...]:
    """Return the questions of these turns, in their order, that bullets of the playbook belong to."""
    taught: dict[str, list[str]] = {}
    for bullet in playbook.entries.values():
        for turn_id in bullet.examples:
            taught.setdefault(turn_id, []).append(bullet.id)
    found: list[Question] = []
    for turn in turns:
        named = (playbook.aliases.get(name, name) for name in (*taught.get(turn.turn_id, ()), *turn.cited))
        ids = tuple(dict.fromkeys(name for name in named if name in playbook.entries))
        if ids and turn.task and not turn.deleted:
            found.append(Question(turn.task, turn.topic, ids, turn.turn_id, turn.verdict))
    return tuple(found)


def measure(
    questions: Sequence[Question], before: Snapshot, after: Snapshot, policy: Policy, now: datetime
) -> Figures:
    """Return what the questions find in two states of one memory; a successor counts for what it replaces."""
    pairs = found_before = found_after = 0
    for question in questions:
        old, new = (_found(question, state, policy, now) for state in (before, after))
        for name in question.bullet_ids:
            pairs += 1
            found_before += _present(name, before.playbook) in old
            found_after += _present(name, after.playbook) in new
    return Figures(pairs, found_before, found_after)


def _present(name: str, playbook: Playbook) -> str:
    """The bullet that a merged or superseded one has become."""
    name = playbook.aliases.get(name, name)
    return playbook.tombstones.get(name, name)


def _found(question: Question, state: Snapshot, policy: Policy, now: datetime) -> set[str]:
    found = retrieve(question.text, state.playbook, state.access, policy, now=now, topic=question.topic)
    return {scored.bullet.id for scored in (*found.core, *found.retrieved)}


# The plan of a consolidation: what would be merged, what stays, and what is refused and why. Pure.
#
# A dry run prints the plan, a run commits its batches. Every group was resolved as the commit will resolve
# it, so both say the same.


_LEAST_CAP = 50
_CAP_SHARE = 0.25


_EVERY: frozenset[BulletStatus] = frozenset({"active", "quarantined"})


@dataclass(frozen=True)
class Options:
    """Which bullets a consolidation may merge, and how many at once.

    `kind`, `topic` and `section` select bullets, None selects all; so do `memory_types`, any of them, and
    `tags`, all of them. `below`: only bullets of at most this importance. `keep_above`: bullets of at least
    this importance are protected; None: none is for its importance (document 004, 3.1). `batch` is how many
    bullets one commit looks at. `most` is how many bullets a batch may take out of the playbook; by default a
    quarter of the batch, or 50 where that is more. Raises UsageError for values out of range.
    """

    kind: BulletKind | None = None
    topic: str | None = None
    section: str | None = None
    below: float = 0.5
    keep_above: float | None = 0.8
    batch: int = 1_000
    most: int | None = None
    memory_types: frozenset[MemoryType] = frozenset()
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.below <= 1 or not (self.keep_above is None or 0 <= self.keep_above <= 1):
            raise UsageError("an importance is between 0 and 1: correct --below or --keep-above")
        if self.keep_above is not None and self.below > self.keep_above:
            raise UsageError("--below is above --keep-above: what is protected is never merged")
        if self.batch < 1 or (self.most is not None and self.most < 1):
            raise UsageError("a batch has at least one bullet: correct --batch")

    def selects(self, bullet: Bullet) -> bool:
        """Whether the bullet is looked at at all."""
        shown = BulletFilter(_EVERY, self.tags, self.memory_types)
        return (
            shown.passes(bullet)
            and self.kind in (None, kind_of(bullet))
            and (self.topic is None or (bullet.topic or "").casefold() == self.topic.casefold())
            and self.section in (None, bullet.section)
            and bullet.importance <= self.below
        )

    @property
    def cap(self) -> int:
        """How many bullets one batch may take out of the playbook."""
        return self.most or max(_LEAST_CAP, int(self.batch * _CAP_SHARE))


@dataclass(frozen=True)
class PlannedGroup:
    """A group with the text of its new bullet, and what its questions find before and after."""

    group: Group
    operation: Consolidate
    figures: Figures = Figures()  # noqa: RUF009  a named tuple

    @property
    def text(self) -> str:
        """The text of the new bullet."""
        return self.operation.content


class RefusedGroup(NamedTuple):
    """Bullets that stay as they are although they are alike, and why."""

    ids: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class ConsolidationPlan:
    """What a consolidation of one version would do. Every bullet is merged, preserved or untouched.

    `preserved` maps protected bullets to the reason. `batches` holds the groups by commit, `for_model` groups
    that only a model can judge. `left` counts groups that wait for the next pass, because of the cap.
    """

    total: int
    batches: tuple[tuple[PlannedGroup, ...], ...] = ()
    preserved: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    refused: tuple[RefusedGroup, ...] = ()
    for_model: tuple[Group, ...] = ()
    left: int = 0
    figures: Figures = Figures()  # noqa: RUF009  a named tuple
    space_saved_bytes: int = 0

    @property
    def groups(self) -> tuple[PlannedGroup, ...]:
        """The groups of all batches, in order."""
        return tuple(group for batch in self.batches for group in batch)

    @property
    def merged(self) -> int:
        """How many bullets become part of a new one."""
        return sum(len(planned.group.bullets) for planned in self.groups)

    @property
    def untouched(self) -> int:
        """How many bullets are neither merged nor protected."""
        return self.total - self.merged - len(self.preserved)


@dataclass(frozen=True)
class Outlook:
    """What a plan is made of: one version of a memory, and what is known beside it.

    `originals` finds a bullet that an earlier merge archived, None where it is not kept any more. `questions`
    are those that the bullets came from.
    """

    snapshot: Snapshot
    policy: Policy
    now: datetime
    originals: Callable[[str], Bullet | None] = lambda _: None
    questions: tuple[Question, ...] = ()


def make_plan(
    outlook: Outlook, options: Options, texts: Mapping[tuple[str, ...], str] = MappingProxyType({})
) -> ConsolidationPlan:
    """Return the plan: groups by rules with the text of their most informative member, others with `texts`.

    `texts` are what a model wrote for groups that no rule can judge, by the ids of their members.
    """
    playbook = outlook.snapshot.playbook
    reasons = ((b.id, protection_of(b, options.keep_above)) for b in playbook.entries.values())
    preserved = {name: why for name, why in reasons if why is not None}
    eligible = [b for b in playbook.entries.values() if b.id not in preserved and options.selects(b)]
    groups = find_groups(playbook, eligible, outlook.policy.similarity)
    planned: list[PlannedGroup] = []
    refused: list[RefusedGroup] = []
    for group in groups:
        text = group.bullets[0].content if group.by == "rules" else texts.get(group.ids)
        if text is None:
            continue
        found = planned_group(outlook, group, text, options.keep_above)
        if isinstance(found, PlannedGroup):
            planned.append(found)
        else:
            refused.append(found)
    batches, left = _batched(planned, eligible, options)
    figures, saved = _outcome(outlook, batches)
    if figures.lowered:
        all_refused = [RefusedGroup(p.group.ids, f"the plan lowers retrieval: {figures}") for p in planned]
        refused, batches, left, saved = [*refused, *all_refused], (), 0, 0
    return ConsolidationPlan(
        total=len(playbook),
        batches=batches,
        preserved=MappingProxyType(preserved),
        refused=tuple(refused),
        for_model=tuple(each for each in groups if each.by == "model" and each.ids not in texts),
        left=left,
        figures=figures,
        space_saved_bytes=saved,
    )


def planned_group(
    outlook: Outlook, group: Group, text: str, keep_above: float | None
) -> PlannedGroup | RefusedGroup:
    """Return the group with this text, or why it is refused: by the operation, or by its questions."""
    # The bullets that earlier merges made these of, as far as they are kept
    names = dict.fromkeys(name for bullet in group.bullets for name in sorted(merged_away(bullet)))
    found = (outlook.originals(name) for name in names)
    originals = [bullet for bullet in found if bullet is not None]
    operation = Consolidate(
        sources=tuple(Source(bullet_id=b.id, content_hash=b.content_hash) for b in group.bullets),
        content=text,
        originals=tuple(originals),
        keep_above=keep_above,
    )
    effect = _effect(outlook, [operation])
    if effect.report.rejected:
        return RefusedGroup(group.ids, effect.report.rejected[0].why)
    own = set(group.ids)
    asked = [question for question in outlook.questions if own & set(question.bullet_ids)]
    if not asked:
        return PlannedGroup(group, operation)
    figures = measure(asked, outlook.snapshot, after_effect(outlook, effect), outlook.policy, outlook.now)
    if figures.lowered:
        return RefusedGroup(group.ids, f"its questions would find less: {figures}")
    return PlannedGroup(group, operation, figures)


def _effect(outlook: Outlook, operations: Sequence[Consolidate]) -> Effect:
    delta = Delta(op_id="plan", now=outlook.now, operations=tuple(operations))
    return resolve(outlook.snapshot, delta, outlook.policy)


def after_effect(outlook: Outlook, effect: Effect) -> Snapshot:
    """Return the memory as it is after an effect."""
    before = outlook.snapshot
    return Snapshot(apply(before.playbook, effect), touched(before.access, effect), before.version)


def _batched(
    planned: Sequence[PlannedGroup], eligible: Sequence[Bullet], options: Options
) -> tuple[tuple[tuple[PlannedGroup, ...], ...], int]:
    """The groups by batch of bullets, in the order of the playbook, and how many exceed the cap.

    A group is never split, and is in the batch of its first member; batches without a group are left out.
    """
    of = {name: group for group in planned for name in group.group.ids}
    batches: list[list[PlannedGroup]] = [[]]
    looked_at = taken = left = 0
    seen: set[str] = set()
    for bullet in eligible:
        if bullet.id in seen:
            continue
        group = of.get(bullet.id)
        ids = group.group.ids if group is not None else (bullet.id,)
        seen.update(ids)
        if looked_at and looked_at + len(ids) > options.batch:
            batches.append([])
            looked_at = taken = 0
        looked_at += len(ids)
        if group is not None and taken + len(ids) - 1 <= max(options.cap, len(ids) - 1 if not taken else 0):
            batches[-1].append(group)
            taken += len(ids) - 1
        elif group is not None:
            left += 1
    return tuple(tuple(batch) for batch in batches if batch), left


def _outcome(outlook: Outlook, batches: Sequence[Sequence[PlannedGroup]]) -> tuple[Figures, int]:
    """What all questions find before and after the whole plan, and the bytes that it saves."""
    operations = [group.operation for batch in batches for group in batch]
    if not operations:
        return Figures(), 0
    after = after_effect(outlook, _effect(outlook, operations))
    figures = measure(outlook.questions, outlook.snapshot, after, outlook.policy, outlook.now)
    sizes = [len(dump_playbook(each.playbook).encode()) for each in (outlook.snapshot, after)]
    return figures, sizes[0] - sizes[1]


# When a learner's memory is consolidated, or dreamed of, in the background, and the work stored for it. Pure.
#
# A commit after which the memory has more than `Policy.consolidate_above` bullets stores an item of pending
# work in its own transaction. The next one is stored after growth of 10 %: that many bullets were added
# since, counted by the id counter, so that a memory at its cap, where each new bullet takes the place of
# another, is consolidated again as well.
#
# The id of the run follows from that of the last run that ended. So while one is pending, or a dead letter,
# the same one becomes due again, and the store has it already. A dream is due after a number of turns that
# were reflected on.


RUN = "consolidation "
"""What the source of each commit of a run and the `turn_id` of its item begin with; the run's id follows."""
_GROWTH = 0.1
_PRIORITY = -1.0
"""Learning goes first: a turn that was answered should count for the next one."""


class ConsolidationWork(Frozen):
    """A consolidation to run later, or a dream: of which playbook of the learner, which bullets it selects.

    The field names are stored. With `expected_etag` it is for the version with that etag only. What is not
    selected here follows the policy of the store then.
    """

    work: Literal["consolidate", "dream"] = "consolidate"
    name: Text = DEFAULT
    kind: BulletKind | None = None
    topic: Text | None = None
    section: Text | None = None
    below: Annotated[float, Field(ge=0, le=1)] = 0.5
    keep_above: Annotated[float, Field(ge=0, le=1)] | None = 0.8
    memory_types: Annotated[tuple[MemoryType, ...], LEFT_OUT] = ()
    tags: Annotated[tuple[Text, ...], LEFT_OUT] = ()
    expected_etag: Annotated[Text | None, Field(exclude_if=lambda value: value is None)] = None

    def options(self, batch: int) -> Options:
        """Return which bullets it may merge."""
        return Options(
            self.kind,
            self.topic,
            self.section,
            below=self.below if self.keep_above is None else min(self.below, self.keep_above),
            keep_above=self.keep_above,
            batch=batch,
            memory_types=frozenset(self.memory_types),
            tags=self.tags,
        )

    def as_pending(self, run_id: str) -> Pending:
        """Return the item to store; the run has its id."""
        return Pending(
            pending_id=run_id, turn_id=f"{RUN}{run_id}", body=self.model_dump_json(), priority=_PRIORITY
        )


def is_run(item: Pending) -> bool:
    """Whether the item is a consolidation."""
    return item.turn_id == f"{RUN}{item.pending_id}"


def read_consolidation(item: Pending) -> ConsolidationWork | None:
    """Return the consolidation that an item asks for, None for other work.

    Raises CorruptPayload for one that can't be read.
    """
    if not is_run(item):
        return None
    try:
        return ConsolidationWork.model_validate_json(item.body)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise CorruptPayload(f"the consolidation can't be read ({where}: {first['msg']})") from error


def with_schedule(
    plan: CommitPlan, policy: Policy, learner: str, work: Pending | PendingItem | None = None
) -> CommitPlan:
    """Return the plan with the consolidation or the dream that it makes due, if it does, and the note of it.

    `work` is what the caller stores or completes with the commit. Growth counts from the last consolidation,
    however it came about: stored here, stored or completed by the caller, or made by this commit.
    """
    ran = work is not None and is_run(work)
    merged = any(isinstance(change, Consolidated) for change in plan.effect.changes)
    due = not ran and not merged and plan.content_changed and _is_due(plan.snapshot, policy)
    dreams = not ran and not due and bool(plan.effect.analyzed) and _dream_is_due(plan.snapshot, policy)
    if not (ran or merged or due or dreams):
        return plan
    access, playbook = plan.snapshot.access, plan.snapshot.playbook
    note, asked = access.consolidation, None
    with suppress(CorruptPayload):
        asked = None if work is None else read_consolidation(work)
    if due or merged or (asked is not None and asked.work == "consolidate" and asked.name == DEFAULT):
        note = note._replace(next_id=playbook.next_id)
    if ran and isinstance(work, PendingItem) and (asked is None or asked.work == "consolidate"):
        note = note._replace(ended=ended_run(work.pending_id, DEFAULT if asked is None else asked.name))
    if dreams:
        note = note._replace(dreamed=access.analyzed)
    snapshot = replace(plan.snapshot, access=replace(access, consolidation=note))
    if not (due or dreams):
        return replace(plan, snapshot=snapshot)
    counted = (str(access.analyzed), str(playbook.next_id)) if dreams else (note.ended,)
    made = ConsolidationWork(work="dream" if dreams else "consolidate")
    run_id = operation_id("consolidation", learner, snapshot.version.epoch or "", *counted)
    return replace(plan, snapshot=snapshot, scheduled=made.as_pending(run_id))


def ended_run(run_id: str, name: str) -> str:
    """Return what `ConsolidationNote.ended` says once a run on the playbook of this name has ended."""
    return run_id if name == DEFAULT else f"{run_id} {name}"


def _is_due(snapshot: Snapshot, policy: Policy) -> bool:
    size = len(snapshot.playbook)
    if policy.consolidate_above is None or size <= policy.consolidate_above:
        return False
    return snapshot.playbook.next_id - snapshot.access.consolidation.next_id > _GROWTH * size


def _dream_is_due(snapshot: Snapshot, policy: Policy) -> bool:
    access = snapshot.access
    return (
        policy.dream_after is not None
        and access.analyzed - access.consolidation.dreamed >= policy.dream_after
    )
