"""Which versions of a named playbook keep their content, decided from a list of them (document 004, 7.3).

Kept is the union of three rules, and always the current version: the newest few, all that begin a major
version, and the young ones. So is a version that the undo of a consolidation needs. A store holds the
content of a kept version whole, or as the changes since the version before it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from ace_graph.memory.playbook import Consolidations
from ace_graph.memory.policy import VersionRetention
from ace_graph.memory.snapshot import Label


class _Version(Protocol):
    @property
    def n(self) -> int: ...
    @property
    def label(self) -> Label: ...
    @property
    def at(self) -> datetime: ...
    @property
    def readable(self) -> bool: ...


@dataclass(frozen=True)
class RetentionPlan:
    """From version `base` on all is kept; of the versions in `contents`, `base` too, the content is whole."""

    base: int
    contents: frozenset[int]
    dropped: int


def kept_versions(versions: Sequence[_Version], rule: VersionRetention, now: datetime) -> frozenset[int]:
    """Return the numbers of the versions to keep; `versions` come oldest first."""
    youngest = now - timedelta(days=rule.keep_days)
    newest = versions[-max(1, rule.keep_latest) :]
    kept = {each.n for each in newest} | {each.n for each in versions if each.at >= youngest}
    if rule.keep_all_major:
        kept |= {each.n for each in versions if each.label.minor == 0}
    return frozenset(kept)


def undoable_versions(
    versions: Sequence[_Version], consolidations: Consolidations, undo_days: float, now: datetime
) -> frozenset[int]:
    """Return the versions to keep so that consolidations of the last `undo_days` can be undone.

    That takes all versions since then and the one before them; none where the last one is longer ago.
    """
    begun = now - timedelta(days=undo_days)
    if consolidations.last_at is None or consolidations.last_at < begun:
        return frozenset()
    older = sum(1 for each in versions if each.at < begun)
    return frozenset(each.n for each in versions[max(0, older - 1) :])


def retention_plan(versions: Sequence[_Version], kept: Collection[int]) -> RetentionPlan | None:
    """Return what to hold so that the kept versions stay readable; None where nothing is to be dropped."""
    readable = [each.n for each in versions if each.readable]
    dropped = [n for n in readable if n not in kept]
    if not dropped:
        return None
    base = min(n for n in readable if n > dropped[-1])
    return RetentionPlan(base, frozenset(n for n in readable if n in kept and n <= base), len(dropped))
