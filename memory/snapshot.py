"""A snapshot of a learner's memory: its content, its access part, and the version of both.

The access part holds the access clock, the last use of each bullet, the recent turns, and the counts of the
holdout experiment. It is separate from the content (the playbook), because every turn moves the clock and few
turns change a bullet.

A stamp is the access clock at a bullet's last use. The stamps that a commit moved can be restored, because
its effect records their earlier values (`Uses`). Commits that changed no bullet have no effect in the
history; the earlier values of their stamps are in `earlier`. `days` maps clock values to days.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.memory.delta.effect import Effect
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.trust import Trial, counted, pooled
from ace_graph.memory.turn import RecentTurn, TurnRecord
from ace_graph.memory.usage import OWN_PLAYBOOK, PlaybookUsage, TurnChange, recounted_usage
from ace_graph.memory.use_stamps import (
    QuestionTerms,
    Stamps,
    Touches,
    after_touches,
    asked_terms,
    moved_stamps,
)

# The label of a version for people: `major.minor`, beside the number that counts every change.
#
# The first content is 1.0. Replacing or rolling back a playbook raises the major number, any other change
# the minor one. An amendment changes the content and keeps the label.


class Label(NamedTuple):
    """Prints as `2.5`. A playbook without any content yet has 0.0."""

    major: int = 0
    minor: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    def after(self, *, replaced: bool) -> Label:
        """Return the label of the version after this one; `replaced`: it does not build on this one."""
        if replaced or not self.major:
            return Label(self.major + 1, 0)
        return Label(self.major, self.minor + 1)


RECENT_TURNS_KEPT = 20


class ConsolidationNote(NamedTuple):
    """`next_id` is the id counter at the last consolidation, `ended` the last run that a worker has ended.

    After the id of a run on a named playbook comes a space and the playbook's name. `dreamed` is how many
    trajectories had been reflected on when a dream was last due.
    """

    next_id: int = 0
    ended: str = ""
    dreamed: int = 0


@dataclass(frozen=True)
class Access:
    """`stamps` maps a bullet's id to the access clock at its last use; `trial` counts for trust.py.

    `earlier` holds the stamps that moved since the content last changed, with their values then (0: none).
    `days` holds the first clock value of each day (UTC) with a commit, oldest first, at most 1,000.
    `usage` counts the turns by the playbook that they were shown bullets of, `analyzed` the trajectories that
    were reflected on. `consolidation` says when the memory is consolidated next (consolidation.py).
    `asked` counts the terms of the learner's questions. `mark` names the commits that led here
    (`mark_after`); two access parts may be equal with other marks.
    """

    access_clock: int = 0
    stamps: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    recent_turns: tuple[RecentTurn, ...] = ()
    trial: Trial = Trial()  # noqa: RUF009  a frozen value
    earlier: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    days: tuple[tuple[int, date], ...] = ()
    usage: Mapping[str, PlaybookUsage] = field(default_factory=lambda: MappingProxyType({}))
    analyzed: int = 0
    consolidation: ConsolidationNote = ConsolidationNote()  # noqa: RUF009  a named tuple
    asked: QuestionTerms = QuestionTerms()  # noqa: RUF009  a frozen value
    mark: str = field(default="", compare=False)

    @property
    def grown(self) -> Stamps:
        """The parts that grow with the memory."""
        return Stamps(self.stamps, self.earlier, self.days, self.asked)

    @property
    def own_usage(self) -> PlaybookUsage:
        """How often the learner's own playbook was used, and how well."""
        return self.usage.get(OWN_PLAYBOOK, PlaybookUsage())

    def last_used(self, bullet_id: str) -> date | None:
        """Return the day of the bullet's last use; None without one, or where the day is not stored."""
        stamp = self.stamps.get(bullet_id)
        if stamp is None:
            return None
        at = bisect_right(self.days, stamp, key=lambda day: day[0])
        return self.days[at - 1][1] if at else None

    def idle(self, bullet_id: str) -> int:
        """Return the access events since the bullet was last used; 0 for one without a stamp."""
        return max(0, self.access_clock - self.stamps.get(bullet_id, self.access_clock))


def touched(
    access: Access,
    effect: Effect,
    record: TurnRecord | None = None,
    verdicts: Mapping[str, Verdict] = MappingProxyType({}),
    *,
    followed: Collection[str] = (),
    on: date | None = None,
    moved: Touches | None = None,
) -> Access:
    """Return the access part after the commit of `effect`: the clock one higher, what it touched stamped.

    `record` is added to the last 20 turns unless it is in progress, and replaces an earlier record of the
    turn. `verdicts` replace those of recent turns; `followed` are turns for which a bullet got a vote. `on`
    is the day of the commit. `moved` is what `touches_of` returns for it, where that is known.
    """
    if effect.access_reset:
        return Access(consolidation=access.consolidation._replace(next_id=0, dreamed=0))
    moved = moved or touches_of(access, effect, record, on=on)
    grown = after_touches(access.grown, (moved,))
    known = tuple(_judged(turn, verdicts, followed) for turn in access.recent_turns)
    turns = _with_turn(known, record, followed)
    # The turns that are new or judged anew; each was None or another before
    after = (*known, *turns[-1:]) if record else known
    old, new = ({turn.turn_id: turn for turn in turns} for turns in (access.recent_turns, after))
    changed = [
        (before, turn) for key, turn in new.items() if turn is not (before := old.get(key)) and turn != before
    ]
    # Trajectories that were reflected on; recent ones count once
    analyzed = {turn.turn_id for turn in turns if turn.analyzed}
    return replace(
        access,
        access_clock=moved.clock,
        stamps=grown.stamps,
        recent_turns=tuple(_marked(turn, effect.analyzed) for turn in turns),
        trial=_recounted(access.trial, changed),
        earlier=grown.earlier,
        days=grown.days,
        usage=recounted_usage(access.usage, changed, _use_of(turns, record)),
        analyzed=access.analyzed + len(set(effect.analyzed) - analyzed),
        asked=grown.asked,
    )


def touches_of(
    access: Access, effect: Effect, record: TurnRecord | None = None, *, on: date | None
) -> Touches:
    """Return what a commit moves in the access part; see `touched`. Not for one that resets it.

    Bullets that are gone have no stamps any more. A day counts if it is after the last one; clocks of
    machines may differ. The question of a turn counts when its record is first complete.
    """
    clock, moved = moved_stamps(
        access.access_clock, access.stamps, effect.touched, effect.gone, effect.restamped
    )
    is_new = on is not None and not (access.days and on <= access.days[-1][1])
    day = on if is_new else None
    changed, asked = bool(effect.changes), _asked(access, record)
    return Touches(clock=clock, moved=moved, content_changed=changed, day=day, asked=asked)


def _asked(access: Access, record: TurnRecord | None) -> tuple[str, ...]:
    if record is None or record.status == "in_progress":
        return ()
    counted = any(turn.turn_id == record.turn_id for turn in access.recent_turns)
    return () if counted else asked_terms(record.task)


def _judged(turn: RecentTurn, verdicts: Mapping[str, Verdict], followed: Collection[str]) -> RecentTurn:
    verdict = verdicts.get(turn.turn_id, turn.verdict)
    voted = turn.followed or turn.turn_id in followed
    if verdict == turn.verdict and voted == turn.followed:
        return turn
    return turn.model_copy(update={"verdict": verdict, "followed": voted})


def _recounted(trial: Trial, changed: Iterable[TurnChange]) -> Trial:
    """Count each turn once, with its present verdict; turns that are not recent any more stay counted."""
    pairs = [(counted(old), counted(new)) for old, new in changed]
    added = pooled([trial, *(new for _, new in pairs)])
    gone = pooled([old for old, _ in pairs])
    return Trial(*(max(0, a - b) for a, b in zip(added, gone, strict=True)))


def _use_of(turns: Sequence[RecentTurn], record: TurnRecord | None) -> tuple[RecentTurn, datetime] | None:
    """The newest turn, and when it ended."""
    if record is None or record.status == "in_progress":
        return None
    return turns[-1], record.completed_at or record.started_at


def _with_turn(
    turns: tuple[RecentTurn, ...], record: TurnRecord | None, followed: Collection[str]
) -> tuple[RecentTurn, ...]:
    if record is None or record.status == "in_progress":
        return turns
    before = next((turn for turn in turns if turn.turn_id == record.turn_id), None)
    others = tuple(turn for turn in turns if turn.turn_id != record.turn_id)
    newest = record.recent()
    if before is not None:
        newest = newest.model_copy(update={"analyzed": before.analyzed, "followed": before.followed})
    return (*others, _judged(newest, {}, followed))[-RECENT_TURNS_KEPT:]


def _marked(turn: RecentTurn, analyzed: Collection[str]) -> RecentTurn:
    if turn.analyzed or turn.turn_id not in analyzed:
        return turn
    return turn.model_copy(update={"analyzed": True})


class Version(NamedTuple):
    """`n` counts changes; the random `etag` identifies the content, the `epoch` a learner until `forget`.

    `label` is for people. An absent learner has no epoch.
    """

    epoch: str | None = None
    n: int = 0
    etag: str = ""
    label: Label = Label()

    def same_content(self, other: Version) -> bool:
        """Whether both identify the same content of the same epoch."""
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
