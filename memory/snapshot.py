"""What a store hands out: the content, the access part, and the version they were read at.

The access part of a learner's memory: small, and rewritten on every commit.

It holds the access clock, when each bullet was last used, the last turns, and the counts of the trial. The
content (the playbook) is apart, because every turn moves the clock and few turns change a bullet.

A stamp is the access clock at a bullet's last use. What a commit did to stamps can be taken back: its effect
says how they stood before (`Uses`). Commits that changed no bullet have no effect in the history; what they
did to stamps is in `earlier`. `days` says which day a clock value fell on.

Does not: read or write. Stores do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.memory.delta.uses import Uses, differences, restore_stamps
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.trust import Trial, counted, pooled
from ace_graph.memory.turn import RecentTurn, TurnRecord

__all__ = ["RECENT_TURNS_KEPT", "Access", "Snapshot", "Version", "stamps_after", "touch"]


RECENT_TURNS_KEPT = 20
DAYS_KEPT = 1_000


@dataclass(frozen=True)
class Access:
    """`stamps` maps a bullet's id to the access clock at its last use; `trial` counts what trust rests on.

    `earlier` holds the stamps that moved since the content last changed, as they stood then (0 for none).
    `days` holds the first clock value of each day (UTC) with a commit, oldest first; the last 1,000 are kept.
    """

    access_clock: int = 0
    stamps: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    recent_turns: tuple[RecentTurn, ...] = ()
    trial: Trial = Trial()  # noqa: RUF009  a frozen value
    earlier: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    days: tuple[tuple[int, date], ...] = ()

    def last_used(self, bullet_id: str) -> date | None:
        """Return the day on which the bullet was last used; None for never, or where the day is not kept."""
        stamp = self.stamps.get(bullet_id)
        if stamp is None:
            return None
        at = bisect_right(self.days, stamp, key=lambda day: day[0])
        return self.days[at - 1][1] if at else None

    def idle(self, bullet_id: str) -> int:
        """Return the access events since the bullet was last used; 0 for one never stamped."""
        return max(0, self.access_clock - self.stamps.get(bullet_id, self.access_clock))


def touch(
    access: Access,
    ids: Iterable[str],
    record: TurnRecord | None = None,
    *,
    gone: Iterable[str] = (),
    reset: bool = False,
    restamped: Uses | None = None,
    content_changed: bool = True,
    verdicts: Mapping[str, Verdict] = MappingProxyType({}),
    on: date | None = None,
) -> Access:
    """Return the access part after one commit: the clock one further, `ids` stamped, `gone` forgotten.

    `record` joins the last 20 turns (one in progress does not); the same turn coming again takes its old
    place. With `reset` everything starts anew at clock 0 (the playbook was cleared). `restamped` are stamps
    that come back with bullets. `verdicts` are those of turns that were judged now: of a recent one, the
    later verdict replaces the earlier. `on` is the day of the commit.
    """
    if reset:
        return Access()
    clock, stamps = stamps_after(access, ids, gone, restamped)
    known = tuple(_judged(turn, verdicts) for turn in access.recent_turns)
    turns = _with_turn(known, record)
    trial = _recounted(access.trial, access.recent_turns, (*known, *turns[-1:]) if record else known)
    earlier = {} if content_changed else {**differences(access.stamps, stamps), **access.earlier}
    days = _with_day(access.days, clock, on)
    return Access(clock, MappingProxyType(stamps), turns, trial, MappingProxyType(earlier), days)


def stamps_after(
    access: Access, ids: Iterable[str], gone: Iterable[str], restamped: Uses | None = None
) -> tuple[int, dict[str, int]]:
    """Return the clock and the stamps after one commit; the clock never goes back here."""
    clock = max(access.access_clock, restamped.clock if restamped else 0) + 1
    stamps = {**access.stamps, **dict.fromkeys(ids, clock)}
    if restamped:
        restore_stamps(stamps, restamped.stamps)
    for bullet_id in gone:
        stamps.pop(bullet_id, None)
    return clock, stamps


def _with_day(
    days: tuple[tuple[int, date], ...], clock: int, on: date | None
) -> tuple[tuple[int, date], ...]:
    """The days with `on` at this clock value, where it is a later one than the last; clocks may be apart."""
    if on is None or (days and on <= days[-1][1]):
        return days
    return (*days, (clock, on))[-DAYS_KEPT:]


def _judged(turn: RecentTurn, verdicts: Mapping[str, Verdict]) -> RecentTurn:
    verdict = verdicts.get(turn.turn_id, turn.verdict)
    return turn if verdict == turn.verdict else turn.model_copy(update={"verdict": verdict})


def _recounted(trial: Trial, before: Iterable[RecentTurn], after: Iterable[RecentTurn]) -> Trial:
    """Count each turn once, as it stands now; one that left the recent turns stays counted."""
    old, new = ({turn.turn_id: turn for turn in turns} for turns in (before, after))
    changed = [key for key in new if new[key] != old.get(key)]
    added = pooled([trial, *(counted(new[key]) for key in changed)])
    gone = pooled([counted(old.get(key)) for key in changed])
    return Trial(*(max(0, a - b) for a, b in zip(added, gone, strict=True)))


def _with_turn(turns: tuple[RecentTurn, ...], record: TurnRecord | None) -> tuple[RecentTurn, ...]:
    if record is None or record.status == "in_progress":
        return turns
    others = tuple(turn for turn in turns if turn.turn_id != record.turn_id)
    return (*others, record.recent())[-RECENT_TURNS_KEPT:]


class Version(NamedTuple):
    """`n` is for people, the random `etag` names the content, the `epoch` lives from creation to forget.

    A learner without a state has no epoch.
    """

    epoch: str | None = None
    n: int = 0
    etag: str = ""

    def same_content(self, other: Version) -> bool:
        """Whether both name the same content of the same learner's life."""
        return self.epoch is not None and (self.epoch, self.etag) == (other.epoch, other.etag)


@dataclass(frozen=True)
class Snapshot:
    """A learner's memory at one version."""

    playbook: Playbook = field(default_factory=Playbook)
    access: Access = field(default_factory=Access)
    version: Version = field(default_factory=Version)

    @property
    def absent(self) -> bool:
        """Whether nothing is stored for this learner."""
        return self.version.epoch is None
