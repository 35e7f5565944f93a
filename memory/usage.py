"""How often a playbook was used, and how well: counts over the turns that were shown a bullet of it.

They are part of the access part, because every such turn moves them. A turn counts once, with its present
verdict: when it is judged again while it is among the recent turns, it is counted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.memory.foreign import is_foreign
from ace_graph.memory.turn import RecentTurn

OWN_PLAYBOOK = "default"
"""The learner's own memory among the playbooks that a turn can use."""
TurnChange = tuple[RecentTurn | None, RecentTurn]
"""A turn as it was counted, None for a new one, and as it is."""
_PLAYBOOKS_KEPT = 64
_NEVER = datetime.min.replace(tzinfo=UTC)
_JUDGED = ("success", "failure", "partial")


class PlaybookUsage(NamedTuple):
    """Turns that were shown a bullet, those of them with a verdict, and those with a success."""

    turns: int = 0
    judged: int = 0
    succeeded: int = 0
    last_used_at: datetime | None = None

    @property
    def success_rate(self) -> float | None:
        """succeeded / judged; None while no turn was judged."""
        return self.succeeded / self.judged if self.judged else None


def playbook_of(bullet_id: str) -> str:
    """Return the playbook that a shown bullet is from: what its id begins with, else the own one."""
    return bullet_id.partition(":")[0] if is_foreign(bullet_id) else OWN_PLAYBOOK


def counted_usage(turn: RecentTurn | None) -> dict[str, PlaybookUsage]:
    """Return what one turn counts for each playbook that it was shown a bullet of, without the time."""
    if turn is None:
        return {}
    one = PlaybookUsage(1, int(turn.verdict in _JUDGED), int(turn.verdict == "success"))
    return {playbook_of(name): one for name in turn.injected}


def recounted_usage(
    usage: Mapping[str, PlaybookUsage],
    changed: Iterable[TurnChange],
    used: tuple[RecentTurn, datetime] | None = None,
) -> Mapping[str, PlaybookUsage]:
    """Return the counts after these turns are new, or judged anew. `used` is the newest turn and its time.

    At most 64 playbooks are kept, those that were used last.
    """
    found = dict(usage)
    for old, new in changed:
        for turn, sign in ((old, -1), (new, 1)):
            for name, more in counted_usage(turn).items():
                found[name] = _sum(found.get(name, PlaybookUsage()), more, sign)
    if used is not None:
        newest, at = used
        for name in counted_usage(newest):
            known = found.get(name, PlaybookUsage())
            found[name] = known._replace(last_used_at=max(known.last_used_at or at, at))
    if len(found) > _PLAYBOOKS_KEPT:
        by_age = sorted(found, key=lambda name: found[name].last_used_at or _NEVER)
        found = {name: found[name] for name in by_age[-_PLAYBOOKS_KEPT:]}
    return MappingProxyType(found)


def pooled_usage(usages: Iterable[PlaybookUsage]) -> PlaybookUsage:
    """Return the sum of the counts, and the latest use."""
    whole = PlaybookUsage()
    for each in usages:
        times = [at for at in (whole.last_used_at, each.last_used_at) if at is not None]
        whole = _sum(whole, each, 1)._replace(last_used_at=max(times, default=None))
    return whole


def _sum(usage: PlaybookUsage, more: PlaybookUsage, sign: int) -> PlaybookUsage:
    return usage._replace(
        turns=max(0, usage.turns + sign * more.turns),
        judged=max(0, usage.judged + sign * more.judged),
        succeeded=max(0, usage.succeeded + sign * more.succeeded),
    )
