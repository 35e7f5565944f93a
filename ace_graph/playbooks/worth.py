"""A playbook with the evidence on its bullets: its figures, its audit, one bullet with the runs behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import ChangeRefused
from ace_graph.base.frozen import Frozen
from ace_graph.base.off_loop import in_slices
from ace_graph.memory.audit import Audit, auditing
from ace_graph.memory.bullet import Bullet, Hides
from ace_graph.memory.confidence import (
    Effectiveness,
    EvidenceIndex,
    PlaybookMetadata,
    effectiveness_of,
    metadata_of,
)
from ace_graph.memory.consolidation import ConsolidationWork
from ace_graph.memory.decay import mean_decay_score
from ace_graph.memory.foreign import foreign_prefix
from ace_graph.memory.playbook import PlaybookStats
from ace_graph.memory.policy import Policy
from ace_graph.memory.rights import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.memories import trajectories_behind
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trust import lift, proven, share_withheld
from ace_graph.memory.turn import TurnRecord
from ace_graph.memory.usage import OWN_PLAYBOOK, PlaybookUsage
from ace_graph.memory.views import CATEGORIES, kind_of
from ace_graph.playbooks.handle import PlaybookHandle
from ace_graph.playbooks.sharing import shown_readers, who_may

_MAX_READERS = 500


class ReaderUse(Frozen):
    """How one reader, who lets the owners see it, used a playbook."""

    learner: str
    usage_count: int
    success_rate: float | None
    last_used_at: datetime | None


class Worth(NamedTuple):
    """A playbook, the records behind its bullets, and how its reader used it.

    `readers` are those who show an owner their use.
    """

    snapshot: Snapshot
    policy: Policy
    turns: tuple[TurnRecord, ...]
    effectiveness: Effectiveness
    readers: tuple[ReaderUse, ...] = ()

    @property
    def metadata(self) -> PlaybookMetadata:
        """What was done to make the playbook what it is."""
        return metadata_of(self.snapshot)

    @property
    def evidence(self) -> EvidenceIndex:
        """The evidence on each bullet."""
        return EvidenceIndex(self.snapshot, self.turns)


class PlaybookFigures(PlaybookStats):
    """The counts of `Playbook.stats()`, and how the playbook was used.

    `lift` is that of the unproven bullets with its 95 % interval, None until turns with and without them were
    judged; `withheld_share` is the share of turns without them. `core` bullets are candidates for every
    prompt. `used_by` counts the learners whose turns `usage_count` counts; `readers` are, for an owner, those
    of them who show their use. Means are None where nothing is counted.
    """

    version: int | None
    core: int
    mean_strength: float
    access_clock: int
    max_bullets: int
    proven: int
    withheld_share: float
    lift: dict[str, float] | None
    kinds: dict[str, int]
    categories: dict[str, int]
    mean_confidence: float | None
    usage_count: int
    success_rate: float | None
    avg_improvement: float | None
    last_used_at: datetime | None
    used_by: int
    readers: tuple[ReaderUse, ...]
    total_trajectories_analyzed: int
    consolidation_count: int
    last_consolidated: datetime | None


def active_bullets(snapshot: Snapshot) -> list[Bullet]:
    """Return the bullets that are not in quarantine."""
    return [b for b in snapshot.playbook.bullets() if b.status == "active"]


def bullet_named(snapshot: Snapshot, bullet_id: str) -> Bullet:
    """Return the bullet of this id, or the one that it was merged into. Raises ChangeRefused."""
    playbook = snapshot.playbook
    found = playbook.get_bullet(playbook.aliases.get(bullet_id, bullet_id))
    if found is None:
        raise ChangeRefused(f"{bullet_id}: unknown id: playbook show lists the ids")
    return found


async def read_worth(
    store: Store,
    target: PlaybookHandle,
    reader: str,
    chosen: Callable[[Snapshot], Iterable[Bullet]] = active_bullets,
) -> Worth:
    """Return a playbook, how it was used, and the reader's records behind the bullets that `chosen` returns.

    To an owner of a named playbook the use by all who may read it counts, of 500 at most, and without names
    but of those who show theirs (`show_use`); to others their own. Members of a team count where the store's
    table has it. Raises what `chosen` and the store raise.
    """
    own = await store.load(reader)
    snapshot, used_as, others = own, OWN_PLAYBOOK, dict[str, PlaybookUsage]()
    shown = frozenset[str]()
    if target.named is not None:
        snapshot = await target.load()
        used_as = foreign_prefix(target.ref.owner or "", target.ref.name).removesuffix(":")
        if await target.may(Right.OWN):
            readers = (await who_may(target, Right.READ))[:_MAX_READERS]
            shown = await shown_readers(target)
            others = {each: await _use_by(store, each, used_as, target) for each in readers if each != reader}
    turns = await trajectories_behind(store, reader, snapshot, list(chosen(snapshot)))
    named = tuple(
        ReaderUse(
            learner=each,
            usage_count=use.turns,
            success_rate=use.success_rate,
            last_used_at=use.last_used_at,
        )
        for each, use in others.items()
        if each in shown and use.turns
    )
    used = effectiveness_of(own, used_as, others.values())
    return Worth(snapshot, store.policy, turns, used, named)


async def _use_by(store: Store, learner: str, used_as: str, target: PlaybookHandle) -> PlaybookUsage:
    """How a learner used the playbook; what they used before it was created had its name only."""
    use = (await store.load(learner)).access.usage.get(used_as, PlaybookUsage())
    made = target.entry.created_at if target.entry is not None else None
    if made is not None and use.last_used_at is not None and use.last_used_at < made:
        return PlaybookUsage()
    return use


def figures_of(found: Worth, now: datetime) -> PlaybookFigures:
    """Return the figures of a playbook."""
    snapshot, policy, active = found.snapshot, found.policy, active_bullets(found.snapshot)
    evidence, measured = found.evidence, lift(snapshot.access.trial)
    return PlaybookFigures(
        version=None if snapshot.absent else snapshot.version.n,
        **snapshot.playbook.stats().model_dump(),
        core=sum(b.core for b in active),
        mean_strength=mean_decay_score(active, snapshot.access, policy.decay),
        access_clock=snapshot.access.access_clock,
        max_bullets=policy.max_bullets,
        proven=sum(map(proven, active)),
        withheld_share=share_withheld(
            snapshot.access.trial, policy.holdout_rate, snapshot.access.access_clock
        ),
        lift=None
        if measured is None
        else {name: round(value, 4) for name, value in measured._asdict().items()},
        kinds=dict(Counter(map(kind_of, active))),
        categories=dict(Counter(CATEGORIES[b.polarity] for b in active)),
        mean_confidence=sum(evidence.confidence(b, now) for b in active) / len(active) if active else None,
        **found.effectiveness.model_dump(),
        readers=found.readers,
        **found.metadata.model_dump(),
    )


async def audit(
    target: PlaybookHandle,
    *,
    consolidates: bool = True,
    hides: Hides = lambda _: None,
    now: datetime | None = None,
) -> Audit:
    """Return what is rotten in a playbook; a finding that the caller may not mend has no act.

    How bullets were used is known of the own memory alone. `consolidates`: whether the caller may. `hides`
    says which texts the report must not hold. Raises what the store raises.
    """
    snapshot = await target.load()
    access = snapshot.access if target.named is None else None
    steps = auditing(snapshot.playbook, access, target.store.policy, now or utc_now(), hides)
    found, writes = await in_slices(steps, target.ref.owner), await target.may(Right.WRITE)
    owns = consolidates and target.asked is None
    findings = tuple(
        each if (owns if isinstance(each.act, ConsolidationWork) else writes) else each.without_act()
        for each in found.findings
    )
    version = None if snapshot.absent else snapshot.version.n
    return found.model_copy(update={"findings": findings, "version": version})
