"""The access part of a learner's memory: small, and rewritten on every commit.

It holds the access clock, when each bullet was last used, and the last turns. The content (the
playbook) is apart, because every turn moves the clock and few turns change a bullet.

Does not: change a bullet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ace_graph.memory.turn import RecentTurn, TurnRecord

__all__ = ["RECENT_TURNS_KEPT", "Access", "touch"]

RECENT_TURNS_KEPT = 20


@dataclass(frozen=True)
class Access:
    """`stamps` maps a bullet's id to the access clock at its last use."""

    access_clock: int = 0
    stamps: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    recent_turns: tuple[RecentTurn, ...] = ()

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
) -> Access:
    """Return the access part after one commit: the clock one further, `ids` stamped, `gone` forgotten.

    `record` joins the last 20 turns; the same turn coming again takes its old place. With `reset`
    everything starts anew at clock 0 (the playbook was cleared).
    """
    if reset:
        return Access()
    clock = access.access_clock + 1
    stamps = {**access.stamps, **dict.fromkeys(ids, clock)}
    for bullet_id in gone:
        stamps.pop(bullet_id, None)
    return Access(clock, MappingProxyType(stamps), _with_turn(access.recent_turns, record))


def _with_turn(turns: tuple[RecentTurn, ...], record: TurnRecord | None) -> tuple[RecentTurn, ...]:
    if record is None:
        return turns
    others = tuple(turn for turn in turns if turn.turn_id != record.turn_id)
    return (*others, record.recent())[-RECENT_TURNS_KEPT:]
