"""A plan of a commit with its stored texts, most of which are made before a store takes its lock."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from ace_graph.base.off_loop import Steps, in_slices
from ace_graph.memory.commit import CommitPlan
from ace_graph.memory.serialization import dump_effect, dump_report
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.records import record_columns
from ace_graph.memory.stores.snapshot_and_log import (
    Folding,
    Sizes,
    StateHead,
    StoredBase,
    StoredStamps,
    base_checksum,
    dump_base,
    dump_small_access,
    dump_stamps,
    dump_touches,
    folding,
    stamps_checksum,
)
from ace_graph.memory.turn import TurnRecord


class SerializedPlan:
    """A plan and its texts. A base, or stamps, become text when `prepare` foresees that they are written."""

    def __init__(self, plan: CommitPlan, record: TurnRecord | None, kept: int) -> None:
        self.plan = plan
        self.record = record
        self.kept = kept
        self.access_json = dump_small_access(plan.snapshot.access)
        self.touches_json = None if plan.touches is None else dump_touches(plan.touches)
        self.effect_json = dump_effect(plan.effect) if self.in_history else None
        self.report_json = dump_report(plan.effect.report)
        self.record_columns = {} if record is None else record_columns(record)

    @classmethod
    async def of(
        cls, request: CommitRequest, current: Snapshot, unknown: Collection[str] = ()
    ) -> SerializedPlan:
        """Plan a commit onto `current`, away from the event loop; `unknown` trajectories are not stored."""
        return await in_slices(cls.making(request, current, unknown), request.learner)

    @classmethod
    def making(
        cls, request: CommitRequest, current: Snapshot, unknown: Collection[str] = ()
    ) -> Steps[SerializedPlan]:
        """Do what `of` does, in steps."""
        plan = yield from request.planning(current, unknown)
        yield
        return cls(plan, request.new_turn, plan.effects_kept(request.policy))

    @property
    def in_history(self) -> bool:
        """Whether a delta is stored; a turn that changes no content is its own key."""
        return self.plan.content_changed or self.record is None

    @property
    def effect_bytes(self) -> int:
        """The bytes that this commit adds to the effects."""
        return _bytes(self.effect_json) if self.plan.content_changed else 0

    @cached_property
    def base(self) -> StoredBase:
        """The content after the commit, as a base."""
        text, version = dump_base(self.plan.snapshot.playbook), self.plan.snapshot.version
        return StoredBase(version.n, version.etag, base_checksum(version.n, version.etag, text), text)

    @cached_property
    def stamps(self) -> StoredStamps:
        """The stamps after the commit."""
        access = self.plan.snapshot.access
        text = dump_stamps(access.grown)
        return StoredStamps(access.mark, stamps_checksum(access.mark, text), text)

    @property
    def touches_bytes(self) -> int:
        """The bytes that this commit adds to the touches."""
        return _bytes(self.touches_json)

    @property
    def base_bytes(self) -> int:
        """The bytes of the base."""
        return _bytes(self.base.text)

    @property
    def stamps_bytes(self) -> int:
        """The bytes of the stamps."""
        return _bytes(self.stamps.text)

    def prepare(self, head: StateHead) -> None:
        """Make the texts that a fold onto this state needs."""
        folds = self._folding(head, (True, True))
        if folds.content:
            _ = self.base
        if folds.access:
            _ = self.stamps

    def folding(self, head: StateHead) -> Folding:
        """Return what to write whole onto the state with this head; see `base_and_tail.folding`."""
        return self._folding(head, ("base" in vars(self), "stamps" in vars(self)))

    def folding_after(self, head: StateHead) -> Folding:
        """Return what is due to be written whole after the commit, when the head has its bytes already."""
        return folding(head, self.plan, (0, 0), self.kept, (True, True))

    def sizes_after(self, head: StateHead, folds: Folding) -> tuple[Sizes, Sizes]:
        """Return the bytes of content and access part once this is written."""
        content, access = head.content.grown(self.effect_bytes), head.access.grown(self.touches_bytes)
        if folds.content:
            content = Sizes(self.base_bytes)
        if folds.access:
            access = Sizes(self.stamps_bytes)
        return content, access

    def _folding(self, head: StateHead, ready: tuple[bool, bool]) -> Folding:
        sizes = (self.effect_bytes, self.touches_bytes)
        return folding(head, self.plan, sizes, self.kept, ready)


def _bytes(text: str | None) -> int:
    return 0 if text is None else len(text.encode("utf-8", "surrogatepass"))
