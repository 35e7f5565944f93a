"""Versions of a playbook: named, dropped by the policy, and how runs with each of them ended.

How runs ended is an observation, no experiment: versions were not assigned to questions at random, and a
later version met later questions. `ace-graph playbook diff --data` asks two versions the same questions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import HistoryTooShort
from ace_graph.memory.confidence import present_verdict
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.playbook import Z_95, Interval, wilson_interval
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import StoredVersion
from ace_graph.memory.stores.store import PlaybookStore, Store
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.memory.version_retention import kept_versions, retention_plan, undoable_versions

MAX_TURNS = 5_000
"""So many of the newest turns are read."""

_PAGE = 500
_JUDGED: tuple[Verdict, ...] = ("success", "failure", "partial")


def version_from(text: str) -> int | str:
    """Return the version that a text names: digits alone are a number, everything else is a label."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else text


def version_number(versions: tuple[StoredVersion, ...], version: int | str) -> int:
    """Return the number of a version that is named by its number or its label. Raises HistoryTooShort."""
    if isinstance(version, int):
        return version
    number = next((each.n for each in reversed(versions) if str(each.label) == version), None)
    if number is None:
        raise HistoryTooShort(f"there is no version {version[:20]}: {kept_names(versions)}")
    return number


def end_of(when: date | datetime) -> datetime:
    """Return the last moment of a day, or a moment as it is; in UTC where no zone is given."""
    moment = when if isinstance(when, datetime) else datetime.combine(when, time.max)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


async def keep_versions(
    store: Store, playbook_id: str, now: datetime | None = None, *, dry_run: bool = False
) -> int:
    """Drop the contents of old versions of a named playbook, by the store's policy; return how many.

    With `dry_run` they are only counted. Who made a dropped version, when and why, stays listed.
    """
    return await drop_old_versions(store.playbooks, playbook_id, now or utc_now(), dry_run=dry_run)


async def drop_old_versions(
    playbooks: PlaybookStore, playbook_id: str, now: datetime, *, dry_run: bool = False
) -> int:
    """Do what `keep_versions` does, in the namespace of named playbooks."""
    versions = await playbooks.versions(playbook_id)
    policy, kept = playbooks.policy, kept_versions(versions, playbooks.policy.versions, now)
    if retention_plan(versions, kept) is None:
        return 0
    consolidations = (await playbooks.load(playbook_id)).playbook.consolidations
    plan = retention_plan(versions, kept | undoable_versions(versions, consolidations, policy.undo_days, now))
    if plan is None or dry_run:
        return 0 if plan is None else plan.dropped
    found = {n: await playbooks.content_at(playbook_id, n) for n in plan.contents}
    contents = {n: content for n, content in found.items() if content is not None}
    if len(contents) < len(found):
        return 0  # somebody else drops versions at this moment
    await playbooks.keep_contents(playbook_id, plan.base, contents)
    return plan.dropped


def kept_names(versions: tuple[StoredVersion, ...]) -> str:
    """Return which versions can be read, for an error that asks to choose one."""
    names = [f"{each.n} ({each.label})" for each in versions if each.readable]
    return f"choose one of {', '.join(names[-12:])}" if names else "there is none yet"


@dataclass(frozen=True)
class VersionOutcome:
    """The turns that read one version, those of them with a verdict, and those that succeeded."""

    label: str
    turns: int = 0
    judged: int = 0
    succeeded: int = 0

    @property
    def success_rate(self) -> float | None:
        """succeeded / judged; None while no turn was judged."""
        return self.succeeded / self.judged if self.judged else None

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the success rate (Wilson's)."""
        return wilson_interval(self.succeeded, self.judged, Z_95)


async def observe_versions(store: Store, learner_id: str, playbook_id: str) -> tuple[VersionOutcome, ...]:
    """Return how the learner's turns with each version ended, by label, the oldest first.

    The newest 5,000 turns are read. Raises what the store raises.
    """
    snapshot = await store.load(learner_id)
    turns: dict[str, TurnRecord] = {}
    for skip in range(0, MAX_TURNS, _PAGE):
        page = await store.find_turns(learner_id, TrajectoryFilter(), limit=_PAGE, skip=skip)
        for turn in page:
            turns.setdefault(turn.turn_id, turn)
        if len(page) < _PAGE:
            break
    return outcomes_by_version(turns.values(), playbook_id, snapshot)


def outcomes_by_version(
    turns: Iterable[TurnRecord], playbook_id: str, snapshot: Snapshot
) -> tuple[VersionOutcome, ...]:
    """Return how these turns ended by the version that they read, with the verdicts that stand now."""
    recent: dict[str, Verdict] = {turn.turn_id: turn.verdict for turn in snapshot.access.recent_turns}
    found: dict[str, VersionOutcome] = {}
    for turn in turns:
        label = next((read.label for read in turn.playbooks if read.playbook_id == playbook_id), None)
        if label is not None:
            known = found.get(label, VersionOutcome(label))
            verdict = present_verdict(turn, snapshot.playbook, recent)
            found[label] = VersionOutcome(
                known.label,
                known.turns + 1,
                known.judged + (verdict in _JUDGED),
                known.succeeded + (verdict == "success"),
            )
    return tuple(found[label] for label in sorted(found, key=_numbers))


def _numbers(label: str) -> tuple[int, ...]:
    return tuple(int(part) for part in label.split("."))
