"""What a consolidation has done, or would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType

from ace_graph.memory.consolidation.plan import Plan, RefusedGroup
from ace_graph.memory.consolidation.questions import Figures
from ace_graph.memory.snapshot import Snapshot

__all__ = ["Consolidation", "MergedGroup", "Undone", "planned_report"]


@dataclass(frozen=True)
class MergedGroup:
    """Bullets that became one, its text, and its id; in a dry run there is no id yet."""

    ids: tuple[str, ...]
    text: str
    new_id: str | None = None
    figures: Figures = Figures()  # noqa: RUF009  a named tuple

    def json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "ids": list(self.ids),
            "text": self.text,
            "new_id": self.new_id,
            "questions": self.figures._asdict(),
        }


@dataclass(frozen=True)
class Consolidation:
    """The report of one run. `merged` + `preserved` + `untouched` is `total`, all in bullets.

    `version` is the one after the run. `preserved` are protected bullets with the reasons, `refused` groups
    that stay and why, `distinct` bullets that the model calls distinct, `for_model` groups that only a model
    can judge, `left` how many groups wait for the next run. `space_saved_bytes` is how much shorter the
    stored playbook is; it may be negative, because a merged bullet names its sources. `figures` are what the
    questions of all bullets find before and after. `texts` are those of the bullets in any of these groups,
    by id.
    """

    run_id: str
    version: int
    total: int
    groups: tuple[MergedGroup, ...] = ()
    preserved: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    refused: tuple[RefusedGroup, ...] = ()
    distinct: tuple[tuple[str, ...], ...] = ()
    for_model: tuple[tuple[str, ...], ...] = ()
    left: int = 0
    figures: Figures = Figures()  # noqa: RUF009  a named tuple
    space_saved_bytes: int = 0
    commits: int = 0
    dry_run: bool = False
    texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def merged(self) -> int:
        """How many bullets became part of another one."""
        return sum(len(group.ids) for group in self.groups)

    @property
    def untouched(self) -> int:
        """How many bullets are neither merged nor protected."""
        return self.total - self.merged - len(self.preserved)

    def json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "run_id": None if self.dry_run else self.run_id,
            "dry_run": self.dry_run,
            "version": self.version,
            "total": self.total,
            "merged": self.merged,
            "preserved": len(self.preserved),
            "untouched": self.untouched,
            "space_saved_bytes": self.space_saved_bytes,
            "commits": self.commits,
            "groups": [group.json() for group in self.groups],
            "protected": dict(self.preserved),
            "refused": [{"ids": list(group.ids), "why": group.why} for group in self.refused],
            "distinct": [list(ids) for ids in self.distinct],
            "for_model": [list(ids) for ids in self.for_model],
            "left": self.left,
            "questions": self.figures._asdict(),
            "texts": dict(self.texts),
        }


@dataclass(frozen=True)
class Undone:
    """A run that was taken back: its id, the version after it, and the bullets that are back and gone."""

    run_id: str
    version: int
    restored: tuple[str, ...]
    removed: tuple[str, ...]

    def json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "run_id": self.run_id,
            "version": self.version,
            "restored": list(self.restored),
            "removed": list(self.removed),
        }


def planned_report(
    plan: Plan, run_id: str, before: Snapshot, distinct: tuple[tuple[str, ...], ...], *, dry_run: bool
) -> Consolidation:
    """Return the report of a run that does what the plan says to the state `before`."""
    for_model = tuple(group.ids for group in plan.for_model if group.ids not in distinct)
    merged, refused = (each.group.ids for each in plan.groups), (each.ids for each in plan.refused)
    named = chain.from_iterable((*merged, *refused, *distinct, *for_model))
    return Consolidation(
        run_id=run_id,
        version=before.version.n,
        total=plan.total,
        groups=tuple(MergedGroup(each.group.ids, each.text, None, each.figures) for each in plan.groups),
        preserved=plan.preserved,
        refused=plan.refused,
        distinct=distinct,
        for_model=for_model,
        left=plan.left,
        figures=plan.figures,
        space_saved_bytes=plan.space_saved_bytes,
        dry_run=dry_run,
        texts=MappingProxyType({name: before.playbook.entries[name].content for name in named}),
    )
