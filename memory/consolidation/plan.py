"""The plan of a consolidation: what would be merged, what stays, and what is refused and why. Pure.

A dry run prints the plan, a run commits its batches. Every group was resolved as the commit will resolve it,
so both say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.errors import UsageError
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.commit import touched
from ace_graph.memory.consolidation.groups import Group, find_groups
from ace_graph.memory.consolidation.questions import Figures, Question, measure
from ace_graph.memory.delta.consolidate import merged_away, protection_of
from ace_graph.memory.delta.effect import Effect, apply
from ace_graph.memory.delta.operations import Consolidate, Delta, Source
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.policy import Policy
from ace_graph.memory.serialization import dump_playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.views.kinds import BulletKind, kind_of

__all__ = ["Options", "Outlook", "Plan", "PlannedGroup", "RefusedGroup", "make_plan", "planned_group"]

_LEAST_CAP = 50
_CAP_SHARE = 0.25


@dataclass(frozen=True)
class Options:
    """Which bullets a consolidation may merge, and how many at once.

    `kind`, `topic` and `section` select bullets, None selects all. `below`: only bullets of at most this
    importance. `keep_above`: bullets of at least this importance are protected. `batch` is how many bullets
    one commit looks at. `most` is how many bullets a batch may take out of the playbook; by default a
    quarter of the batch, or 50 where that is more. Raises UsageError for values out of range.
    """

    kind: BulletKind | None = None
    topic: str | None = None
    section: str | None = None
    below: float = 0.5
    keep_above: float = 0.8
    batch: int = 1_000
    most: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.below <= 1 or not 0 <= self.keep_above <= 1:
            raise UsageError("an importance is between 0 and 1: correct --below or --keep-above")
        if self.below > self.keep_above:
            raise UsageError("--below is above --keep-above: what is protected is never merged")
        if self.batch < 1 or (self.most is not None and self.most < 1):
            raise UsageError("a batch has at least one bullet: correct --batch")

    def selects(self, bullet: Bullet) -> bool:
        """Whether the bullet is looked at at all."""
        return (
            self.kind in (None, kind_of(bullet))
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
class Plan:
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
) -> Plan:
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
    return Plan(
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
    outlook: Outlook, group: Group, text: str, keep_above: float
) -> PlannedGroup | RefusedGroup:
    """Return the group with this text, or why it is refused: by the operation, or by its questions."""
    originals = _originals(outlook, group.bullets)
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
    figures = measure(asked, outlook.snapshot, _after(outlook, effect), outlook.policy, outlook.now)
    if figures.lowered:
        return RefusedGroup(group.ids, f"its questions would find less: {figures}")
    return PlannedGroup(group, operation, figures)


def _originals(outlook: Outlook, bullets: Iterable[Bullet]) -> list[Bullet]:
    """The bullets that earlier merges made these of, as far as they are kept."""
    names = dict.fromkeys(name for bullet in bullets for name in sorted(merged_away(bullet)))
    found = (outlook.originals(name) for name in names)
    return [bullet for bullet in found if bullet is not None]


def _effect(outlook: Outlook, operations: Sequence[Consolidate]) -> Effect:
    delta = Delta(op_id="plan", now=outlook.now, operations=tuple(operations))
    return resolve(outlook.snapshot, delta, outlook.policy)


def _after(outlook: Outlook, effect: Effect) -> Snapshot:
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
    after = _after(outlook, _effect(outlook, operations))
    figures = measure(outlook.questions, outlook.snapshot, after, outlook.policy, outlook.now)
    sizes = [len(dump_playbook(each.playbook).encode()) for each in (outlook.snapshot, after)]
    return figures, sizes[0] - sizes[1]
